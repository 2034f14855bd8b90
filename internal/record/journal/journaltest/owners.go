package journaltest

import (
	"errors"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal"

	"pgregory.net/rapid"
)

// createRaces creates a run 32 times concurrently. One Create must win.
func createRaces(t *testing.T, s *Store) {
	var winners []int
	for n, err := range race(32, func(int) error {
		_, err := s.Run("r_1").Create(start("r_1"), program, options())
		return err
	}) {
		if err == nil {
			winners = append(winners, n)
		} else if !errors.As(err, new(*journal.ExistsError)) && !errors.As(err, new(*journal.HeldError)) {
			t.Errorf("Create %d: error = %v, want an ExistsError or a HeldError", n, err)
		}
	}
	if h := s.read(t, "r_1"); len(winners) != 1 || h.N != 1 {
		t.Errorf("%d calls of Create have won, and the journal has %d records; want 1 and 1", len(winners), h.N)
	}
}

// openRun opens a run that was read before, and one whose journal has changed since.
func openRun(t *testing.T, s *Store) {
	w := s.begin(t, "r_1")
	w.Append(did(1))
	must(t, w.Flush(journal.Written))
	stale := s.read(t, "r_1")
	_, _, err := s.Run("r_1").Open(nil, options())
	if held, ok := errors.AsType[*journal.HeldError](err); !ok || held.Run != "r_1" {
		t.Errorf("Open of a running run: error = %v, want a HeldError for r_1", err)
	}
	w.Append(did(2))
	must(t, w.Flush(journal.Written))
	w.Append(did(3)) // not flushed
	must(t, w.Close())
	fresh := s.read(t, "r_1")
	w, h, err := s.Run("r_1").Open(fresh, options())
	must(t, err)
	if h != fresh {
		t.Error("Open read an unchanged journal again")
	}
	must(t, w.Close())
	w, h, err = s.Run("r_1").Open(stale, options())
	must(t, err)
	if len(effects(h)) != 2 || h.At() != fresh.At() {
		t.Errorf("history of Open = %+v, want also the effect that was written since", h)
	}
	at, bytes := w.At()
	if at != h.At() || bytes != h.Bytes {
		t.Errorf("At() after Open = %v, %d bytes; want the end of the history", at, bytes)
	}
	w.Append(did(4))
	w.Out(outLine(1))
	must(t, w.Flush(journal.Synced), w.Close())
	s.wantEffects(t, "r_1", 1, 2, 4)
	s.wantOut(t, "r_1", 1)
}

// opensRace opens a run 32 times concurrently. One Open must win.
func opensRace(t *testing.T, s *Store) {
	must(t, s.begin(t, "r_1").Close())
	for round := range int64(3) {
		winners := make([]journal.Writer, 32)
		var won journal.Writer
		for n, err := range race(len(winners), func(n int) (err error) {
			winners[n], _, err = s.Run("r_1").Open(nil, options())
			return err
		}) {
			switch {
			case err == nil && won != nil:
				t.Errorf("round %d: several calls of Open have won", round)
			case err == nil:
				won = winners[n]
			case !errors.As(err, new(*journal.HeldError)):
				t.Errorf("round %d: Open %d: error = %v, want a HeldError", round, n, err)
			}
		}
		if won == nil {
			t.Fatalf("round %d: no call of Open has won", round)
		}
		won.Append(did(round + 1))
		must(t, won.Flush(journal.Written), won.Close())
	}
	s.wantEffects(t, "r_1", 1, 2, 3)
}

// wantFenced checks that no write of a Writer succeeds.
func wantFenced(t rapid.TB, w journal.Writer) {
	t.Helper()
	for name, err := range map[string]error{
		"Flush": w.Flush(journal.Written), "Flush again": w.Flush(journal.Synced),
		"PutProgram": w.PutProgram("program.2.conc-ir", []byte("old")),
	} {
		if !errors.Is(err, journal.ErrFenced) {
			t.Errorf("%s of a former owner: error = %v, want ErrFenced", name, err)
		}
	}
}

// fenced lets another process become the owner of a run. No write of the former owner may succeed
// from then on, and no write of the new owner may fail.
func fenced(t *testing.T, s *Store) {
	if s.Expire == nil {
		t.Skip("only the owner can end its ownership")
	}
	old := s.begin(t, "r_1")
	old.Append(did(1))
	must(t, old.Flush(journal.Synced))
	must(t, s.Run("r_1").PutAnswer("q1", answer(1)))
	old.Append(did(2))
	old.Out(outLine(9))
	old.ConsumeAnswer("q1")
	s.Expire("r_1")
	w, h := s.reopen(t, "r_1")
	if h.N != 2 {
		t.Errorf("history of the new owner = %+v, want 2 records", h)
	}
	wantFenced(t, old) // before the new owner has written a record
	w.Append(did(3))
	w.Out(outLine(1))
	must(t, w.Flush(journal.Written))
	wantFenced(t, old)
	must(t, old.Close()) // must not end the ownership of the new owner
	if running, err := s.Run("r_1").IsRunning(); !running || err != nil {
		t.Errorf("IsRunning after Close of the former owner = %v, error %v", running, err)
	}
	must(t, w.Flush(journal.Synced), w.Close())
	wantFenced(t, old) // ErrFenced is final
	s.wantEffects(t, "r_1", 1, 3)
	s.wantOut(t, "r_1", 1)
	if !journal.IsAnswered(s.Run("r_1"), "q1") {
		t.Error("a former owner has removed the answer")
	}
}

// unknownOutcome lets commits fail that are stored, or are not stored. A repeated Flush must store
// the group once.
func unknownOutcome(t *testing.T, s *Store) {
	if s.FailCommit == nil {
		t.Skip("the store has no transactions with unknown outcome")
	}
	w := s.begin(t, "r_1")
	var want []int64
	out := 0
	for round := range int64(4) {
		for _, fails := range [][]bool{{true}, {false}, {true, true}, {false, true, false}} {
			e, synced := int64(len(want))+1, w.Synced()
			if round > 0 { // in the first round, the groups contain only output
				w.Append(did(e))
				want = append(want, e)
			}
			out++
			w.Out(outLine(out))
			for _, stored := range fails {
				s.FailCommit(stored)
				if err := w.Flush(journal.Synced); err == nil || errors.Is(err, journal.ErrFenced) {
					t.Fatalf("Flush whose commit failed (stored: %v): error = %v", stored, err)
				}
				if w.Synced() != synced {
					t.Errorf("Synced() = %d after a Flush with unknown outcome, and %d before", w.Synced(), synced)
				}
				if round == 2 { // these records belong to the next group
					want = append(want, want[len(want)-1]+1)
					w.Append(did(want[len(want)-1]))
				}
			}
			must(t, w.Flush(journal.Synced))
			s.wantEffects(t, "r_1", want...)
			s.wantOut(t, "r_1", out)
		}
	}
	must(t, w.Close())
	_, h := s.reopen(t, "r_1")
	if h.N != uint64(len(want))+1 {
		t.Errorf("the journal has %d records, want %d", h.N, len(want)+1)
	}
}

// unknownThenFenced lets another process become the owner while the outcome of a commit is unknown.
// The group is stored once or not at all, and the former owner is fenced.
func unknownThenFenced(t *testing.T, s *Store) {
	if s.FailCommit == nil || s.Expire == nil {
		t.Skip("the store has no transactions with unknown outcome, or only the owner can end its ownership")
	}
	for id, stored := range map[string]bool{"r_stored": true, "r_lost": false} {
		old := s.begin(t, id)
		old.Append(did(1))
		s.FailCommit(stored)
		if err := old.Flush(journal.Written); err == nil {
			t.Fatal("Flush whose commit failed returned no error")
		}
		s.Expire(id)
		w, h := s.reopen(t, id)
		want := effects(h)
		if (len(want) == 1) != stored {
			t.Errorf("effects of the new owner = %v, although the group was stored: %v", want, stored)
		}
		wantFenced(t, old)
		w.Append(did(2))
		must(t, w.Flush(journal.Written))
		wantFenced(t, old)
		s.wantEffects(t, id, append(want, 2)...)
	}
}
