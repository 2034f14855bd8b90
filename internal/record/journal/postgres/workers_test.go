package postgres

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
)

// variables contains the names of the environment variables of workers.
var variables = []string{"KEY"}

// prepared returns an engine with a schema and a program.
func prepared(t *testing.T) *Engine {
	t.Helper()
	databases++
	e := connect(t, pgtest.Make(t, server, fmt.Sprint("engine", databases)))
	if _, err := e.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	e.mustDo(t, `INSERT INTO concerto.programs VALUES (repeat('0', 64), 'ir')`)
	e.mustDo(t, `INSERT INTO concerto.machines VALUES ('m1', 'infinity'), ('m2', 'infinity'), ('m4', clock_timestamp() - interval '61 min'), ('m5', clock_timestamp() - interval '59 min')`)
	return e
}

func (e *Engine) mustDo(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := e.pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// add adds a ready run with other values of some columns, written as "column = value, …".
func (e *Engine) add(t *testing.T, id, columns string) {
	t.Helper()
	e.mustDo(t, `INSERT INTO concerto.runs (id, program, ir, start) VALUES ($1, 'main.conc', repeat('0', 64), '{}')`, id)
	if columns != "" {
		e.mustDo(t, `UPDATE concerto.runs SET `+columns+` WHERE id = $1`, id)
	}
}

// worker registers a worker with a lease of an hour.
func (e *Engine) worker(t *testing.T, change func(*WorkerRow)) string {
	t.Helper()
	w := WorkerRow{Machine: "m1", Boot: "b1", PID: 1, Version: "1", VMVersion: 2, Queues: []string{"default"}, Concurrency: 100, Variables: variables}
	if change != nil {
		change(&w)
	}
	id, err := e.Register(t.Context(), w, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// claim returns the ids of the runs that a worker claims, in order.
func (e *Engine) claim(t *testing.T, worker string, n int) string {
	t.Helper()
	claimed, err := e.Claim(t.Context(), worker, n, 3, nil, variables)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range claimed {
		if !c.Held {
			ids = append(ids, c.Run)
		}
	}
	return strings.Join(ids, " ")
}

// testClaimable checks for each condition of a run whether a worker claims it.
func testClaimable(t *testing.T) {
	e := prepared(t)
	e.mustDo(t, `INSERT INTO concerto.queues VALUES ('paused', 0, 0, true)`)
	e.mustDo(t, `INSERT INTO concerto.workers VALUES ('w_dead', 'm2', 'b', 1, '1', 1, '{}', 1, '{}', clock_timestamp() - interval '3 s')`)
	live := e.worker(t, func(w *WorkerRow) { w.Queues = []string{"other"} })
	for _, c := range []struct {
		id, columns string
		want        bool
	}{
		{"ready", "", true},
		{"later", "ready_at = clock_timestamp() + interval '1 h'", false},
		{"later-stop", "ready_at = clock_timestamp() + interval '1 h', stop = true", true},
		{"other-queue", "queue = 'elsewhere'", false},
		{"pinned-here", "pin = 'm1'", true},
		{"pinned-there", "pin = 'm2'", false},
		{"pinned-there-stop", "pin = 'm2', stop = true", false},
		{"orphaned", "pin = 'm4', pinned_by = 'host a'", true},
		{"orphaned-later", "pin = 'm5'", false},
		{"orphaned-waiting", "pin = 'm4', state = 'waiting', wake_at = clock_timestamp()", true},
		{"newer-vm", "vm_version = 3", false},
		{"newer-vm-stop", "vm_version = 3, stop = true", true},
		{"secret", "needs = '{KEY}'", true},
		{"other-secret", "needs = '{KEY,TOKEN}'", false},
		{"paused", "queue = 'paused'", false},
		{"paused-stop", "queue = 'paused', stop = true", true},
		{"waiting", "state = 'waiting'", false},
		{"waiting-stop", "state = 'waiting', stop = true", true},
		{"waiting-until", "state = 'waiting', wake_at = clock_timestamp() + interval '1 h'", false},
		{"waiting-awake", "state = 'waiting', wake_at = clock_timestamp()", true},
		{"waiting-answered", "state = 'waiting'", true},
		{"owned", "state = 'running', owner = '" + live + "'", false},
		{"owner-dead", "state = 'running', owner = 'w_dead'", true},
		{"owner-gone", "state = 'running', owner = 'w_gone'", true},
		{"owner-dead-paused", "state = 'running', owner = 'w_dead', queue = 'paused'", false},
		{"second-crash", "state = 'running', owner = 'w_dead', crashes = 1", true},
		{"third-crash", "state = 'running', owner = 'w_dead', crashes = 2", false}, // held
		{"finished", "state = 'finished'", false},
		{"failed-stop", "state = 'failed', stop = true", false},
		{"held-stop", "state = 'held', stop = true", false},
		{"damaged", "state = 'damaged'", false},
	} {
		e.add(t, c.id, c.columns)
		if c.id == "waiting-answered" {
			e.mustDo(t, `INSERT INTO concerto.answers VALUES ('waiting-answered', 'q1', '1', NULL, 'ann', now(), 0)`)
		}
		want := ""
		if c.want {
			want = c.id
		}
		w := e.worker(t, func(w *WorkerRow) { w.Queues = append(w.Queues, "paused") })
		if got := e.claim(t, w, 10); got != want {
			t.Errorf("%s: claimed %q, want %q", c.id, got, want)
		}
		e.mustDo(t, `DELETE FROM concerto.workers WHERE id = $1`, w)
		state := ""
		if err := e.pool.QueryRow(t.Context(), `SELECT state FROM concerto.runs WHERE id = $1`, c.id).Scan(&state); err != nil {
			t.Fatal(err)
		}
		moved := false
		if err := e.pool.QueryRow(t.Context(), `SELECT moved AND pin IS NULL AND pinned_by IS NULL FROM concerto.runs WHERE id = $1`, c.id).Scan(&moved); err != nil {
			t.Fatal(err)
		}
		if moved != (c.want && strings.HasPrefix(c.id, "orphaned")) {
			t.Errorf("%s: moved %t", c.id, moved)
		}
		if c.id == "third-crash" && state != "held" {
			t.Errorf("%s: state %s, want held", c.id, state)
		}
		e.mustDo(t, `DELETE FROM concerto.runs`)
	}
}

// testClaimOrder checks that runs with a higher priority start first, then those that were ready
// first, over several queues.
func testClaimOrder(t *testing.T) {
	e := prepared(t)
	for i, c := range []string{"priority = 0", "priority = 7, queue = 'b'", "priority = 7, ready_at = ready_at - interval '1 s'", "priority = -3", "queue = 'b'"} {
		e.add(t, fmt.Sprint("r", i), c)
	}
	w := e.worker(t, func(w *WorkerRow) { w.Queues = append(w.Queues, "b") })
	if got := e.claim(t, w, 3); got != "r2 r1 r0" {
		t.Errorf("first: %s", got)
	}
	if got := e.claim(t, w, 3); got != "r4 r3" {
		t.Errorf("then: %s", got)
	}
	if err := e.Unregister(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	var times int
	if err := e.pool.QueryRow(t.Context(), `SELECT count(DISTINCT ready_at) FROM concerto.runs`).Scan(&times); err != nil || times != 1 {
		t.Errorf("the runs of a worker that was removed became ready at %d times (error %v), want one: their order would be arbitrary", times, err)
	}
}

// testClaimHidden checks that runs which a worker cannot claim do not hide the one after them: runs
// of another machine, and runs whose key is at its limit.
func testClaimHidden(t *testing.T) {
	e := prepared(t)
	e.mustDo(t, `INSERT INTO concerto.queues VALUES ('default', 0, 1, false)`)
	w := e.worker(t, nil)
	e.add(t, "first", "key = 'a'")
	if got := e.claim(t, w, 1); got != "first" {
		t.Fatalf("claimed %q", got)
	}
	for i := range 20 {
		e.add(t, fmt.Sprint("pinned", i), "pin = 'm2', priority = 1")
		e.add(t, fmt.Sprint("key", i), "key = 'a', priority = 1")
	}
	e.add(t, "last", "key = 'b'")
	if got := e.claim(t, w, 1); got != "last" {
		t.Errorf("claimed %q, want the run after those that cannot be claimed", got)
	}
}

// testClaimCrash checks the delays before another worker owns a run, by the number of earlier
// crashes.
func testClaimCrash(t *testing.T) {
	e := prepared(t)
	for crashes, seconds := range []int{0, 0, 1, 2, 4} {
		for _, early := range []bool{true, false} {
			age := time.Duration(seconds) * time.Second
			if early {
				age -= 500 * time.Millisecond
			}
			if age < 0 {
				continue
			}
			e.mustDo(t, `INSERT INTO concerto.workers VALUES ('w_dead', 'm2', 'b', 1, '1', 1, '{}', 1, '{}', clock_timestamp() + interval '1 h')`)
			e.add(t, "run", fmt.Sprintf("state = 'running', owner = 'w_dead', crashes = %d", crashes))
			w := e.worker(t, nil)
			// The lease expires at a time relative to that of the claim: one transaction has both.
			e.mustDo(t, `UPDATE concerto.workers SET lease_until = clock_timestamp() - $1::interval WHERE id = 'w_dead'`, age)
			claimed, err := e.Claim(t.Context(), w, 1, 10, nil, variables)
			if err != nil {
				t.Fatal(err)
			}
			// On a slow machine half a second may pass before the claim: only the database knows.
			var late bool
			if err := e.pool.QueryRow(t.Context(), `SELECT lease_until + concerto.delay($1) <= clock_timestamp() FROM concerto.workers WHERE id = 'w_dead'`, crashes).Scan(&late); err != nil {
				t.Fatal(err)
			}
			if len(claimed) > 0 && early && !late || len(claimed) == 0 && !early {
				t.Errorf("after %d crashes, %v after the end of the lease: claimed %v", crashes, age, claimed)
			}
			e.mustDo(t, `DELETE FROM concerto.runs`)
			e.mustDo(t, `DELETE FROM concerto.workers`)
		}
	}
}

// testClaimRacing checks that each of 200 runs has one owner when 8 workers claim at once, and that
// a queue's limits are not exceeded at any moment.
func testClaimRacing(t *testing.T) {
	e := prepared(t)
	e.mustDo(t, `INSERT INTO concerto.queues VALUES ('limited', 7, 2, false)`)
	for i := range 200 {
		queue := "default"
		if i%2 == 0 {
			queue = "limited"
		}
		e.add(t, fmt.Sprint("r", i), fmt.Sprintf("queue = '%s', key = 'k%d'", queue, i%5))
	}
	var mu sync.Mutex
	var claimed []string
	limited := 0
	var workers sync.WaitGroup
	for range 8 {
		w := e.worker(t, func(w *WorkerRow) { w.Queues = append(w.Queues, "limited") })
		workers.Go(func() {
			for range 60 {
				got, err := e.Claim(t.Context(), w, 3, 3, nil, variables)
				if err != nil {
					t.Error(err)
					return
				}
				var owned, most int64
				if err := e.pool.QueryRow(t.Context(), `SELECT count(*), (SELECT coalesce(max(n), 0) FROM (SELECT count(*) n FROM concerto.runs WHERE queue = 'limited' AND owner IS NOT NULL GROUP BY key) k)
					FROM concerto.runs WHERE queue = 'limited' AND owner IS NOT NULL`).Scan(&owned, &most); err != nil {
					t.Error(err)
					return
				}
				if owned > 7 || most > 2 {
					t.Errorf("%d runs of the queue at once, %d of one key", owned, most)
				}
				for _, c := range got {
					var left string
					if err := e.pool.QueryRow(t.Context(), `SELECT result FROM concerto.leave($1, $2, 'finished', NULL, 0)`, c.Run, c.Epoch).Scan(&left); err != nil || left != "left" {
						t.Errorf("leave %s: %s, %v", c.Run, left, err)
					}
				}
				mu.Lock()
				for _, c := range got {
					claimed = append(claimed, c.Run)
				}
				limited = max(limited, int(owned))
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	slices.Sort(claimed)
	if len(claimed) != 200 || len(slices.Compact(claimed)) != 200 {
		t.Errorf("%d claims of %d runs", len(claimed), len(slices.Compact(claimed)))
	}
	if limited < 2 {
		t.Errorf("at most %d runs of the limited queue at once: the test has not reached the limits", limited)
	}
}

// testLease checks renewing: a lease that has expired is lost for ever.
func testLease(t *testing.T) {
	e := prepared(t)
	w := e.worker(t, nil)
	now, err := e.Renew(t.Context(), w, time.Hour, false, variables)
	if err != nil || time.Since(now).Abs() > time.Minute {
		t.Fatal(now, err)
	}
	e.add(t, "run", "")
	if _, err := e.Renew(t.Context(), w, time.Hour, true, variables); err != nil {
		t.Fatal(err)
	}
	if got := e.claim(t, w, 1); got != "" {
		t.Errorf("a draining worker has claimed %s", got)
	}
	e.mustDo(t, `UPDATE concerto.workers SET lease_until = clock_timestamp()`)
	if _, err := e.Renew(t.Context(), w, time.Hour, false, variables); err != journal.ErrLost {
		t.Errorf("renewed after the end of the lease: %v", err)
	}
	if got := e.claim(t, w, 1); got != "" {
		t.Errorf("a worker without a lease has claimed %s", got)
	}
}
