package postgres

import (
	"bytes"
	"context"
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
				s, err := through.NewSession(t.Context(), WorkerRow{Machine: "m1", PID: 1, Queues: []string{}, Concurrency: 1}, time.Hour, nil)
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

// testClaims checks how workers claim runs, as for every store of workers.
func testClaims(t *testing.T) {
	journaltest.Workers(t, func(t *testing.T) *journaltest.Engine {
		e := prepared(t)
		return &journaltest.Engine{
			Submit: func(id, queue, key string, priority int) {
				if _, err := e.Submit(t.Context(), []Submitted{{ID: id, Program: "main.conc", IR: []byte("{}"), Start: []byte("{}"), Queue: queue, Key: key, Priority: priority}}); err != nil {
					t.Fatal(err)
				}
			},
			Limit: func(queue string, concurrency, perKey int) {
				e.mustDo(t, `INSERT INTO concerto.queues VALUES ($1, $2, $3, false)`, queue, concurrency, perKey)
			},
			Worker: func() journaltest.Worker { return e.claimer(t) },
			State: func(id string) string {
				state, _, err := e.State(t.Context(), id)
				if err != nil {
					t.Error(err)
				}
				return state
			},
		}
	})
}

// claimer registers a worker.
func (e *Engine) claimer(t *testing.T) journaltest.Worker {
	s, err := e.NewSession(t.Context(), WorkerRow{Machine: "m1", PID: 1, Queues: []string{"a", "b"}, Concurrency: 9}, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	claims := map[string]*Claimed{}
	return journaltest.Worker{
		Claim: func(n int) (all []journaltest.Claim) {
			claimed, err := e.Claim(t.Context(), s.id, n, 2, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range claimed {
				claims[c.Run] = &c
				all = append(all, journaltest.Claim{Run: c.Run, Held: c.Held, TakenOver: c.TakenOver})
			}
			return all
		},
		Open: func(id string) journal.Run { return s.Claimed(claims[id]) },
		Refuse: func(id string, delay time.Duration) {
			if err := s.Refuse(claims[id], "refused", delay); err != nil {
				t.Error(err)
			}
		},
		Release: func(id string) {
			if err := s.Release(claims[id]); err != nil {
				t.Error(err)
			}
		},
		Renew:  func() bool { return s.RenewNow() == nil },
		Expire: func() { e.mustDo(t, `UPDATE concerto.workers SET lease_until = clock_timestamp() WHERE id = $1`, s.id) },
	}
}
