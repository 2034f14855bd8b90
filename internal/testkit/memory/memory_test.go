package memory

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/journaltest"
)

// errCut is the error of a transaction whose outcome the Writer does not know.
var errCut = errors.New("the connection was closed")

// TestSession checks the guarantees of stores for the runs of workers.
func TestSession(t *testing.T) {
	journaltest.Test(t, func(t *testing.T) *journaltest.Store {
		s := &Store{}
		var mu sync.Mutex
		var current *Session
		var fails []bool // for each of the next groups, whether it is stored
		send := func(_ context.Context, what, _ string, do func()) error {
			mu.Lock()
			if what != "flush" || len(fails) == 0 {
				mu.Unlock()
				do()
				return nil
			}
			stored := fails[0]
			fails = fails[1:]
			mu.Unlock()
			if stored {
				do()
			}
			return errCut
		}
		session := func() *Session {
			mu.Lock()
			x := current
			mu.Unlock()
			if x == nil {
				var err error
				if x, err = s.NewSession(t.Context(), nil, time.Hour, Connection{Send: send}); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = x.Close(context.Background()) })
				mu.Lock()
				current = x
				mu.Unlock()
			}
			return x
		}
		session()
		return &journaltest.Store{Run: func(id string) journal.Run { return session().Run(id) }, IsWhole: true, Expire: func(id string) {
			s.Expire(id)
			mu.Lock()
			defer mu.Unlock()
			current = nil
		}, FailCommit: func(stored bool) {
			mu.Lock()
			defer mu.Unlock()
			fails = append(fails, stored)
		}}
	})
}

// TestStore checks the guarantees of stores.
func TestStore(t *testing.T) {
	journaltest.Test(t, func(*testing.T) *journaltest.Store {
		s := &Store{}
		fail := func(stored bool) {
			s.Commit = func(commit func() error) error {
				s.Commit = nil
				if stored {
					if err := commit(); err != nil {
						return err
					}
				}
				return errCut
			}
		}
		return &journaltest.Store{Run: s.Run, IsWhole: true, Expire: s.Expire, FailCommit: fail}
	})
}

// TestWorkers checks how workers claim runs.
func TestWorkers(t *testing.T) {
	journaltest.Workers(t, func(t *testing.T) *journaltest.Engine {
		s := &Store{}
		return &journaltest.Engine{
			Submit: func(id, queue, key string, priority int) {
				s.Submit(Submitted{ID: id, Program: "main.conc", IR: []byte("{}"), Start: []byte("{}"), Queue: queue, Key: key, Priority: priority})
			},
			Limit: func(queue string, concurrency, perKey int) {
				s.SetQueue(queue, Queue{Concurrency: concurrency, PerKey: perKey})
			},
			Worker: func() journaltest.Worker { return newWorker(t, s) },
			State:  func(id string) string { return s.Info(id).State },
		}
	})
}

func newWorker(t *testing.T, s *Store) journaltest.Worker {
	x, err := s.NewSession(t.Context(), []string{"a", "b"}, time.Hour, Connection{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close(context.Background()) })
	claims := map[string]*Claimed{}
	return journaltest.Worker{
		Claim: func(n int) (all []journaltest.Claim) {
			claimed, err := x.Claim(n, 2, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range claimed {
				claims[c.Run] = &c
				all = append(all, journaltest.Claim{Run: c.Run, Held: c.Held, TakenOver: c.TakenOver})
			}
			return all
		},
		Open: func(id string) journal.Run { return x.Claimed(claims[id]) },
		Refuse: func(id string, delay time.Duration) {
			if err := x.Refuse(claims[id], "ready", "refused", delay); err != nil {
				t.Error(err)
			}
		},
		Release: func(id string) {
			if err := x.Release(claims[id]); err != nil {
				t.Error(err)
			}
		},
		Renew: func() bool { return x.RenewNow() == nil },
		Expire: func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.workers[x.id].until = time.Now()
		},
	}
}
