package storetest

import (
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// Old checks a migrated database of schema 2. It contains a machine with two runs, one of which has
// a missing event, an open request with a decision, and an input that was not sent; the other has a
// request that was denied. The store must handle it like a new database.
func Old(t *testing.T, s *store.Store) {
	t.Helper()
	f := &fixture{T: t, Store: s, at: 1_700_000_000_000}
	if r := f.run(); r.Prefix != 3 || r.Last != 6 || r.Status != protocol.StatusAwaitingApproval || r.Tool != "codex" {
		t.Errorf("run_a = %+v", r)
	}
	if all, err := f.Pending(ctx, "host_a", true); err != nil || len(all) != 2 || all[0].ID != "i1" || all[1].ID != "q1" || all[0].Payload == nil {
		t.Errorf("pending commands = %+v, %v; want i1 and q1", all, err)
	}
	past, err := store.History(ctx, f.Store, store.HistoryQuery{Limit: 9})
	if err != nil || len(past) != 1 || past[0].Title != "Run a command" || past[0].Line != "make" || past[0].Decision != "deny" || past[0].By != "olga" || past[0].MachineID != "host_a" || past[0].At != 7 {
		t.Errorf("history = %+v, %v; want the decision of run_b", past, err)
	}
	if f.gen, err = f.TakeOver(ctx, store.Takeover{Machine: "host_a", Epoch: 7, At: 9}); err != nil || f.gen != 2 {
		t.Fatal(f.gen, err)
	}
	f.mustStore(4, f.output(4))
	f.mustStore(6, f.output(5))
	if all, _, err := f.Unended(ctx); err != nil || f.Shared() && (len(all) != 1 || all[0].Made != 0) {
		t.Error(all, err)
	}
	if err := f.Join(ctx, store.Replica{ID: "one", Key: "k"}); err != nil {
		t.Error(err)
	}
	if _, fresh, err := f.AddCall(ctx, store.Call{ID: "c", Machine: "host_a", State: "asked"}); err != nil || !fresh {
		t.Error(fresh, err)
	}
	if h, err := f.Machine(ctx, "host_a"); err != nil || h.Account != "" {
		t.Error(h, err)
	}
	f.appendRoster("a_1", 1, "one")
	f.appendRoster(store.KeyLog("a_1", "host_a"), 4, "of epoch 4")
	if n, err := store.OldestEpoch(ctx, f.Store, "a_1", "host_a"); err != nil || n != 0 {
		t.Errorf("oldest epoch = %d, %v; want 0, because that of the old events is unknown", n, err)
	}
	if tokens, err := f.Tokens(ctx, 5); err != nil || len(tokens) != 1 || tokens[0].UserRole != store.Owner {
		t.Error(tokens, err)
	}
}
