//go:build unix

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/testkit/pgserver"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
)

// engineProgram has effects of each class, timers, concurrent tasks and questions.
const engineProgram = `
use std::{http, run, time};
async fn work(task: Int) -> Int {
    for i in 0..4 {
        let at = "${run::id()}/${task}/${i}";
        http::get("URL/read/${at}")?;
        http::put("URL/put/${at}", "")?;
        http::request("POST", "URL/post/${at}", nil, {}, 2000)?;
        emit("round", at);
        if i == 3 { emit("answer", "${at} ${(await emit<Int>("ask", at))?}"); }
        time::sleep(i % 3);
    }
    task
}
fn main() {
    let (a, b) = await (work(0), work(1));
    emit("end", a + b);
}
`

// rejecting lets the database refuse to store records while judge.full has a row.
const rejecting = `
CREATE SCHEMA judge;
CREATE TABLE judge.full (one boolean);
CREATE FUNCTION judge.reject() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM judge.full) THEN
		RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER reject AFTER INSERT ON concerto.journal FOR EACH STATEMENT EXECUTE FUNCTION judge.reject();
`

// TestEngineKill executes runs by workers that are killed, stopped and drained, on a database that
// crashes, refuses writes, and is reached through connections with faults and through PgBouncer.
// The record of a server is true: no effect that must happen once happens twice unless an answer
// allows it, none is lost, the first answer wins, no limit of a queue is exceeded, and each
// scheduled time becomes one run. CONCERTO_ENGINE_KILLS is the number of kills.
// CONCERTO_ENGINE_SERVER is the URL of an empty database of another server, which does not crash.
func TestEngineKill(t *testing.T) {
	s := newEngineTest(t, 1, killsOf(t, "CONCERTO_ENGINE_KILLS", 20))
	s.run()
	t.Logf("%d runs, %d questions about unknown outcomes, faults: %v", s.submitted, s.unknowns, s.faults)
}

// engineTest is the workers, their database and the judge.
type engineTest struct {
	*testing.T
	*killer
	url, dir string
	server   *pgserver.Server // nil if it belongs to somebody else
	proxy    *pgtest.Proxy
	engine   *postgres.Engine
	workers  []*engineWorker
	others   sync.WaitGroup // faults that end later, and workers
	rejects  atomic.Bool
	crashed  atomic.Bool

	submitted int
	open      map[string]bool // ids of the runs that have not ended

	record   sync.Mutex          // protects the fields below
	faults   map[string]int      // by kind
	keys     map[string][]string // idempotency keys of the received requests by path
	answers  map[string][]string // answers to the program's questions that may be the first
	retried  map[string]bool     // paths of requests that an answer allows to repeat
	unknowns int                 // answered questions about unknown outcomes
}

// engineWorker is a process that executes runs. Another one replaces it when it has exited.
type engineWorker struct {
	url     string
	process atomic.Pointer[os.Process]
	stopped atomic.Bool // by a signal
}

const engineLease = time.Second

func newEngineTest(t *testing.T, seed uint64, kills int) *engineTest {
	s := &engineTest{T: t, killer: newKiller(seed, 12, kills), url: os.Getenv("CONCERTO_ENGINE_SERVER"), open: map[string]bool{}, faults: map[string]int{}, keys: map[string][]string{}, answers: map[string][]string{}, retried: map[string]bool{}}
	if s.url == "" {
		ahead := time.Hour // the clocks differ
		if !pgserver.HasClock() {
			ahead = 0
		}
		s.server = pgtest.StartServerWithClock(t, ahead)
		s.url = pgtest.Make(t, s.server.URL, "killed")
	}
	judge := httptest.NewServer(s)
	t.Cleanup(judge.Close)
	s.dir = programs(t, map[string]string{"main.conc": strings.ReplaceAll(engineProgram, "URL", judge.URL), "tick.conc": `fn main() { println("tick"); }`})
	var err error
	if s.engine, err = postgres.Connect(t.Context(), s.url, time.Minute); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.engine.Close)
	if _, err := s.engine.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	pgtest.Do(t, s.url, rejecting)
	s.must("queue", "set", "limited", "--concurrency", "3", "--per-key", "1")
	s.must("schedule", "set", "tick", "--every", "1s", "--overlap", "all", "tick.conc")
	urls := []string{s.url, s.url, s.url}
	if s.server != nil { // both need the server's socket
		s.proxy = pgtest.StartProxy(t, s.url)
		urls[1] = s.proxy.URL
		if through := pgtest.Bouncer(t, s.url); through != "" {
			urls[2] = through
		}
	}
	for _, url := range urls {
		s.workers = append(s.workers, &engineWorker{url: url})
	}
	return s
}

func (s *engineTest) must(args ...string) {
	s.Helper()
	if out, err := engineCommand(s.dir, s.url, args...).CombinedOutput(); err != nil {
		s.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// work starts a worker, and another one whenever it has exited.
func (s *engineTest) work(ctx context.Context, w *engineWorker) {
	for ctx.Err() == nil {
		c := engineCommand(s.dir, w.url, "worker", "--lease", "1s", "--drain", "1s", "--crashes", "1000000", "--queue", "default,limited", "--state", "state")
		if err := c.Start(); err != nil {
			s.Error(err)
			return
		}
		w.process.Store(c.Process)
		end := context.AfterFunc(ctx, func() { _ = c.Process.Kill() })
		_ = c.Wait() // mostly it was killed
		end()
	}
}

// run submits runs until all kills have happened and all runs have ended.
func (s *engineTest) run() {
	ctx, cancel := context.WithCancel(s.Context())
	defer s.others.Wait()
	defer cancel()
	for _, w := range s.workers {
		s.others.Go(func() { s.work(ctx, w) })
	}
	for more := true; more || len(s.open) > 0; <-time.After(50 * time.Millisecond) {
		s.mu.Lock()
		more = s.left > 0
		s.mu.Unlock()
		if more && len(s.open) < 6 {
			s.submit()
		}
		if s.poll(); s.Failed() {
			s.explain()
			return
		}
	}
	s.schedule()
}

// explain logs what is in the way of the open runs.
func (s *engineTest) explain() {
	rows, err := s.engine.Rows(context.Background(), slices.Collect(maps.Keys(s.open)))
	s.Logf("seed %d, faults %v, error %v", s.seed, s.faults, err)
	for _, row := range rows {
		s.Logf("run %s: %s, epoch %d, effect %d: %s", row.ID, row.State, row.Epoch, row.Progress, row.Why)
	}
}

// submit stores 6 runs. A third of them are in a queue with limits.
func (s *engineTest) submit() {
	var batch bytes.Buffer
	for range 6 {
		s.submitted++
		id := fmt.Sprint("run", s.submitted)
		if s.submitted%3 == 0 {
			fmt.Fprintf(&batch, `{"id":%q,"queue":"limited","key":"k%d"}`+"\n", id, s.submitted/3%2)
		} else {
			fmt.Fprintf(&batch, `{"id":%q}`+"\n", id)
		}
		s.open[id] = true
	}
	if err := os.WriteFile(filepath.Join(s.dir, "batch"), batch.Bytes(), 0o600); err != nil {
		s.Fatal(err)
	}
	for { // the ids make the command repeatable
		out, err := engineCommand(s.dir, s.url, "submit", "main.conc", "--batch", "batch").CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 69 {
			if err != nil {
				s.Fatalf("submit: %v\n%s", err, out)
			}
			return
		}
	}
}

// poll checks the limits, answers questions, and checks the runs that have ended.
func (s *engineTest) poll() {
	limited, err := s.engine.List(s.Context(), postgres.Filter{Queue: "limited", States: []string{"running"}})
	rows, err2 := s.engine.Rows(s.Context(), slices.Collect(maps.Keys(s.open)))
	if err != nil || err2 != nil {
		return // the server has crashed
	}
	keys := map[string]int{}
	for _, row := range limited {
		if keys[row.Key]++; keys[row.Key] > 1 || len(limited) > 3 {
			s.Errorf("%d runs of queue limited are in progress, %d of them with the key %s", len(limited), keys[row.Key], row.Key)
		}
	}
	var all sync.WaitGroup
	for _, row := range rows {
		switch {
		case row.Exit != nil:
			delete(s.open, row.ID)
			all.Go(func() { s.check(row) })
		case row.State == "held" || row.State == "damaged":
			s.Errorf("run %s: %s: %s", row.ID, row.State, row.Why)
		default:
			all.Go(func() { s.answer(row) })
		}
	}
	all.Wait()
}

// ServeHTTP receives and records the effects of the runs.
func (s *engineTest) ServeHTTP(_ http.ResponseWriter, q *http.Request) {
	s.record.Lock()
	s.keys[q.URL.Path] = append(s.keys[q.URL.Path], q.Header.Get("Idempotency-Key"))
	s.record.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if random := s.selects(q.URL.Path); random != nil {
		kind := s.fault(random)
		s.record.Lock()
		s.faults[kind]++
		s.record.Unlock()
	}
}

// fault causes a fault and returns its kind. Kills are the most frequent.
func (s *engineTest) fault(random *rand.Rand) string {
	w := s.workers[random.IntN(len(s.workers))]
	process := w.process.Load()
	later := func(most time.Duration, do func()) {
		wait := time.Duration(random.Int64N(int64(most)))
		s.others.Go(func() {
			<-time.After(wait)
			do()
		})
	}
	switch n := random.IntN(20); {
	case n < 3 && !w.stopped.Swap(true):
		_ = process.Signal(syscall.SIGSTOP)
		later(3*engineLease, func() {
			_ = process.Signal(syscall.SIGCONT)
			w.stopped.Store(false)
		})
		return "stop"
	case n == 3:
		_ = process.Signal(syscall.SIGTERM)
		return "drain"
	case n > 3 && n < 6 && s.proxy != nil:
		s.proxy.SetPlan(faultyConnection(random))
		later(engineLease, func() { s.proxy.SetPlan(nil) })
		return "connection"
	case n == 6 && !s.rejects.Swap(true):
		wait := time.Duration(random.Int64N(int64(engineLease / 2)))
		s.others.Go(func() { // one after the other: a rejection that begins after its end would never end
			pgtest.Do(s, s.url, "INSERT INTO judge.full VALUES (true)")
			<-time.After(wait)
			pgtest.Do(s, s.url, "DELETE FROM judge.full")
			s.rejects.Store(false)
		})
		return "rejected writes"
	case n == 7 && s.server != nil && !s.rejects.Load(): // the statement that ends the rejection needs the server
		s.crashed.Store(true)
		s.others.Go(func() {
			if err := s.server.Crash(); err != nil {
				s.Error(err)
			}
		})
		return "crash of the server"
	}
	s.left--
	_ = process.Kill()
	return "kill"
}

// faultyConnection returns a plan of the proxy: responses to groups are lost, connections are cut,
// or one direction is silent.
func faultyConnection(random *rand.Rand) func(request bool, data []byte) pgtest.Action {
	kind, requests := random.IntN(3), random.IntN(2) == 0
	var n atomic.Int64
	return func(request bool, data []byte) pgtest.Action {
		switch {
		case kind == 0 && request && bytes.Contains(data, []byte("concerto.flush")) && n.Add(1)%2 == 0:
			return pgtest.CutResponse
		case kind == 1 && n.Add(1)%10 == 0:
			return pgtest.Cut
		case kind == 2 && request == requests:
			return pgtest.Swallow
		}
		return pgtest.Forward
	}
}

var requestedPost = regexp.MustCompile(`/post/[\w./-]+`)

// answer answers the open questions of a run: two users answer each question of the program at the
// same time, and the record of requests decides about unknown outcomes.
func (s *engineTest) answer(row *postgres.Row) {
	for _, q := range row.Questions {
		if q.Channel == journal.UnknownChannel {
			path, text := requestedPost.FindString(string(q.Payload)), "retry"
			s.record.Lock()
			if len(s.keys[path]) > 0 {
				text = `done:{"status":200,"headers":[],"body":""}`
			} else {
				s.retried[path] = true // also if the outcome of the answer is unknown
			}
			s.unknowns++
			s.record.Unlock()
			_ = runs.Answer(s.engine.Run(row.ID), q.ID, runs.Response{Text: text, By: "ada"}) // it is asked again otherwise
			continue
		}
		at := strings.Trim(string(q.Payload), `"`)
		var errs [2]error
		var both sync.WaitGroup
		for i := range errs {
			both.Go(func() {
				errs[i] = runs.Answer(s.engine.Run(row.ID), q.ID, runs.Response{Text: fmt.Sprint(i + 1), By: fmt.Sprint("user", i)})
			})
		}
		both.Wait()
		var stored, open []string
		for i, err := range errs {
			if _, ok := errors.AsType[*runs.Problem](err); err == nil {
				stored = append(stored, fmt.Sprint(i+1))
			} else if !ok {
				open = append(open, fmt.Sprint(i+1)) // the connection was lost
			}
		}
		s.record.Lock()
		before := s.answers[at]
		if len(stored) > 1 || len(stored) == 1 && len(before) == 1 && before[0] != stored[0] {
			s.Errorf("question %s accepts the answers %v after %v", at, stored, before)
		}
		if len(stored) == 1 {
			s.answers[at] = stored
		} else if len(before) != 1 {
			s.answers[at] = append(before, open...)
		}
		s.record.Unlock()
	}
}

// check checks a run that has ended.
func (s *engineTest) check(row *postgres.Row) {
	run, lines := s.engine.Run(row.ID), []string(nil)
	for attempt := 0; ; attempt++ {
		_, err := runs.Verify(run)
		if err == nil {
			lines, _, err = run.Out()
		}
		if err == nil {
			break
		}
		if _, damaged := errors.AsType[*journal.DamagedError](err); damaged || attempt == 1000 {
			s.Errorf("run %s: %v", row.ID, err)
			return
		}
		<-time.After(20 * time.Millisecond) // the server crashes or starts
	}
	s.record.Lock()
	defer s.record.Unlock()
	var want, got []string
	for task := range 2 {
		for i := range 4 {
			at := fmt.Sprintf("%s/%d/%d", row.ID, task, i)
			want = append(want, fmt.Sprintf("round %q", at))
			s.effects(at)
		}
		want = append(want, fmt.Sprintf(`answer "%s/%d/3`, row.ID, task))
	}
	want = append(want, "end 1")
	for i, text := range lines {
		var l storedLine
		if err := json.Unmarshal([]byte(text), &l); err != nil || l.N != i+1 {
			s.Errorf("run %s: line %d of the output is %s", row.ID, i+1, text)
		}
		line := l.Channel + " " + string(l.Payload)
		if at, value, ok := strings.Cut(strings.Trim(string(l.Payload), `"`), " "); l.Channel == "answer" && ok {
			if line = fmt.Sprintf("answer \"%s", at); !slices.Contains(s.answers[at], value) {
				s.Errorf("the program has received the answer %s at %s, stored was %q", value, at, s.answers[at])
			}
		}
		if l.Channel != "ask" {
			got = append(got, line)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if row.State != "finished" || *row.Exit != 0 || !slices.Equal(got, want) {
		s.Errorf("run %s: %s, exit %d, the output has %q, want %q", row.ID, row.State, *row.Exit, got, want)
	}
}

// effects checks the requests of one round of a task.
func (s *engineTest) effects(at string) {
	for _, kind := range []string{"read", "put", "post"} {
		path := "/" + kind + "/" + at
		switch keys := s.keys[path]; {
		case len(keys) == 0:
			s.Errorf("no request %s was received", path)
		case kind == "read" || kind == "put" && s.crashed.Load():
			// A crash of the server and of the worker may lose what was not synced. The tasks then
			// continue in another order, and their effects have other numbers.
		case keys[0] == "" || slices.ContainsFunc(keys, func(k string) bool { return k != keys[0] }) || kind == "post" && len(keys) > 1 && !s.retried[path]:
			s.Errorf("the requests %s have the keys %q (retry: %v)", path, keys, s.retried[path])
		}
	}
}

// schedule checks that each scheduled time has become one run.
func (s *engineTest) schedule() {
	s.must("schedule", "pause", "tick")
	rows, err := s.engine.Schedules(s.Context())
	if err != nil || len(rows) != 1 {
		s.Fatal(rows, err)
	}
	times := strings.Fields(pgtest.Do(s, s.url, "SELECT substr(id, 6) FROM concerto.runs WHERE schedule = 'tick' ORDER BY id"))
	if int64(len(times)) != rows[0].Fired || rows[0].Skipped != 0 {
		s.Errorf("the schedule has %d runs; %d times were fired and %d skipped", len(times), rows[0].Fired, rows[0].Skipped)
	}
	for i := 1; i < len(times); i++ {
		before, err := time.Parse("20060102T150405Z", times[i-1])
		next, err2 := time.Parse("20060102T150405Z", times[i])
		if err != nil || err2 != nil || next.Sub(before) != time.Second {
			s.Errorf("after %s the schedule has fired %s", times[i-1], times[i])
		}
	}
}
