package server

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

// TestLateCommitNotification reads a run between a commit and its notification. A commit is stored
// before its followers are notified, so the follower has already read the announced events and must
// not send them twice.
func TestLateCommitNotification(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "relay.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := New(Config{Store: db})
	defer s.Close()
	if _, err := db.AddMachine(ctx, store.Machine{ID: "h"}); err != nil {
		t.Fatal(err)
	}
	gen, err := db.TakeOver(ctx, store.Takeover{Machine: "h", Epoch: 1, At: 1})
	if err != nil {
		t.Fatal(err)
	}
	// commit stores events without a notification. It returns the run's previous prefix.
	commit := func(from, to int64) (before int64) {
		t.Helper()
		var all []store.Incoming
		for seq := from; seq <= to; seq++ {
			e := protocol.New(protocol.RunOutput, time.Unix(0, 0), protocol.Output{Stream: "stdout", Text: fmt.Sprint(seq)})
			if seq == 1 {
				e = protocol.New(protocol.RunStarted, time.Unix(0, 0), protocol.Started{Tool: "t", Cwd: "/", Command: "t"})
			}
			e.RunID, e.Seq = "run_a", seq
			all = append(all, store.Incoming{MachineID: "h", Gen: gen, Envelope: &e, At: 1})
		}
		done, err := db.Append(ctx, all)
		if err != nil || done.Prefixes["run_a"] != to {
			t.Fatalf("Append = %+v, %v", done, err)
		}
		return done.Before["run_a"]
	}
	f := s.newFollower(func(string) bool { return true }, func() {})
	defer f.stop()
	f.followAll()
	reads := func(want ...int64) {
		t.Helper()
		var got []int64
		for {
			all, err := f.next(ctx, pageEvents)
			if err != nil {
				t.Fatal(err)
			}
			if len(all) == 0 {
				break
			}
			for _, e := range all {
				got = append(got, e.seq)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}

	first := commit(1, 2)
	second := commit(3, 5) // stored before the first commit is published
	s.hub.publish("run_a", first, 2, nil)
	reads(1, 2, 3, 4, 5)
	s.hub.publish("run_a", second, 5, nil)
	reads()

	third := commit(6, 6)
	s.hub.publish("run_a", third, 6, nil)
	reads(6)
	// A follower that subscribes again from an earlier position receives the events again.
	f.subscribe(ctx, subscription{cursor: map[string]int64{"run_a": 4}}, func(run string, why *Failure) { t.Error(run, why) })
	s.hub.publish("run_a", third, 6, nil)
	reads(5, 6)
}
