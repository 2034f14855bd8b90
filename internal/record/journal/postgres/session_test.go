package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// testSession checks what a writer may send by the state of its worker's lease.
func testSession(t *testing.T) {
	e := prepared(t)
	s, err := e.NewSession(t.Context(), WorkerRow{Machine: "m1", PID: 1, Concurrency: 1}, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := s.Run("run")
	w, err := r.Create(journal.Start{Run: "run", Program: "main.conc", Args: []string{}}, []byte("ir"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stored := func(want uint64) {
		t.Helper()
		if h, err := r.Read(); err != nil || h.N != want {
			t.Fatalf("%d records are stored, %v; want %d", h.N, err, want)
		}
	}
	did := func(n int64) { w.Append(&journal.Record{RecordKind: journal.KDid, Effect: n, Kind: "clock"}) }

	// The lease was not renewed in time: nothing is sent, and nothing is lost.
	s.SetSent(time.Now().Add(-2 * time.Hour))
	did(1)
	for range 2 {
		if err := w.Flush(journal.Written); !errors.Is(err, journal.ErrNotRenewed) {
			t.Fatalf("Flush without a renewal: %v", err)
		}
	}
	stored(1)
	if _, _, err := s.Run("other").Open(nil, journal.Options{}); !errors.Is(err, journal.ErrNotRenewed) {
		t.Errorf("Open without a renewal: %v", err)
	}
	s.SetSent(time.Now())
	did(2)
	if err := w.Flush(journal.Synced); err != nil {
		t.Fatal(err)
	}
	stored(3)

	// The lease is lost for ever, although no other worker has claimed the run.
	s.End(journal.ErrLost)
	<-s.Ended().Done()
	s.SetSent(time.Now())
	did(3)
	for _, err := range []error{w.Flush(journal.Written), w.PutProgram("program.2.conc-ir", []byte("other"))} {
		if !errors.Is(err, journal.ErrFenced) {
			t.Errorf("without a lease: %v", err)
		}
	}
	stored(3)
}

// testSessionRenews checks that a session renews its lease, and notices that it is lost.
func testSessionRenews(t *testing.T) {
	e := prepared(t)
	s, err := e.NewSession(t.Context(), WorkerRow{Machine: "m1", PID: 1, Concurrency: 1}, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	until := func() (at time.Time) {
		t.Helper()
		if err := e.pool.QueryRow(t.Context(), `SELECT lease_until FROM concerto.workers WHERE id = $1`, s.ID()).Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	first := until()
	s.RenewNow()
	if second := until(); !second.After(first) {
		t.Errorf("the lease ends at %v after a renewal, and at %v before it", second, first)
	}
	e.mustDo(t, `UPDATE concerto.workers SET lease_until = clock_timestamp()`)
	s.RenewNow()
	<-s.Ended().Done()
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	n := -1
	if err := e.pool.QueryRow(t.Context(), `SELECT count(*) FROM concerto.workers`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d workers remain, %v", n, err)
	}
}
