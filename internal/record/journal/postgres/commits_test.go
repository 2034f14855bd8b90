package postgres

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// testCommitTogether stores groups of five runs that wait while transactions are in progress: they
// share one transaction. A group that the database refuses, and one of a former owner, do not
// change what happens to the others.
func testCommitTogether(t *testing.T) {
	for _, x := range []struct {
		name    string
		spoil   func(e *Engine, s *store, g *group)
		isError func(error) bool
	}{
		{"all", func(*Engine, *store, *group) {}, func(err error) bool { return err == nil }},
		{"refused", func(_ *Engine, _ *store, g *group) { g.lines = []string{"not UTF-8: \xff"} }, func(err error) bool {
			refused, ok := errors.AsType[*pgconn.PgError](err)
			return ok && refused.Code == "22021"
		}},
		{"fenced", func(_ *Engine, s *store, _ *group) { s.epoch++ }, func(err error) bool { return errors.Is(err, journal.ErrFenced) }},
		{"removed", func(e *Engine, s *store, _ *group) {
			e.mustDo(t, `DELETE FROM concerto.runs WHERE id = $1`, s.run)
		}, func(err error) bool { return errors.Is(err, errRemoved) }},
	} {
		t.Run(x.name, func(t *testing.T) {
			e := prepared(t)
			const runs, spoilt = 5, 2
			c := &commits{pool: e.pool, active: maxTransactions}
			var stores []*store
			var groups []group
			for i := range runs {
				s := e.owned(t, e, fmt.Sprint("run", i))
				s.commits = c
				g := group{before: s.end, after: position{1, fmt.Sprintf("%032x", i), 1}, lines: []string{fmt.Sprintf(`{"s":1,"run":%d}`, i)}, outputFrom: 1}
				if i == spoilt {
					x.spoil(e, s, &g)
				}
				stores, groups = append(stores, s), append(groups, g)
			}
			errs := make([]error, runs)
			var all sync.WaitGroup
			for i, s := range stores {
				all.Go(func() {
					s.add(groups[i])
					errs[i] = s.put(t.Context(), []journal.Level{journal.Synced, journal.Written}[i%2])
				})
			}
			for c.countWaiting() < runs {
				runtime.Gosched()
			}
			c.end()
			all.Wait()
			for i, err := range errs {
				switch {
				case i == spoilt:
					if !x.isError(err) {
						t.Errorf("error of the group that differs = %v", err)
					}
				case err != nil:
					t.Errorf("error of run %d = %v", i, err)
				default:
					e.checkStored(t, stores[i].run, groups[i:i+1])
				}
			}
			var transactions int
			if err := e.pool.QueryRow(t.Context(), `SELECT count(DISTINCT xmin::text) FROM concerto.journal`).Scan(&transactions); err != nil {
				t.Fatal(err)
			}
			want := 1
			if x.name == "refused" {
				want = runs - 1
			}
			if transactions != want {
				t.Errorf("%d transactions have stored the groups, want %d", transactions, want)
			}
			if c.active != maxTransactions-1 || len(c.waiting) > 0 {
				t.Errorf("afterwards %d transactions are in progress and %d groups wait", c.active, len(c.waiting))
			}
		})
	}
}

func (c *commits) countWaiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// testCommitCuts stores groups of eight runs at once through a proxy that cuts connections: each
// one is stored once.
func testCommitCuts(t *testing.T) {
	e, through, p := preparedWithProxy(t)
	c := &commits{pool: through.pool}
	var stores []*store
	for i := range 8 {
		s := e.owned(t, e, fmt.Sprint("run", i))
		s.commits = c
		stores = append(stores, s)
	}
	cutAtRandom(p, 11, 20)
	all := make([][]group, len(stores))
	var writers sync.WaitGroup
	for i, s := range stores {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			end, n := s.end, int64(1)
			for range 50 {
				g := generate(r, end, n)
				all[i], end, n = append(all[i], g), g.after, n+int64(len(g.output))
				s.add(g)
				for s.put(t.Context(), journal.Level(r.IntN(2))) != nil {
					if s.ended != nil {
						t.Errorf("run %d: %v", i, s.ended)
						return
					}
				}
			}
		})
	}
	writers.Wait()
	for i, s := range stores {
		e.checkStored(t, s.run, all[i])
	}
	if c.active != 0 || len(c.waiting) > 0 {
		t.Errorf("afterwards %d transactions are in progress and %d groups wait", c.active, len(c.waiting))
	}
}
