package spool_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
)

// killed is the environment variable that makes this program append events to a spool until it is
// killed. Its value is the file. The program prints the number of each event after its commit. The
// offset of each change is ten times that number, and its note contains it.
const killed = "RELAY_SPOOL_KILLED"

func init() {
	file, ctx := os.Getenv(killed), context.Background()
	if file == "" {
		return
	}
	s, err := spool.Open(ctx, file, spool.Options{})
	if err != nil {
		panic(err)
	}
	r, _ := s.Run("run_a")
	for seq := r.Last + 1; ; seq++ {
		text := fmt.Sprint(seq)
		last, err := s.Commit(ctx, spool.Change{Run: "run_a", Events: []spool.Event{output(text)}, Offset: new(seq * 10), Notes: []spool.Note{{Kind: "input", Key: "last", Data: []byte(text)}}})
		if err != nil || last != seq {
			panic(fmt.Sprint(last, err))
		}
		fmt.Println(seq)
		if seq%7 == 0 {
			s.Ack("run_a", seq-5)
		}
	}
}

// TestKill kills the program 20 times. Each committed event must be stored once, with its offset
// and note, and the epoch must increase.
func TestKill(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spool.db")
	random, epoch := rand.New(rand.NewPCG(3, 4)), int64(0)
	for range 20 {
		committed, err := testproc.RunAndKill(killed+"="+file, 1+random.IntN(40))
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, file, spool.Options{})
		r, _ := s.Run("run_a")
		note, err := s.Note(t.Context(), "run_a", "input", "last")
		if r.Last < committed || r.Last > committed+1 || r.Offset != r.Last*10 || string(note) != fmt.Sprint(r.Last) || err != nil || s.Epoch() <= epoch {
			t.Fatalf("last committed event = %d, run = %+v, note = %s (error %v), epoch = %d after %d", committed, r, note, err, s.Epoch(), epoch)
		}
		epoch = s.Epoch()
		all := next(t, s, "run_a", r.Acked, 100_000)
		for i, e := range all {
			if want := r.Acked + int64(i) + 1; e.Seq != want || textOf(t, e) != fmt.Sprint(want) {
				t.Fatalf("sequence number = %d, want %d", e.Seq, want)
			}
		}
		if int64(len(all)) != r.Last-r.Acked || s.Close() != nil {
			t.Fatalf("events = %d, run = %+v", len(all), r)
		}
	}
}
