package postgres

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// modelCrashes is the number of crashes after which a run of the model becomes held.
const modelCrashes = 3

// later is the distance of a time that is not reached, in the model's time.
const later = 1 << 30

// model is what an engine must contain after random operations of workers and clients. Its time
// counts the operations.
type model struct {
	e       *Engine
	now     int
	workers []*modelWorker
	runs    []*modelRun
	queues  map[string]*modelQueue
	owners  []*modelOwner // processes that own a run, or believe that they do
	exited  []*modelOwner // owners that have crashed with an open writer
}

type modelWorker struct {
	session  *Session
	queues   []string
	live     bool // its lease has not expired
	draining bool
	refused  []string
}

type modelRun struct {
	id, queue, key string
	priority       int
	readyAt        int
	wake           int // time at which it wakes; 0 means none
	state          string
	exit           string
	owner          *modelWorker
	epoch          int64
	stop           bool
	crashes        int
	progress       int64
	at             journal.From
	output         int
	answers        []string
}

type modelQueue struct {
	concurrency, perKey int
	paused              bool
}

// modelOwner is a process that has claimed a run. It does not know whether it still owns it.
type modelOwner struct {
	worker *modelWorker
	run    *modelRun
	claim  Claimed
	taken  journal.Run    // the claimed run; nil after it was opened
	w      journal.Writer // nil before it was opened
}

// owns reports whether the process owns its run.
func (o *modelOwner) owns() bool { return o.run.owner != nil && o.run.epoch == o.claim.Epoch }

// isDead reports whether other workers may claim the run, which has an owner.
func (r *modelRun) isDead() bool { return !r.owner.live }

func (r *modelRun) hasEnded() bool { return r.state == "finished" || r.state == "failed" }

// release ends the ownership of a run.
func (r *modelRun) release(state string, readyAt int) {
	r.state, r.owner, r.readyAt = state, nil, readyAt
}

// session returns a session of a worker without goroutines, so that each change has one cause.
func (m *model) session(t *rapid.T, queues []string) *Session {
	s := &Session{engine: m.e, commits: &commits{pool: m.e.pool}, Lease: journal.NewLease(time.Now(), journal.LeaseOptions{Duration: time.Hour}), syncWithin: time.Hour, vm: 1, watches: watches{runs: map[string]chan struct{}{}, woken: make(chan struct{}, 1)}}
	var err error
	s.id, err = m.e.Register(context.Background(), WorkerRow{Machine: "m1", Boot: "b", PID: 1, Version: "1", VMVersion: 1, Queues: queues, Concurrency: 9}, time.Hour)
	must(t, err)
	return s
}

func must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (m *model) do(t *rapid.T, sql string, args ...any) {
	t.Helper()
	_, err := m.e.pool.Exec(context.Background(), sql, args...)
	must(t, err)
}

// pick returns a random element of a list, and ends the operation if the list is empty.
func pick[T any](t *rapid.T, name string, all []T) T {
	if len(all) == 0 {
		t.Skip("nothing to choose from")
	}
	return all[rapid.IntRange(0, len(all)-1).Draw(t, name)]
}

func (m *model) register(t *rapid.T) {
	if len(m.workers) == 4 {
		t.Skip("enough workers")
	}
	queues := pick(t, "queues", [][]string{{"a", "b"}, {"a"}, {"b"}})
	m.workers = append(m.workers, &modelWorker{session: m.session(t, queues), queues: queues, live: true})
}

func (m *model) renew(t *rapid.T) {
	w := pick(t, "worker", m.workers)
	draining := rapid.IntRange(0, 3).Draw(t, "draining") == 0
	_, err := m.e.Renew(context.Background(), w.session.id, time.Hour, draining, nil)
	if errors.Is(err, journal.ErrLost) == w.live || err != nil && w.live {
		t.Fatalf("Renew = %v; the worker is live: %v", err, w.live)
	}
	if w.live {
		w.draining = draining
	}
}

// expire lets the lease of a worker expire. Its processes continue to write.
func (m *model) expire(t *rapid.T) {
	w := pick(t, "worker", m.workers)
	m.do(t, `UPDATE concerto.workers SET lease_until = clock_timestamp() - interval '1 h' WHERE id = $1`, w.session.id)
	w.live = false
}

// crash lets a worker exit without a trace except for its row.
func (m *model) crash(t *rapid.T) {
	w := pick(t, "worker", m.workers)
	m.do(t, `UPDATE concerto.workers SET lease_until = clock_timestamp() - interval '1 h' WHERE id = $1`, w.session.id)
	m.forget(w)
}

// forget removes a worker without a lease from the model, with its processes.
func (m *model) forget(w *modelWorker) {
	w.live = false
	m.workers = slices.DeleteFunc(m.workers, func(x *modelWorker) bool { return x == w })
	m.owners = slices.DeleteFunc(m.owners, func(o *modelOwner) bool {
		if o.worker == w && o.w != nil {
			m.exited = append(m.exited, o)
		}
		return o.worker == w
	})
}

// deleteRow deletes the row of a worker. Its processes continue to write.
func (m *model) deleteRow(t *rapid.T) {
	w := pick(t, "worker", m.workers)
	m.do(t, `DELETE FROM concerto.workers WHERE id = $1`, w.session.id)
	w.live = false
}

// unregister lets a worker exit that has lost its runs.
func (m *model) unregister(t *rapid.T) {
	w := pick(t, "worker", m.workers)
	must(t, m.e.Unregister(context.Background(), w.session.id))
	for _, r := range m.runs {
		if r.owner == w {
			r.release("ready", m.now)
		}
	}
	w.live = false
}

func (m *model) submit(t *rapid.T) {
	if len(m.runs) == 8 {
		t.Skip("enough runs")
	}
	r := &modelRun{
		id:    fmt.Sprint(pick(t, "letter", []string{"a", "z", "m"}), len(m.runs)),
		queue: pick(t, "queue", []string{"a", "b"}), priority: pick(t, "priority", []int{0, 5, -1}), key: pick(t, "key", []string{"", "x", "y"}),
		state: "ready", readyAt: m.now, at: journal.From{H: journal.ZeroHash},
	}
	s := Submitted{ID: r.id, Program: "main.conc", IR: []byte("ir"), Start: []byte("{}"), Queue: r.queue, Priority: r.priority, Key: r.key}
	if rapid.IntRange(0, 4).Draw(t, "later") == 0 {
		s.Delay, r.readyAt = time.Hour, m.now+later
	}
	created, err := m.e.Submit(context.Background(), []Submitted{s})
	if err != nil || len(created) != 1 || !created[0] {
		t.Fatalf("Submit = %v, error %v", created, err)
	}
	m.runs = append(m.runs, r)
}

// reachTime lets the time come for which a run waits.
func (m *model) reachTime(t *rapid.T) {
	r := pick(t, "run", m.runs)
	if r.readyAt > later {
		m.do(t, `UPDATE concerto.runs SET ready_at = clock_timestamp() WHERE id = $1`, r.id)
		r.readyAt = m.now
	}
	if r.wake > later {
		m.do(t, `UPDATE concerto.runs SET wake_at = clock_timestamp() WHERE id = $1`, r.id)
		r.wake = m.now
	}
}

// countOwned returns the number of runs of a queue that have an owner; key "" means all keys.
func (m *model) countOwned(queue, key string) (n int) {
	for _, r := range m.runs {
		if r.owner != nil && r.queue == queue && (key == "" || r.key == key) {
			n++
		}
	}
	return n
}

// isClaimable reports whether a worker may claim a run, except for limits.
func (m *model) isClaimable(w *modelWorker, r *modelRun) bool {
	if !slices.Contains(w.queues, r.queue) || slices.Contains(w.refused, r.id) || !r.stop && m.queues[r.queue].paused {
		return false
	}
	switch r.state {
	case "ready":
		return r.readyAt <= m.now || r.stop
	case "running":
		return r.isDead()
	case "waiting":
		return r.stop || len(r.answers) > 0 || r.wake > 0 && r.wake <= m.now
	}
	return false
}

// isAtLimit reports whether the limits of its queue forbid that a run gets an owner.
func (m *model) isAtLimit(r *modelRun) bool {
	q := m.queues[r.queue]
	return !r.stop && r.owner == nil && (q.concurrency > 0 && m.countOwned(r.queue, "") >= q.concurrency ||
		q.perKey > 0 && r.key != "" && m.countOwned(r.queue, r.key) >= q.perKey)
}

// claim compares the runs that a worker claims, in their order, with those of the model. A run that
// becomes held frees a place. The engine may use it in this claim or in the next one.
func (m *model) claim(t *rapid.T) {
	w := pick(t, "worker", m.workers)
	n := rapid.IntRange(1, 3).Draw(t, "n")
	got, err := m.e.Claim(context.Background(), w.session.id, n, modelCrashes, w.refused, nil)
	must(t, err)
	next := 0
	if w.live && !w.draining {
		all := slices.Clone(m.runs)
		slices.SortFunc(all, func(a, b *modelRun) int {
			return cmp.Or(b.priority-a.priority, a.readyAt-b.readyAt, strings.Compare(a.id, b.id))
		})
		all = slices.DeleteFunc(all, func(r *modelRun) bool { return !m.isClaimable(w, r) })
		hasFreed := false
		for _, r := range all {
			if n == 0 {
				break
			}
			if m.isAtLimit(r) || hasFreed && r.key != "" && (next == len(got) || got[next].Run != r.id) {
				continue
			}
			want := Claimed{Run: r.id, Epoch: r.epoch + 1, TakenOver: r.owner != nil, Begun: r.at.S > 0, Stop: r.stop}
			if r.owner != nil {
				r.crashes++
			}
			if r.owner != nil && r.crashes >= modelCrashes {
				want.Epoch, want.Held = r.epoch, true
				r.release("held", r.readyAt)
				hasFreed = true
			} else {
				m.own(w, r)
				n--
			}
			if next == len(got) {
				t.Fatalf("claimed %+v; %+v is missing after %d", got, want, next)
			}
			c := got[next]
			if c.Run != want.Run || c.Epoch != want.Epoch || c.Held != want.Held || c.TakenOver != want.TakenOver || c.Begun != want.Begun || c.Stop != want.Stop {
				t.Fatalf("claimed %+v, want %+v", c, want)
			}
			next++
			if !c.Held {
				m.owners = append(m.owners, &modelOwner{worker: w, run: r, claim: c, taken: w.session.Claimed(&c)})
				if rapid.IntRange(0, 3).Draw(t, "opens") > 0 {
					m.openClaimed(t, m.owners[len(m.owners)-1])
				}
			}
		}
	}
	if next < len(got) {
		t.Fatalf("claimed %+v, want only the first %d", got, next)
	}
}

// own makes a worker the owner of a run.
func (m *model) own(w *modelWorker, r *modelRun) {
	r.state, r.owner, r.wake = "running", w, 0
	r.epoch++
}

// take makes a worker the owner of a run for a command, in any state.
func (m *model) take(t *rapid.T) {
	w, r := pick(t, "worker", m.workers), pick(t, "run", m.runs)
	if r.hasEnded() {
		t.Skip("ended")
	}
	isOwned := r.owner != nil && !r.isDead()
	taken, err := w.session.Take(r.id)
	switch {
	case !w.live:
		if !errors.Is(err, journal.ErrLost) {
			t.Fatalf("Take without a lease: %v", err)
		}
	case isOwned:
		if !errors.As(err, new(*journal.HeldError)) {
			t.Fatalf("Take of a run that is owned: %v", err)
		}
	default:
		must(t, err)
		m.own(w, r)
		m.owners = append(m.owners, &modelOwner{worker: w, run: r, taken: taken, claim: Claimed{Run: r.id, Epoch: r.epoch, Begun: r.at.S > 0}})
	}
}

// open opens a claimed run.
func (m *model) open(t *rapid.T) {
	o := pick(t, "owner", m.owners)
	if o.taken == nil {
		t.Skip("open")
	}
	m.openClaimed(t, o)
}

func (m *model) openClaimed(t *rapid.T, o *modelOwner) {
	var err error
	if o.claim.Begun {
		o.w, _, err = o.taken.Open(nil, journal.Options{})
		must(t, err)
	} else {
		r := o.taken.(*run)
		r.isNew = true
		o.w, err = r.Create(journal.Start{Run: o.run.id, Program: "main.conc", IR: modelIR, Args: []string{}}, []byte("ir"), journal.Options{})
		if (err == nil) != o.owns() || err != nil && !errors.Is(err, journal.ErrFenced) {
			t.Fatalf("Create = %v; the process owns the run: %v", err, o.owns())
		}
		if err != nil {
			m.drop(o)
			return
		}
		o.run.at, _ = o.w.At()
	}
	o.taken = nil
}

// modelIR is the SHA-256 of the program "ir".
const modelIR = "08c85bd37cdd0ffce8c39ecd7c7f0ff94e6f45af2aa986673b0c9f1a8a2fffea"

func (m *model) drop(o *modelOwner) {
	m.owners = slices.DeleteFunc(m.owners, func(x *modelOwner) bool { return x == o })
}

// writer returns a random process that has opened its run.
func (m *model) writer(t *rapid.T) *modelOwner {
	return pick(t, "writer", slices.DeleteFunc(slices.Clone(m.owners), func(o *modelOwner) bool { return o.w == nil }))
}

// flush writes a record and perhaps output, and perhaps consumes answers.
func (m *model) flush(t *rapid.T) {
	o := m.writer(t)
	e := o.run.progress + int64(rapid.IntRange(0, 1).Draw(t, "progress"))
	o.w.Append(&journal.Record{RecordKind: journal.KDid, Effect: e, Kind: "clock"})
	hasOutput, consumes := rapid.Bool().Draw(t, "output"), rapid.Bool().Draw(t, "consumes")
	if hasOutput {
		o.w.Out(`{"n":1}`)
	}
	if consumes {
		for _, id := range o.run.answers {
			o.w.ConsumeAnswer(id)
		}
	}
	if !m.store(t, o, pick(t, "level", []journal.Level{journal.Written, journal.Synced})) {
		return
	}
	if hasOutput {
		o.run.output++
	}
	if consumes {
		o.run.answers = nil
	}
	if e > o.run.progress {
		o.run.progress, o.run.crashes = e, 0
	}
}

// store flushes a writer and reports whether the group was stored.
func (m *model) store(t *rapid.T, o *modelOwner, level journal.Level) bool {
	t.Helper()
	err := o.w.Flush(level)
	if (err == nil) != o.owns() || err != nil && !errors.Is(err, journal.ErrFenced) {
		t.Fatalf("Flush of run %s at epoch %d = %v; the process owns the run: %v", o.run.id, o.claim.Epoch, err, o.owns())
	}
	if err == nil {
		o.run.at, _ = o.w.At()
	}
	return err == nil
}

// park lets a run wait for an answer, and perhaps for a time. A run with an answer becomes ready.
func (m *model) park(t *rapid.T) {
	o := m.writer(t)
	wake, waits := 0, []journal.Wait{{Effect: 1, ID: "q1"}}
	switch rapid.IntRange(0, 2).Draw(t, "wake") {
	case 1:
		wake, waits = m.now, append(waits, journal.Wait{Effect: 2, Due: 1})
	case 2:
		wake, waits = m.now+later, append(waits, journal.Wait{Effect: 2, Due: time.Now().Add(time.Hour).UnixMilli()})
	}
	o.w.Append(&journal.Record{RecordKind: journal.KPark, RareMembers: journal.RareMembers{Waits: waits}})
	stored := m.store(t, o, journal.Synced)
	must(t, o.w.Close())
	m.drop(o)
	switch {
	case !stored:
	case len(o.run.answers) > 0 || o.run.stop:
		m.leave(o.run, "ready", 0)
	default:
		m.leave(o.run, "waiting", wake)
	}
}

// leave is what happens when the owner of a run leaves it.
func (m *model) leave(r *modelRun, state string, wake int) {
	r.release(state, m.now)
	r.wake, r.crashes = wake, 0
}

func (m *model) finish(t *rapid.T) {
	o := m.writer(t)
	code := pick(t, "code", []int{0, 3})
	o.w.Append(&journal.Record{RecordKind: journal.KFinish, RareMembers: journal.RareMembers{Code: &code}})
	stored := m.store(t, o, journal.Synced)
	must(t, o.w.Close())
	m.drop(o)
	if !stored {
		return
	}
	state := "finished"
	if code != 0 {
		state = "failed"
	}
	m.leave(o.run, state, 0)
	o.run.answers, o.run.exit = nil, fmt.Sprint(code)
}

// suspend lets the owner of a run leave it. A run whose last record is that of an earlier owner who
// let it wait waits again.
func (m *model) suspend(t *rapid.T) {
	o := m.writer(t)
	o.w.Append(&journal.Record{RecordKind: journal.KDid, Effect: o.run.progress, Kind: "clock"})
	stored := m.store(t, o, journal.Written)
	must(t, o.w.Close())
	must(t, o.worker.session.Release(&o.claim)) // changes nothing if a command has taken the run
	m.drop(o)
	if stored {
		m.leave(o.run, "ready", 0)
	}
}

// refuse releases a run that a worker cannot execute.
func (m *model) refuse(t *rapid.T) {
	o := pick(t, "owner", m.owners)
	delay, readyAt := time.Duration(0), m.now
	if rapid.Bool().Draw(t, "lasting") {
		o.worker.refused = append(o.worker.refused, o.run.id)
	} else {
		delay, readyAt = time.Hour, m.now+later
	}
	must(t, o.worker.session.Refuse(&o.claim, "refused", delay))
	if r := o.run; r.epoch == o.claim.Epoch && (r.state == "ready" || r.state == "running") {
		r.release("ready", readyAt)
	}
	m.drop(o)
	if o.w != nil {
		must(t, o.w.Close())
	}
}

func (m *model) answer(t *rapid.T) {
	r, id := pick(t, "run", m.runs), pick(t, "question", []string{"q1", "q2"})
	err := m.e.Run(r.id).PutAnswer(id, journal.Answer{Value: []byte("1"), By: "Ada"})
	if slices.Contains(r.answers, id) {
		if !errors.As(err, new(*journal.AnsweredError)) {
			t.Fatalf("the second answer: %v", err)
		}
		return
	}
	must(t, err)
	r.answers = append(r.answers, id)
	slices.Sort(r.answers)
}

func (m *model) requestStop(t *rapid.T) {
	r := pick(t, "run", m.runs)
	must(t, m.e.Run(r.id).RequestStop())
	r.stop = true
}

func (m *model) releaseHeld(t *rapid.T) {
	r := pick(t, "run", m.runs)
	err := m.e.Release(context.Background(), r.id)
	if (err == nil) != (r.state == "held") {
		t.Fatalf("Release of a run that is %s: %v", r.state, err)
	}
	if err == nil {
		r.release("ready", m.now)
		r.crashes = 0
	}
}

func (m *model) move(t *rapid.T) {
	r := pick(t, "run", m.runs)
	queue, priority := pick(t, "queue", []string{"a", "b"}), pick(t, "priority", []int{0, 5, -1})
	err := m.e.Move(context.Background(), r.id, Move{Queue: &queue, Priority: &priority})
	if (err == nil) != (r.state == "ready" || r.state == "waiting" || r.state == "running" && !r.owner.live) {
		t.Fatalf("Move of a run that is %s: %v", r.state, err)
	}
	if err == nil {
		r.queue, r.priority = queue, priority
	}
}

func (m *model) pause(t *rapid.T) {
	name := pick(t, "queue", []string{"a", "b"})
	paused := rapid.IntRange(0, 3).Draw(t, "paused") == 0
	must(t, m.e.PauseQueue(context.Background(), name, paused))
	m.queues[name].paused = paused
}

func (m *model) limit(t *rapid.T) {
	name, n, perKey := pick(t, "queue", []string{"a", "b"}), rapid.IntRange(0, 3).Draw(t, "concurrency"), rapid.IntRange(0, 2).Draw(t, "per key")
	must(t, m.e.SetQueue(context.Background(), name, &n, &perKey))
	m.queues[name].concurrency, m.queues[name].perKey = n, perKey
}

// check compares all runs with the model.
func (m *model) check(t *rapid.T) {
	m.now++
	rows, err := m.e.pool.Query(context.Background(), `SELECT concat_ws(' ', id, queue, priority, state, 'exit', exit, 'owner', owner, 'epoch', epoch, 'stop', stop, 'crashes', crashes, 'progress', progress, 'end', s, h,
			'output', output_count, (SELECT count(*) FROM concerto.output o WHERE o.run = r.id),
			'journal', (SELECT concat_ws(' ', min(j.s), max(j.s), count(*), max(j.epoch) <= r.epoch) FROM concerto.journal j WHERE j.run = r.id),
			'answers', (SELECT array_agg(a.id ORDER BY a.id) FROM concerto.answers a WHERE a.run = r.id),
			'waits', wake_at <= clock_timestamp(), 'later', ready_at > clock_timestamp())
		FROM concerto.runs r ORDER BY created_at`)
	must(t, err)
	defer rows.Close()
	for _, r := range m.runs {
		got := ""
		if !rows.Next() {
			t.Fatal("a run is missing", rows.Err())
		}
		must(t, rows.Scan(&got))
		if want := r.String(m.now); got != want {
			t.Fatalf("run\n%s, want\n%s", got, want)
		}
	}
}

// String returns what the query of check returns.
func (r *modelRun) String(now int) string {
	words := []string{r.id, r.queue, fmt.Sprint(r.priority), r.state, "exit"}
	add := func(all ...any) {
		for _, x := range all {
			if text := fmt.Sprint(x); text != "" {
				words = append(words, text)
			}
		}
	}
	boolean := map[bool]string{true: "t", false: "f"}
	add(r.exit, "owner")
	if r.owner != nil {
		add(r.owner.session.id)
	}
	add("epoch", r.epoch, "stop", boolean[r.stop], "crashes", r.crashes, "progress", r.progress, "end", r.at.S, r.at.H, "output", r.output, r.output, "journal")
	if r.at.S > 0 {
		add(1, r.at.S, r.at.S, "t", "answers")
	} else {
		add(0, "answers")
	}
	if len(r.answers) > 0 {
		add("{" + strings.Join(r.answers, ",") + "}")
	}
	add("waits")
	if r.wake > 0 {
		add(boolean[r.wake <= now])
	}
	add("later", boolean[r.readyAt > now])
	return strings.Join(words, " ")
}

// checkModel executes random operations on an engine and compares the engine with the model.
func checkModel(t rapid.TB, e *Engine) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{e: e, queues: map[string]*modelQueue{"a": {}, "b": {}}, now: 1}
		for _, table := range []string{"runs", "workers", "queues"} {
			m.do(t, `DELETE FROM concerto.`+table)
		}
		defer func() {
			for _, o := range slices.Concat(m.owners, m.exited) {
				if o.w != nil {
					_ = o.w.Close()
				}
			}
		}()
		m.register(t)
		m.submit(t)
		m.now++
		m.submit(t)
		t.Repeat(map[string]func(*rapid.T){
			"": m.check, "register": m.register, "renew": m.renew, "expire": m.expire, "crash": m.crash, "delete row": m.deleteRow, "unregister": m.unregister,
			"submit": m.submit, "submit again": m.submit, "time": m.reachTime, "claim": m.claim, "claim again": m.claim, "claim a third time": m.claim, "take": m.take, "open": m.open, "open again": m.open,
			"flush": m.flush, "flush again": m.flush, "flush a third time": m.flush, "park": m.park, "finish": m.finish, "suspend": m.suspend, "refuse": m.refuse,
			"answer": m.answer, "stop": m.requestStop, "release": m.releaseHeld, "move": m.move, "pause": m.pause, "limit": m.limit,
		})
	})
}

// testModel checks leases, claims, fencing and parking by random operations.
func testModel(t *testing.T) {
	limitChecks(t, 40)
	checkModel(t, prepared(t))
}

// mutants are changes of the functions of the schema. The model must detect each of them.
var mutants = []struct{ function, old, new string }{
	{"flush", "r.epoch = of_epoch AND ", ""},
	{"flush", " AND r.owner IS NOT NULL", ""},
	{"flush", "THEN 0 ELSE r.crashes END", "THEN r.crashes ELSE r.crashes END"},
	{"flush", "a.id = ANY(consumed)", "false"},
	{"flush", "output_from - 1 + cardinality(output_lines)", "output_from - 1"},
	{"leave", " AND r.epoch = of_epoch", ""},
	{"leave", "EXISTS (SELECT FROM answers a WHERE a.run = of_run) OR ", ""},
	{"leave", " OR (SELECT r.stop FROM runs r WHERE r.id = of_run)", ""},
	{"leave", "wake_at = wake", "wake_at = NULL"},
	{"refuse", " AND epoch = of_epoch", ""},
	{"move", " AND state IN ('ready', 'waiting')", ""},
	{"release_held", " AND state = 'held'", ""},
	{"claim_run", "epoch = epoch + 1", "epoch = epoch"},
	{"claim_run", "l.id = r.owner AND l.lease_until", "false AND l.lease_until"},
	{"claim_run", " AND lease_until > clock_timestamp()", ""},
	{"claim", "epoch = r.epoch + 1", "epoch = r.epoch"},
	{"claim", ">= q.concurrency", "> q.concurrency"},
	{"claim", ">= q.per_key", "> q.per_key"},
	{"claim", "AND NOT c.stop AND", "AND"},
	{"claim", " AND NOT draining", ""},
	{"claim", "id = of_worker AND lease_until > t", "id = of_worker"},
	{"claim", " AND q.paused", " AND false"},
	{"claim", "c.crashes + 1 >= max_crashes", "c.crashes + 1 > max_crashes"},
	{"claim", "l.lease_until + delay(r.crashes) > t", "true"},
	{"claim", "ORDER BY r.priority DESC, r.ready_at, r.id\n        FOR UPDATE", "ORDER BY r.ready_at, r.id\n        FOR UPDATE"},
	{"claim", "ORDER BY r.priority DESC, r.ready_at, r.id\n        FOR UPDATE", "ORDER BY r.priority DESC, r.id\n        FOR UPDATE"},
	{"claim", "r.stop OR r.wake_at <= t OR EXISTS", "r.stop OR EXISTS"},
	{"claim", "r.wake_at <= t OR EXISTS (SELECT FROM answers a WHERE a.run = r.id)", "r.wake_at <= t"},
	{"claim", "crashes = c.crashes + (c.state = 'running')::integer", "crashes = c.crashes"},
}

// testModelMutants checks that the model detects each mutant. With the flag -rapid.checks it tests
// all of them, otherwise the first ones.
func testModelMutants(t *testing.T) {
	randtest.InOneGoroutine(t)
	limitChecks(t, 300)
	tested := mutants
	if !areChecksGiven {
		tested = mutants[:6] // all of them take two minutes
	}
	for name, value := range map[string]string{"rapid.shrinktime": "0s", "rapid.nofailfile": "true", "rapid.seed": "1", "rapid.steps": "60"} {
		before := flag.Lookup(name).Value.String()
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = flag.Set(name, before) })
	}
	e := prepared(t)
	for _, x := range tested {
		var text string
		if err := e.pool.QueryRow(t.Context(), `SELECT pg_get_functiondef(('concerto.' || $1)::regproc)`, x.function).Scan(&text); err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(text, x.old, x.new, 1)
		if changed == text {
			t.Errorf("function %s does not contain %q", x.function, x.old)
			continue
		}
		e.mustDo(t, changed)
		f := &expected{name: t.Name()}
		done := make(chan struct{})
		go func() {
			defer close(done)
			checkModel(f, e)
		}()
		<-done
		if !f.failed {
			t.Errorf("the model has not detected that %s has %q instead of %q", x.function, x.new, x.old)
		}
		e.mustDo(t, text)
	}
}

// expected is a test that is expected to fail.
type expected struct {
	name   string
	failed bool
}

func (e *expected) Helper()               {}
func (e *expected) Name() string          { return e.name }
func (e *expected) Logf(string, ...any)   {}
func (e *expected) Log(...any)            {}
func (e *expected) Skipf(string, ...any)  { e.SkipNow() }
func (e *expected) Skip(...any)           { e.SkipNow() }
func (e *expected) SkipNow()              { runtime.Goexit() }
func (e *expected) Errorf(string, ...any) { e.failed = true }
func (e *expected) Error(...any)          { e.failed = true }
func (e *expected) Fatalf(string, ...any) { e.FailNow() }
func (e *expected) Fatal(...any)          { e.FailNow() }
func (e *expected) FailNow()              { e.failed = true; runtime.Goexit() }
func (e *expected) Fail()                 { e.failed = true }
func (e *expected) Failed() bool          { return e.failed }
