package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

// killed is the environment variable that makes this program write to a file until it is killed.
// Its value is the file.
const killed = "RELAY_STORE_KILLED"

// rounds is the environment variable with the number of kills in TestKill.
const rounds = "RELAY_KILL_ROUNDS"

func init() {
	if file := os.Getenv(killed); file != "" {
		writeOn(file)
	}
}

func event(gen, seq int64) store.Incoming {
	return store.Incoming{MachineID: "host_a", Gen: gen, At: 1, Envelope: &protocol.Envelope{Type: protocol.RunOutput, TS: "2025-01-01T00:00:00Z", RunID: "run_a", Seq: seq,
		Data: json.RawMessage(fmt.Sprintf(`{"stream":"stdout","text":"%d"}`, seq))}}
}

// writeOn appends events after the last stored one, and prints the number of each event after its
// commit. It does not return.
func writeOn(file string) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, file)
	if err != nil {
		panic(err)
	}
	if _, err := s.AddMachine(ctx, store.Machine{ID: "host_a"}); err != nil {
		panic(err)
	}
	gen, err := s.TakeOver(ctx, store.Takeover{Machine: "host_a", At: 1})
	if err != nil {
		panic(err)
	}
	have, err := s.Prefixes(ctx, "host_a", []string{"run_a"})
	if err != nil {
		panic(err)
	}
	w := s.NewWriter(nil)
	for seq := have["run_a"] + 1; ; seq++ {
		w.Write(ctx, event(gen, seq), func(written store.Written) {
			if written.Err != nil || written.Refused != "" || written.Stale {
				panic(fmt.Sprintf("%+v", written))
			}
			fmt.Println(written.Prefix)
		})
	}
}

// TestKill kills the program at random moments. All acknowledged events must be stored once, and
// the next program must be able to continue.
func TestKill(t *testing.T) {
	n := 5
	if text := os.Getenv(rounds); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "relay.db")
	dice := rand.New(rand.NewPCG(3, 4))
	for round := range n {
		acked, err := testproc.RunAndKill(killed+"="+file, 1+dice.IntN(400))
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		s, err := sqlite.Open(context.Background(), file)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		all, err := s.Events(context.Background(), "run_a", max(acked-300, 0), 100_000)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for i, e := range all {
			if want := max(acked-300, 0) + int64(i) + 1; e.Seq != want || string(e.Data) != fmt.Sprintf(`{"stream":"stdout","text":"%d"}`, want) {
				t.Fatalf("round %d: sequence number = %d, want %d with its text", round, e.Seq, want)
			}
		}
		if last := all[len(all)-1].Seq; last < acked {
			t.Fatalf("round %d: last acknowledged event = %d, last stored event = %d", round, acked, last)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
