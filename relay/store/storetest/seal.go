package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// appendRoster appends lines to a roster, the first with the number from.
func (f *fixture) appendRoster(account string, from int64, lines ...string) {
	f.Helper()
	var all []store.LogLine
	for i, text := range lines {
		all = append(all, store.LogLine{N: from + int64(i), Line: text, SHA256: "sum of " + text})
	}
	if err := store.AppendSealLog(ctx, f.Store, store.RosterLog(account), f.at, all); err != nil {
		f.Fatal(err)
	}
}

// rosters checks that lines are stored once, in order and with their account, and that a machine's
// account is stored.
func rosters(t *testing.T, open Opener) {
	f := begin(t, open)
	if _, err := store.SealLog(ctx, f.Store, "a_1", 0); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("unknown roster: error = %v", err)
	}
	f.appendRoster("a_1", 1, "one", "two")
	f.appendRoster("a_2", 1, "other")
	f.appendRoster("a_1", 3, "three")
	all, err := store.SealLog(ctx, f.Store, "a_1", 1)
	if want := []store.LogLine{{N: 2, Line: "two", SHA256: "sum of two"}, {N: 3, Line: "three", SHA256: "sum of three"}}; err != nil || cmp.Diff(want, all) != "" {
		t.Errorf("roster after line 1 = %v, %v", all, err)
	}
	if all, err := store.SealLog(ctx, f.Store, "a_1", 3); err != nil || all != nil {
		t.Errorf("roster after its end = %v, %v; want none", all, err)
	}
	err = store.AppendSealLog(ctx, f.Store, "a_1", f.at, []store.LogLine{{N: 4, Line: "four"}, {N: 3, Line: "another"}})
	if all, _ := store.SealLog(ctx, f.Store, "a_1", 0); !errors.Is(err, store.ErrRoster) || len(all) != 3 {
		t.Errorf("another line 3: error = %v, roster = %v", err, all)
	}
	for i, log := range []string{store.KeyLog("a_1", "host_a"), store.KeyLog("a_1", "host_b"), store.HistoryLog("a_1", "host_a", "d_1")} {
		if _, err := store.LastOfLog(ctx, f.Store, log); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: error = %v", log, err)
		}
		f.appendRoster(log, int64(i)+2, "first of "+log, "last of "+log)
		if l, err := store.LastOfLog(ctx, f.Store, log); err != nil || l.N != int64(i)+3 || l.Line != "last of "+log {
			t.Errorf("%s: last line = %v, %v", log, l, err)
		}
	}
	for _, account := range []string{"a_1", "", "a_2"} {
		if err := store.SetAccount(ctx, f.Store, "host_a", account); err != nil {
			t.Error(err)
		}
		if h, err := f.Machine(ctx, "host_a"); err != nil || h.Account != account {
			t.Errorf("machine = %+v, %v; want the account %q", h, err, account)
		}
	}
	if err := f.RemoveMachine(ctx, "host_a", f.at); err != nil {
		t.Fatal(err)
	}
	f.machine("host_a")
	if h, err := f.Machine(ctx, "host_a"); err != nil || h.Account != "" {
		t.Errorf("machine that was removed and connects again = %+v, %v; want no account", h, err)
	}
}

// oneRoster appends different lines concurrently. Each number is stored once.
func oneRoster(t *testing.T, open Opener) {
	f := begin(t, open)
	const writers, lines = 4, 10
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for done := 0; done < lines; {
				last, err := store.LastOfLog(ctx, f.Store, "a_1")
				if err == nil || errors.Is(err, store.ErrUnknown) {
					err = store.AppendSealLog(ctx, f.Store, "a_1", f.at, []store.LogLine{{N: last.N + 1, Line: fmt.Sprintf("%d by %d", done, w)}})
				}
				switch {
				case err == nil:
					done++
				case !errors.Is(err, store.ErrRoster):
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	got, err := store.SealLog(ctx, f.Store, "a_1", 0)
	if err != nil || len(got) != writers*lines {
		t.Fatalf("lines = %d, %v; want %d", len(got), err, writers*lines)
	}
	for i, l := range got {
		if l.N != int64(i)+1 {
			t.Errorf("line %d has the number %d", i+1, l.N)
		}
	}
}

// epochs checks the lowest epoch of the stored events of a machine: as they arrive in any order,
// without those of the runs that were forgotten, and without those of other machines.
func epochs(t *testing.T, open Opener) {
	f := begin(t, open)
	sealed := func(run string, seq, epoch int64, typ string) store.Incoming {
		e := f.event(seq, typ, `{"ct":"c","prev":""}`)
		e.Envelope.RunID, e.Envelope.Enc = run, json.RawMessage(fmt.Sprintf(`{"v":1,"epoch":%d}`, epoch))
		return e
	}
	expect := func(what string, want int64) {
		t.Helper()
		if got, err := store.OldestEpoch(ctx, f.Store, "a_1", "host_a"); err != nil || got != want {
			t.Errorf("%s: oldest epoch = %d, %v; want %d", what, got, err, want)
		}
	}
	f.appendRoster(store.KeyLog("a_1", "host_a"), 11, "of epoch 11", "of epoch 12")
	expect("a machine without runs", 0)
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	expect("a run that is not sealed", 0)
	f.append(sealed("run_b", 1, 7, protocol.RunStarted), sealed("run_b", 3, 9, protocol.RunExited))
	f.append(sealed("run_c", 1, 8, protocol.RunStarted), sealed("run_c", 2, 8, protocol.RunExited))
	expect("two runs", 7)
	f.append(sealed("run_c", 4, 6, "run.sealed"))
	expect("an event whose predecessors are missing", 6)
	gen := f.machine("host_b")
	other := sealed("run_d", 1, 2, protocol.RunStarted)
	other.MachineID, other.Gen = "host_b", gen
	f.append(other)
	expect("another machine", 6)
	forget := func(run string) {
		t.Helper()
		n, err := f.Forget(ctx, run, f.at+1, f.at+1, func(int64) audit.Record { return rec("retention") })
		if err != nil || n == 0 {
			t.Fatalf("deleted events = %d, %v", n, err)
		}
	}
	forget("run_c")
	expect("a forgotten run", 7)
	f.append(sealed("run_b", 2, 8, protocol.RunOutput))
	forget("run_b")
	expect("no sealed run", 12)
}
