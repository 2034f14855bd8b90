package postgres

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/journaltest"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
)

// testStore checks the guarantees of stores. Commits fail because a proxy cuts the connection:
// before the server receives the group, or before the writer receives the response.
func testStore(t *testing.T) {
	limitChecks(t, 20) // 100 sequences take a minute
	journaltest.Test(t, func(t *testing.T) *journaltest.Store {
		databases++
		url := pgtest.Make(t, server, fmt.Sprint("store", databases))
		e := connect(t, url)
		if _, err := e.Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		p := pgtest.StartProxy(t, url)
		through := connect(t, p.URL)
		var mu sync.Mutex
		var current *Session
		session := func() *Session {
			mu.Lock()
			defer mu.Unlock()
			if current == nil {
				s, err := through.NewSession(t.Context(), WorkerRow{Machine: "m1", PID: 1, Queues: []string{}, Concurrency: 1}, time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close(t.Context()) })
				current = s
			}
			return current
		}
		return &journaltest.Store{
			Run:     func(id string) journal.Run { return session().Run(id) },
			IsWhole: true,
			Expire: func(id string) {
				e.mustDo(t, `UPDATE concerto.workers SET lease_until = clock_timestamp() WHERE id = (SELECT owner FROM concerto.runs WHERE id = $1)`, id)
				mu.Lock()
				defer mu.Unlock()
				current = nil
			},
			FailCommit: func(stored bool) { failNextGroup(p, stored) },
		}
	})
}

// failNextGroup makes the proxy cut the connection of the next group, after the server has stored
// it or before it receives it.
func failNextGroup(p *pgtest.Proxy, stored bool) {
	var failed atomic.Bool
	p.SetPlan(func(request bool, data []byte) pgtest.Action {
		if !request || !bytes.Contains(data, []byte("concerto.flush")) || failed.Swap(true) {
			return pgtest.Forward
		}
		if stored {
			return pgtest.CutResponse
		}
		return pgtest.Cut
	})
}
