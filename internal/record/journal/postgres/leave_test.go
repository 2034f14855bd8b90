package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// testClose checks the state in which a writer leaves a run, by the run's last record, and when
// another worker claims it.
func testClose(t *testing.T) {
	e := prepared(t)
	s, err := e.NewSession(t.Context(), WorkerRow{Machine: "m1", PID: 1, Concurrency: 1}, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	other := e.worker(t, nil)
	code := func(n int) *int { return &n }
	soon, late := time.Now().Add(-time.Hour).UnixMilli(), time.Now().Add(time.Hour).UnixMilli()
	park := func(waits ...journal.Wait) *journal.Record {
		return &journal.Record{RecordKind: journal.KPark, RareMembers: journal.RareMembers{Waits: waits}}
	}
	for i, c := range []struct {
		name    string
		last    *journal.Record
		answer  bool // an answer arrives before the end
		state   string
		exit    int // -1: none
		claimed bool
		later   bool // an answer arrives after the end, and then the run is claimed
	}{
		{"suspended", &journal.Record{RecordKind: journal.KDid, Effect: 1, Kind: "clock"}, false, "ready", -1, true, false},
		{"finished", &journal.Record{RecordKind: journal.KFinish, RareMembers: journal.RareMembers{Code: code(0)}}, false, "finished", 0, false, false},
		{"failed", &journal.Record{RecordKind: journal.KFinish, RareMembers: journal.RareMembers{Code: code(3)}}, false, "failed", 3, false, false},
		{"asks", park(journal.Wait{Effect: 1, ID: "q1"}), false, "waiting", -1, false, true},
		{"asks, answered", park(journal.Wait{Effect: 1, ID: "q1"}), true, "ready", -1, true, false},
		{"sleeps", park(journal.Wait{Effect: 1, Due: late}), false, "waiting", -1, false, false},
		{"slept", park(journal.Wait{Effect: 1, Due: late}, journal.Wait{Effect: 2, Due: soon}), false, "waiting", -1, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := fmt.Sprint("run", i)
			r := s.Run(id)
			w, err := r.Create(journal.Start{Run: id, Program: "main.conc", Args: []string{}}, []byte("ir"), journal.Options{})
			if err != nil {
				t.Fatal(err)
			}
			w.Append(c.last)
			if err := w.Flush(journal.Synced); err != nil {
				t.Fatal(err)
			}
			answer := journal.Answer{Value: []byte("1"), By: "ann", At: 1}
			if c.answer {
				if err := r.PutAnswer("q1", answer); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			state, exit := "", -1
			if err := e.pool.QueryRow(t.Context(), `SELECT state, coalesce(exit, -1) FROM concerto.runs WHERE id = $1 AND owner IS NULL`, id).Scan(&state, &exit); err != nil || state != c.state || exit != c.exit {
				t.Errorf("state %s, exit %d, %v; want %s, %d", state, exit, err, c.state, c.exit)
			}
			if got := e.claim(t, other, 1); (got == id) != c.claimed {
				t.Errorf("claimed %q", got)
			}
			if !c.later {
				return
			}
			if err := r.PutAnswer("q1", answer); err != nil {
				t.Fatal(err)
			}
			if got := e.claim(t, other, 1); got != id {
				t.Errorf("claimed %q after the answer", got)
			}
		})
	}
}
