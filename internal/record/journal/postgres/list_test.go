package postgres

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
)

// testList checks the order of runs, the filters and the columns.
func testList(t *testing.T) {
	e := prepared(t)
	if all, err := e.List(t.Context(), Filter{}); err != nil || len(all) != 0 {
		t.Fatal(all, err)
	}
	if _, err := e.Show(t.Context(), "a"); !errors.Is(err, journal.ErrNoRun) {
		t.Errorf("Show of no run: %v", err)
	}
	e.add(t, "a", "created_at = '2026-01-01', queue = 'q', state = 'finished', exit = 0")
	e.add(t, "b", "created_at = '2026-01-03', key = 'k', state = 'failed', exit = 1, schedule = 's'")
	e.add(t, "d", "created_at = '2026-01-02', queue = 'q', key = 'k'")
	e.add(t, "c", "created_at = '2026-01-02', state = 'held', schedule = 's'")
	for _, c := range []struct {
		filter Filter
		want   string
	}{
		{Filter{}, "b c d a"},
		{Filter{Limit: 2}, "b c"},
		{Filter{States: []string{"finished"}}, "a"},
		{Filter{States: []string{"finished", "held"}}, "c a"},
		{Filter{Queue: "q"}, "d a"},
		{Filter{Key: "k"}, "b d"},
		{Filter{Schedule: "s"}, "b c"},
		{Filter{Queue: "q", Key: "k"}, "d"},
		{Filter{Queue: "'; drop table runs"}, ""},
	} {
		all, err := e.List(t.Context(), c.filter)
		var ids []string
		for _, r := range all {
			ids = append(ids, r.ID)
		}
		if got := strings.Join(ids, " "); got != c.want || err != nil {
			t.Errorf("%+v: %q, %v; want %q", c.filter, got, err, c.want)
		}
	}

	e.mustDo(t, `DELETE FROM concerto.runs`)
	e.add(t, "all", `state = 'running', queue = 'q', priority = -3, key = 'k', owner = 'w_1', machine = 'm1', epoch = 7, pin = 'm2', pinned_by = 'host claude',
		needs = '{A,B}', crashes = 2, schedule = 's', stop = true, moved = true, exit = 4, created_at = '2026-01-01', started_at = '2026-01-02', ended_at = '2026-01-03',
		progress = 12, vm_version = 3, refusal = 'it lacks'`)
	e.mustDo(t, `INSERT INTO concerto.workers VALUES ('w_1', 'm1', 'b', 1, '1', 3, '{}', 1, '{}', '2026-01-05', false, '2026-01-04')`)
	e.mustDo(t, `INSERT INTO concerto.answers VALUES ('all', 'q1', '1', NULL, 'ann', now(), 0)`)
	e.mustDo(t, `INSERT INTO concerto.questions VALUES ('all', 'q1', 'approve', '{"a":1}', 'Bool', '{}', to_timestamp(1.5))`)
	got, err := e.Show(t.Context(), "all")
	if err != nil {
		t.Fatal(err)
	}
	date := func(day int) *time.Time {
		at := time.Date(2026, 1, day, 0, 0, 0, 0, time.Local)
		return &at
	}
	want := Row{ID: "all", Program: "main.conc", State: "running", Exit: new(4), Queue: "q", Priority: -3, Key: "k", Worker: new("w_1"), Machine: new("m1"), Epoch: 7, Pin: new("m2"), PinnedBy: new("host claude"),
		Needs: []string{"A", "B"}, Crashes: 2, Schedule: new("s"), Stopping: true, Moved: true, Created: *date(1), Started: date(2), Ended: date(3),
		Progress: 12, VMVersion: 3, Refusal: new("it lacks"), LeaseUntil: date(5), Renewed: date(4), Answered: true, Why: got.Why,
		Questions: []journal.Question{{ID: "q1", Channel: "approve", Payload: []byte(`{"a":1}`), Type: "Bool", Schema: []byte("{}"), Since: 1500}}}
	for _, at := range []*time.Time{&got.Created, got.Started, got.Ended, got.LeaseUntil, got.Renewed} {
		*at = at.Local()
	}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("Show:\n%+v\nwant\n%+v", *got, want)
	}
	// The time from which the run can be claimed, by its state.
	for _, c := range []struct {
		columns string
		want    *time.Time
	}{
		{"state = 'ready', owner = NULL, ready_at = '2026-01-01', wake_at = '2026-01-02'", date(1)},
		{"state = 'ready', owner = NULL, ready_at = 'infinity', wake_at = '2026-01-02'", nil},
		{"state = 'waiting', owner = NULL, ready_at = '2026-01-01', wake_at = '2026-01-02'", date(2)},
		{"state = 'waiting', owner = NULL, wake_at = NULL", nil},
		{"state = 'held', owner = NULL, ready_at = '2026-01-01', wake_at = '2026-01-02'", nil},
	} {
		e.mustDo(t, `UPDATE concerto.runs SET `+c.columns)
		got, err := e.Show(t.Context(), "all")
		if err != nil || (got.At == nil) != (c.want == nil) || got.At != nil && !got.At.Equal(*c.want) {
			t.Errorf("%s: %v, %v; want %v", c.columns, got.At, err, c.want)
		}
	}
}

// testWhy checks each reason why a run does not progress. Workers, queues and other runs are added
// by statements.
func testWhy(t *testing.T) {
	e := prepared(t)
	const worker = `INSERT INTO concerto.workers VALUES ('w_1', 'm1', 'b', 1, '1', 2, '{default}', 2, '{KEY}', 'infinity');`
	other := func(id, columns string) string {
		return `INSERT INTO concerto.runs (id, program, ir, start) VALUES ('` + id + `', 'main.conc', repeat('0', 64), '{}'); UPDATE concerto.runs SET ` + columns + ` WHERE id = '` + id + `';`
	}
	running := func(id, columns string) string { return other(id, "state = 'running', owner = 'w_2', "+columns) }
	const time1 = "2099-01-02T03:04:05.678Z"
	const scheduled = "ready_at = '" + time1 + "'"
	const waiting = "state = 'waiting', wake_at = '" + time1 + "'"
	const answer = `INSERT INTO concerto.answers VALUES ('run', 'q1', '1', NULL, 'ann', now(), 0);`
	const asks = `INSERT INTO concerto.questions VALUES ('run', 'q10', 'inbox', 'null', 'any', NULL, '2026-01-02'), ('run', 'q9', 'approve', 'null', 'any', NULL, '2026-01-02'), ('run', 'q7', 'approve', 'null', 'any', NULL, '2026-01-03');`
	const past = "clock_timestamp() - interval '1 s'"
	lease := func(renewed, until string) string {
		return `INSERT INTO concerto.workers VALUES ('w_9', 'm9', 'b', 1, '1', 2, '{}', 1, '{}', ` + until + `, false, ` + renewed + `);`
	}
	const owned = "state = 'running', owner = 'w_9'"
	for _, c := range []struct{ columns, others, want string }{
		{"", worker, ""},
		// Time.
		{scheduled, worker, "scheduled for " + time1},
		{scheduled + ", stop = true", worker, "stopping"},
		{"ready_at = 'infinity'", worker, ""},
		{waiting, worker, "waiting until " + time1},
		{waiting, worker + answer, ""},
		{"state = 'waiting', wake_at = " + past, worker, ""},
		{"state = 'waiting'", worker + asks, "waiting for answer q9 (channel approve); waiting for answer q10 (channel inbox); waiting for answer q7 (channel approve)"},
		{"state = 'waiting'", worker + asks + answer, ""},
		{waiting, worker + asks + `DELETE FROM concerto.questions WHERE id <> 'q7';`, "waiting until " + time1 + "; waiting for answer q7 (channel approve)"},
		{"state = 'waiting', wake_at = " + past, worker + asks, ""},
		{"", worker + asks, ""},
		{"state = 'waiting', stop = true", worker + asks, "stopping"},
		{waiting + ", stop = true", worker, "stopping"},
		{"state = 'finished', stop = true", "", ""},
		{"state = 'failed', stop = true", "", ""},
		// Queue.
		{"queue = 'q'", `INSERT INTO concerto.queues VALUES ('q', 0, 0, true);` + `INSERT INTO concerto.workers VALUES ('w_1', 'm1', 'b', 1, '1', 2, '{q}', 2, '{}', 'infinity');`, "queue q is paused"},
		{waiting, worker + `INSERT INTO concerto.queues VALUES ('default', 0, 0, true);`, "waiting until " + time1 + "; queue default is paused"},
		{"stop = true", worker + `INSERT INTO concerto.queues VALUES ('default', 1, 1, true);` + running("o1", "key = ''"), "stopping"},
		{"", worker + `INSERT INTO concerto.queues VALUES ('other', 1, 1, true);`, ""},
		{"", worker + `INSERT INTO concerto.queues VALUES ('default', 2, 0, false);` + running("o1", "key = 'k'") + running("o2", "key = ''"), "queue default is at its concurrency limit (2 of 2 running)"},
		{"", worker + `INSERT INTO concerto.queues VALUES ('default', 2, 0, false);` + running("o1", "key = 'k'") + running("o2", "queue = 'other'") + other("o3", "state = 'waiting'"), ""},
		{"", worker + `INSERT INTO concerto.queues VALUES ('default', 0, 0, false);` + running("o1", "key = 'k'"), ""},
		{"key = 'k'", worker + `INSERT INTO concerto.queues VALUES ('default', 0, 2, false);` + running("o1", "key = 'k'") + running("o2", "key = 'k'") + running("o3", "key = 'l'"), "queue default is at its limit for key k (2 of 2 running)"},
		{"key = 'k'", worker + `INSERT INTO concerto.queues VALUES ('default', 0, 2, false);` + running("o1", "key = 'k'") + running("o2", "key = 'l'"), ""},
		{"", worker + `INSERT INTO concerto.queues VALUES ('default', 0, 1, false);` + running("o1", "key = ''"), ""},
		{"key = 'k'", worker + `INSERT INTO concerto.queues VALUES ('default', 1, 1, true);` + running("o1", "key = 'k'"),
			"queue default is paused; queue default is at its concurrency limit (1 of 1 running); queue default is at its limit for key k (1 of 1 running)"},
		// Workers.
		{"", "", "no worker online for queue default"},
		{"stop = true", "", "stopping; no worker online for queue default"},
		{"queue = 'q'", worker, "no worker online for queue q"},
		{"", worker + `UPDATE concerto.workers SET draining = true;`, "no worker online for queue default"},
		{"", worker + `UPDATE concerto.workers SET lease_until = ` + past + `;`, "no worker online for queue default"},
		{"pin = 'm1'", worker, ""},
		{"pin = 'm2', pinned_by = 'host claude'", worker, "no worker online on machine m2 (pinned by host claude)"},
		{"pin = 'm2', stop = true", worker, "stopping; no worker online on machine m2"},
		{"pin = 'm2', pinned_by = 'file notes.txt'", "", "no worker online for queue default; no worker online on machine m2 (pinned by file notes.txt)"},
		{"pin = 'm4', pinned_by = 'host claude'", worker, ""},
		{"pin = 'm4', pinned_by = 'host claude'", "", "no worker online for queue default"},
		{"pin = 'm2'", worker + `INSERT INTO concerto.workers VALUES ('w_2', 'm2', 'b', 1, '1', 2, '{other}', 2, '{}', 'infinity');`, "no worker online on machine m2"},
		{"", worker + other("o1", "state = 'running', owner = 'w_1'") + other("o2", "state = 'running', owner = 'w_1'"), "all workers are busy"},
		{"", worker + other("o1", "state = 'running', owner = 'w_1'") + running("o2", "key = ''"), ""},
		{"needs = '{TOKEN}'", worker + other("o1", "state = 'running', owner = 'w_1'") + other("o2", "state = 'running', owner = 'w_1'"), "no worker has secret TOKEN"},
		{"needs = '{TOKEN}', stop = true", worker + other("o1", "state = 'running', owner = 'w_1'") + other("o2", "state = 'running', owner = 'w_1'"), "stopping; all workers are busy"},
		// The owner.
		{owned, lease(past, "clock_timestamp() + interval '1 h'"), ""},
		{owned + ", stop = true", lease(past, "clock_timestamp() + interval '1 h'"), "stopping"},
		{owned, lease("clock_timestamp() - interval '400 days'", "'"+time1+"'"), ""},
		{owned, lease("'1900-01-01'", "'2099-01-02T03:04:05.678Z'"), "worker w_9 is not responding; its lease expires at " + time1},
		{owned, worker + lease("'2020-01-01'", "'2020-01-02T03:04:05Z'"), "worker w_9 is not responding; its lease expired at 2020-01-02T03:04:05.000Z"},
		{owned, worker, "worker w_9 is not responding; its lease has expired"},
		{owned + ", vm_version = 3, pin = 'm1'", worker + `INSERT INTO concerto.queues VALUES ('default', 1, 0, true);`, "queue default is paused; worker w_9 is not responding; its lease has expired; requires VM version 3"},
		{owned + ", vm_version = 3, stop = true", `INSERT INTO concerto.queues VALUES ('default', 1, 0, true);`, "stopping; no worker online for queue default; worker w_9 is not responding; its lease has expired"},
		// Requirements.
		{"needs = '{KEY}'", worker, ""},
		{"needs = '{KEY,TOKEN,URL}'", worker, "no worker has secret TOKEN; no worker has secret URL"},
		{"needs = '{KEY,TOKEN}'", worker + `INSERT INTO concerto.workers VALUES ('w_2', 'm2', 'b', 1, '1', 2, '{default}', 2, '{TOKEN}', 'infinity');`, "no worker has all of the secrets KEY, TOKEN"},
		{"needs = '{TOKEN}', pin = 'm1'", worker + `INSERT INTO concerto.workers VALUES ('w_2', 'm2', 'b', 1, '1', 2, '{default}', 2, '{TOKEN}', 'infinity');`, "no worker has secret TOKEN"},
		{"needs = '{TOKEN}', stop = true", worker, "stopping"},
		{"needs = '{TOKEN}'", "", "no worker online for queue default"},
		{"vm_version = 2", worker, ""},
		{"vm_version = 3", worker, "requires VM version 3"},
		{"vm_version = 3, needs = '{TOKEN}'", worker, "no worker has secret TOKEN; requires VM version 3"},
		{"vm_version = 3, needs = '{KEY}'", worker + `INSERT INTO concerto.workers VALUES ('w_2', 'm2', 'b', 1, '1', 3, '{default}', 2, '{}', 'infinity');`, "no worker has secret KEY"},
		{"refusal = 'secret KEY has changed since the run started'", worker, "secret KEY has changed since the run started"},
		{"refusal = 'requires VM version 3', vm_version = 3", worker, "requires VM version 3"},
		{"refusal = 'requires VM version 3', stop = true", worker, "stopping"},
		{"state = 'held', crashes = 5, progress = 12", worker, "held: worker crashed 5 times at effect 12"},
		{"state = 'held', crashes = 5, progress = 12, stop = true", "", "stopping; held: worker crashed 5 times at effect 12"},
		{"state = 'damaged', refusal = 'records 2 to 3 are missing'", "", "records 2 to 3 are missing"},
		{"state = 'damaged'", "", ""},
	} {
		e.add(t, "run", c.columns)
		if err := e.inTx(t.Context(), func(tx pgx.Tx) error { return execute(t.Context(), tx, c.others) }); err != nil {
			t.Fatalf("%s: %v", c.others, err)
		}
		if got, err := e.Show(t.Context(), "run"); err != nil || got.Why != c.want {
			t.Errorf("%s | %s:\n%q, %v\nwant\n%q", c.columns, c.others, got.Why, err, c.want)
		}
		e.mustDo(t, `DELETE FROM concerto.runs`)
		e.mustDo(t, `DELETE FROM concerto.queues`)
		e.mustDo(t, `DELETE FROM concerto.workers`)
	}

	// The reasons are those of each run.
	e.mustDo(t, worker)
	e.add(t, "one", "queue = 'a'")
	e.add(t, "two", "")
	e.add(t, "three", "needs = '{X}'")
	all, err := e.List(t.Context(), Filter{})
	if err != nil || len(all) != 3 || all[0].Why != "no worker has secret X" || all[1].Why != "" || all[2].Why != "no worker online for queue a" {
		t.Errorf("List: %+v, %v", all, err)
	}
}

// testManage checks the changes of runs in each state, and the rights that they require.
func testManage(t *testing.T) {
	admin := connect(t, pgtest.Make(t, server, "manage"))
	if _, err := admin.Init(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	admin.mustDo(t, `INSERT INTO concerto.programs VALUES (repeat('0', 64), 'ir')`)
	admin.mustDo(t, `INSERT INTO concerto.machines VALUES ('m1', 'infinity')`)
	admin.mustDo(t, `INSERT INTO concerto.workers VALUES ('w', 'm1', 'b', 1, '1', 2, '{default}', 2, '{}', 'infinity'), ('dead', 'm1', 'b', 1, '1', 2, '{default}', 2, '{}', '2020-01-01')`)
	as := func(role string) *Engine {
		admin.mustDo(t, "CREATE ROLE manage_"+role+" LOGIN IN ROLE "+role)
		return connect(t, strings.Replace(server("manage"), "postgres@", "manage_"+role+"@", 1))
	}
	client, reader := as(Client), as(Reader)
	release := func(e *Engine) error { return e.Release(t.Context(), "run") }
	remove := func(e *Engine) error { return e.Delete(t.Context(), "run") }
	move := func(m Move) func(*Engine) error {
		return func(e *Engine) error { return e.Move(t.Context(), "run", m) }
	}
	toB := move(Move{Queue: new("b")})
	for _, c := range []struct {
		name, columns string
		by            *Engine
		do            func(*Engine) error
		want          string // the error's message; "" for none
		after         string // a condition of the run's row; "" if the run must not exist
	}{
		{"release", "state = 'held', crashes = 5, ready_at = '2020-01-01', stop = true", client, release, "", "state = 'ready' AND crashes = 0 AND ready_at > '2026-01-01' AND stop"},
		{"release of a ready run", "crashes = 5", client, release, "run run is ready, not held", "crashes = 5"},
		{"release of a finished run", "state = 'finished'", client, release, "run run is finished, not held", "state = 'finished'"},
		{"release by a reader", "state = 'held'", reader, release, "permission denied for function release_held", "state = 'held'"},
		{"move", "pin = 'm1', pinned_by = 'host a', priority = 3", client, toB, "", "queue = 'b' AND priority = 3 AND pin = 'm1' AND pinned_by = 'host a' AND NOT moved"},
		{"move of a waiting run", "state = 'waiting', queue = 'a'", client, move(Move{Priority: new(-7)}), "", "queue = 'a' AND priority = -7 AND state = 'waiting'"},
		{"move of a running run", "state = 'running', owner = 'w'", client, toB, "run run is running, not ready or waiting", "queue = 'default'"},
		{"move of a run whose worker is dead", "state = 'running', owner = 'dead', pin = 'm1', pinned_by = 'host a'", client, move(Move{AnyMachine: true}), "", "pin IS NULL AND moved AND state = 'running'"},
		{"move of a held run", "state = 'held'", client, toB, "run run is held, not ready or waiting", "queue = 'default'"},
		{"move to any machine", "pin = 'm1', pinned_by = 'host a'", client, move(Move{AnyMachine: true}), "", "pin IS NULL AND pinned_by IS NULL AND moved AND queue = 'default' AND priority = 0"},
		{"move to any machine without a pin", "", client, move(Move{AnyMachine: true}), "", "NOT moved"},
		{"move again", "moved = true", client, toB, "", "moved"},
		{"move by a reader", "", reader, toB, "permission denied for table runs", "queue = 'default'"},
		{"move to an invalid queue", "", client, move(Move{Queue: new("'; drop table runs")}), `value for domain queue_name violates check constraint "queue_name_check"`, "queue = 'default'"},
		{"rm", "state = 'finished', pin = 'm1'", admin, remove, "", ""},
		{"rm of a failed run", "state = 'failed', pin = 'm1'", admin, remove, "", ""},
		{"rm of a held run", "state = 'held', pin = 'm1'", admin, remove, "", ""},
		{"rm of a damaged run", "state = 'damaged', pin = 'm1'", admin, remove, "", ""},
		{"rm of a ready run", "", admin, remove, "", ""},
		{"rm of a waiting run", "state = 'waiting'", admin, remove, "", ""},
		{"rm of a pinned run", "pin = 'm1'", admin, remove, "run run may have hosts on machine m1; stop it first: concerto runs stop run", "true"},
		{"rm of a waiting pinned run", "state = 'waiting', pin = 'm1'", admin, remove, "run run may have hosts on machine m1; stop it first: concerto runs stop run", "true"},
		{"rm of an orphaned run", "pin = 'm4'", admin, remove, "", ""},
		{"rm of a running run", "state = 'running', owner = 'w', machine = 'm1', pid = 7", admin, remove, "is being run by process 7 on m1", "true"},
		{"rm of a claimed run", "state = 'running', owner = 'w'", admin, remove, "is being run by another process", "true"},
		{"rm by a client", "state = 'finished'", client, remove, "permission denied for table runs", "true"},
	} {
		admin.add(t, "run", c.columns)
		got := ""
		if err := c.do(c.by); err != nil {
			got = plain(err).Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		n := 0
		after := c.after
		if after == "" {
			after = "true"
		}
		if err := admin.pool.QueryRow(t.Context(), `SELECT count(*) FROM concerto.runs WHERE `+after).Scan(&n); err != nil || (n > 0) != (c.after != "") {
			t.Errorf("%s: %d runs with %s, %v", c.name, n, after, err)
		}
		admin.mustDo(t, `DELETE FROM concerto.runs`)
	}
	for _, err := range []error{release(client), toB(client), remove(admin)} {
		if !errors.Is(err, journal.ErrNoRun) {
			t.Errorf("without a run: %v", err)
		}
	}

	// Workers receive a notification about a run that they may be able to claim.
	for _, x := range []struct {
		columns string
		do      func(*Engine) error
	}{{"state = 'held'", release}, {"", toB}} {
		admin.add(t, "run", x.columns)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		conn, err := admin.pool.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(ctx, `LISTEN concerto`); err != nil {
			t.Fatal(err)
		}
		if err := x.do(client); err != nil {
			t.Error(err)
		}
		if n, err := conn.Conn().WaitForNotification(ctx); err != nil || n.Payload != "run" {
			t.Errorf("notification %+v, %v", n, err)
		}
		if err := conn.Conn().Close(ctx); err != nil {
			t.Error(err)
		}
		conn.Release()
		cancel()
		admin.mustDo(t, `DELETE FROM concerto.runs`)
	}
}
