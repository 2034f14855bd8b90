package spool_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// killed is the environment variable that makes this program write to a spool until it is killed.
// Its value is the file.
const killed = "RELAY_SPOOL_KILLED"

// rounds is the environment variable with the number of kills in TestKill.
const rounds = "RELAY_KILL_ROUNDS"

func init() {
	if file := os.Getenv(killed); file != "" {
		spoolOn(file)
	}
}

// spoolOn appends events after the last stored one, and prints the number of each event after its
// commit. It does not return. The offset of each change is ten times the number of its event, and
// its note contains the number.
func spoolOn(file string) {
	ctx := context.Background()
	s, err := spool.Open(ctx, file, spool.Options{})
	if err != nil {
		panic(err)
	}
	r, _ := s.Run("run_a")
	for seq := r.Last + 1; ; seq++ {
		off := seq * 10
		last, err := s.Commit(ctx, spool.Change{Run: "run_a", Events: []spool.Event{output(fmt.Sprint(seq))}, Offset: &off,
			Notes: []spool.Note{{Kind: "input", Key: "last", Data: []byte(fmt.Sprint(seq))}}})
		if err != nil || last != seq {
			panic(fmt.Sprint(last, err))
		}
		fmt.Println(seq)
		if seq%7 == 0 {
			s.Ack("run_a", seq-5)
		}
	}
}

// TestKill kills the program at random moments. Each committed event must be stored once, with its
// offset and note, and the epoch must increase.
func TestKill(t *testing.T) {
	n := 4
	if text := os.Getenv(rounds); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "spool.db")
	dice, epoch := rand.New(rand.NewPCG(3, 4)), int64(0)
	for round := range n {
		committed, err := testproc.RunAndKill(killed+"="+file, 1+dice.IntN(200))
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		s := open(t, file, spool.Options{})
		r, _ := s.Run("run_a")
		if r.Last < committed || r.Last > committed+1 || r.Offset != r.Last*10 {
			t.Fatalf("round %d: last committed event = %d, run in the spool = %+v", round, committed, r)
		}
		note, err := s.Note(context.Background(), "run_a", "input", "last")
		if err != nil || string(note) != fmt.Sprint(r.Last) {
			t.Fatalf("round %d: note = %s, want %d (%v)", round, note, r.Last, err)
		}
		all := next(t, s, "run_a", r.Acked, 100_000)
		for i, e := range all {
			if want := r.Acked + int64(i) + 1; e.Seq != want || textOf(t, e) != fmt.Sprint(want) {
				t.Fatalf("round %d: sequence number = %d, want %d", round, e.Seq, want)
			}
		}
		if int64(len(all)) != r.Last-r.Acked || s.Epoch() <= epoch {
			t.Fatalf("round %d: events = %d, run = %+v, epoch = %d after %d", round, len(all), r, s.Epoch(), epoch)
		}
		epoch = s.Epoch()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t testing.TB, file string, o spool.Options) *spool.Spool {
	t.Helper()
	s, err := spool.Open(context.Background(), file, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func output(text string) spool.Event {
	return spool.Event{Type: protocol.RunOutput, Data: protocol.Output{Stream: "stdout", Text: text}}
}

func textOf(t interface {
	Helper()
	Fatal(...any)
}, e protocol.Envelope) string {
	t.Helper()
	out, err := protocol.Decode[protocol.Output](&e)
	if err != nil {
		t.Fatal(err)
	}
	return out.Text
}

func next(t testing.TB, s *spool.Spool, run string, after int64, n int) (all []protocol.Envelope) {
	t.Helper()
	for {
		some, err := s.Next(context.Background(), run, after, n)
		if err != nil {
			t.Fatal(err)
		}
		if len(some) == 0 {
			return all
		}
		all, after = append(all, some...), some[len(some)-1].Seq
	}
}
