package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

// killed is the environment variable that makes this program append events to a file until it is
// killed. Its value is the file. The program prints the number of each event after its commit.
const killed = "RELAY_STORE_KILLED"

func init() {
	file, ctx := os.Getenv(killed), context.Background()
	if file == "" {
		return
	}
	s, err := sqlite.Open(ctx, file)
	if err != nil {
		panic(err)
	}
	_, err = s.AddMachine(ctx, store.Machine{ID: "host_a"})
	gen, err2 := s.TakeOver(ctx, store.Takeover{Machine: "host_a", At: 1})
	have, err3 := s.Prefixes(ctx, "host_a", []string{"run_a"})
	if err := errors.Join(err, err2, err3); err != nil {
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

func event(gen, seq int64) store.Incoming {
	return store.Incoming{MachineID: "host_a", Gen: gen, At: 1, Envelope: &protocol.Envelope{Type: protocol.RunOutput, TS: "2025-01-01T00:00:00Z", RunID: "run_a", Seq: seq,
		Data: json.RawMessage(fmt.Sprintf(`{"stream":"stdout","text":"%d"}`, seq))}}
}

// TestKill kills the program 20 times. All acknowledged events must be stored once, and the next
// program must be able to continue.
func TestKill(t *testing.T) {
	file := filepath.Join(t.TempDir(), "relay.db")
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		acked, err := testproc.RunAndKill(killed+"="+file, 1+random.IntN(80))
		if err != nil {
			t.Fatal(err)
		}
		s, err := sqlite.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		after := max(acked-300, 0)
		all, err := s.Events(t.Context(), "run_a", after, 100_000)
		if err != nil || after+int64(len(all)) < acked {
			t.Fatalf("last acknowledged event = %d, stored events = %d after %d (error %v)", acked, len(all), after, err)
		}
		for i, e := range all {
			if want := after + int64(i) + 1; e.Seq != want || string(e.Data) != fmt.Sprintf(`{"stream":"stdout","text":"%d"}`, want) {
				t.Fatalf("sequence number = %d, want %d with its text", e.Seq, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
