package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/submission"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/localowner"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
)

// TestWorker tests workers of engines on one server.
func TestWorker(t *testing.T) {
	server := pgtest.Start(t)
	for i, x := range []struct {
		name string
		test func(*testing.T, *bench)
	}{
		{"end", testEnd}, {"chain", testChain}, {"park", testPark}, {"handover", testHandover}, {"takeover", testTakeover}, {"stop", testStop}, {"lost", testLost}, {"refused", testRefused},
		{"damaged", testDamaged}, {"cut", testCut}, {"lost claim", testLostClaim}, {"other output", testOtherOutput},
	} {
		t.Run(x.name, func(t *testing.T) {
			url := pgtest.Make(t, server, fmt.Sprint("worker", i))
			e := connect(t, url)
			if _, err := e.Init(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			x.test(t, &bench{t: t, engine: e, url: url, dir: t.TempDir()})
		})
	}
}

func connect(t *testing.T, url string) *postgres.Engine {
	e, err := postgres.Connect(t.Context(), url, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// bench is an engine with the workers of one test.
type bench struct {
	t      *testing.T
	engine *postgres.Engine
	url    string
	dir    string
}

// submit stores a run of a program.
func (b *bench) submit(id, source string, args ...string) {
	b.t.Helper()
	p, found, err := engine.CompileSource(driver.Request{Dir: b.dir, Inline: &driver.Inline{Name: "main.conc", Text: []byte(source)}})
	if err != nil || p == nil {
		for _, x := range found.Sorted() {
			b.t.Log(x.Message)
		}
		b.t.Fatalf("the program was not compiled: %v", err)
	}
	start, err := json.Marshal(map[string]any{"args": args})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.engine.Submit(b.t.Context(), []postgres.Submitted{{ID: id, Program: "main.conc", IR: p.Encode(), Start: start, Queue: "default"}}); err != nil {
		b.t.Fatal(err)
	}
}

// started is a worker in this process.
type started struct {
	b      *bench
	leave  context.CancelFunc // drains the worker
	kill   chan struct{}
	failed error
	ended  chan struct{}

	mu     sync.Mutex
	events []Event
	more   chan struct{} // closed and replaced for each event
}

// start starts a worker. change may change its configuration.
func (b *bench) start(change func(*Config)) *started {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &started{b: b, leave: cancel, kill: make(chan struct{}), ended: make(chan struct{}), more: make(chan struct{})}
	here := localowner.Here()
	c := Config{
		Engine: On(b.engine), Lease: time.Minute, MaxCrashes: 5, State: filepath.Join(b.dir, "state"), Dir: b.dir,
		Row: postgres.WorkerRow{Machine: here.Machine, Boot: here.Boot + here.PIDNS, PID: os.Getpid(), Version: "test", VMVersion: tape.VMVersion, Queues: []string{"default"}, Concurrency: 10},
		Options: func(_ *engine.Program, _ string, start json.RawMessage) (engine.Options, error) {
			s, err := submission.Decode(start)
			return engine.Options{Args: s.Args, Inputs: s.Inputs}, err
		},
		Log: func(e Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
			close(w.more)
			w.more = make(chan struct{})
		},
	}
	if change != nil {
		change(&c)
	}
	go func() {
		defer close(w.ended)
		w.failed = Run(ctx, w.kill, c)
	}()
	b.t.Cleanup(func() {
		cancel()
		<-w.ended
		if b.t.Failed() {
			b.t.Logf("events: %+v", w.events)
		}
	})
	return w
}

// wait waits for an event of a kind about a run and returns its text. A missing event ends the test
// with its time limit.
func (w *started) wait(kind, run string) string { return w.waitNth(1, kind, run) }

// waitTwice waits for the second such event.
func (w *started) waitTwice(kind, run string) { w.waitNth(2, kind, run) }

func (w *started) waitNth(n int, kind, run string) string {
	w.b.t.Helper()
	for {
		w.mu.Lock()
		seen, text := 0, ""
		for _, e := range w.events {
			if e.Kind == kind && e.Run == run {
				seen, text = seen+1, e.Text
			}
		}
		more := w.more
		w.mu.Unlock()
		if seen >= n {
			return text
		}
		select {
		case <-more:
		case <-w.ended:
			w.b.t.Fatalf("the worker ended before the event %s of run %s: %v %+v", kind, run, w.failed, w.events)
		}
	}
}

// want checks the state, the exit code (-1: none) and the lines of output of a run.
func (b *bench) want(run, state string, exit int, lines ...string) {
	b.t.Helper()
	got, code, err := b.engine.State(b.t.Context(), run)
	if err != nil || got != state || (code == nil) != (exit < 0) || code != nil && *code != exit {
		b.t.Errorf("state of %s = %s, exit %v, error %v; want %s, exit %d", run, got, code, err, state, exit)
	}
	out, _, err := b.engine.Run(run).Out()
	if err != nil || len(out) != len(lines) {
		b.t.Fatalf("output of %s = %q, error %v; want %q", run, out, err, lines)
	}
	for i, line := range lines {
		if !strings.Contains(out[i], line) {
			b.t.Errorf("line %d of the output of %s = %s, want one with %s", i+1, run, out[i], line)
		}
	}
}

const asks = `fn main() { println("asks"); let a = await emit<String>("approve", "drop?")?; println("answer ${a}"); }`

// testEnd executes a run that succeeds and one that fails.
func testEnd(t *testing.T, b *bench) {
	b.submit("good", `fn main() { println("hello " + std::env::args().join(" ")); }`, "a", "b")
	b.submit("bad", `fn main() { println("before"); panic("broken"); }`)
	w := b.start(func(c *Config) { c.UntilIdle = true })
	<-w.ended
	if w.failed != nil {
		t.Fatal(w.failed)
	}
	b.want("good", "finished", 0, "hello a b")
	b.want("bad", "failed", 1, "before")
	if text := w.wait(End, "bad"); !strings.Contains(text, "broken") {
		t.Errorf("end of bad = %q, want the error of the program", text)
	}
	if left, err := os.ReadDir(filepath.Join(b.dir, "state", "runs")); err != nil || len(left) > 0 {
		t.Errorf("directories of ended runs = %v, error %v; want none", left, err)
	}
}

// testChain checks that a worker which ends when it is idle executes all runs of a chain of 31.
func testChain(t *testing.T, b *bench) {
	b.submit("chain", `use std::{app, run};
struct State { n: Int = 0 }
fn main() {
    let state: State = app::inputs_as<State>()?;
    if state.n < 30 { run::continue_as_new(State { n: state.n + 1 }); }
    println("all");
}`)
	w := b.start(func(c *Config) { c.UntilIdle = true })
	<-w.ended
	if w.failed != nil {
		t.Fatal(w.failed)
	}
	b.want("chain", "continued", 0)
	b.want("chain.31", "finished", 0, "all")
}

// testPark answers the questions of a run that waits: the worker continues it at once.
func testPark(t *testing.T, b *bench) {
	b.submit("r", `fn main() { println("asks"); let a = await emit<String>("approve", "drop?")?; println("answer ${a}"); await emit<Bool>("approve", "sure?")?; }`)
	w := b.start(nil)
	w.wait(Park, "r")
	b.want("r", "waiting", -1, `"asks"`, "drop?")
	b.wantQuestions("r", journal.Question{ID: "q2", Channel: "approve", Payload: json.RawMessage(`"drop?"`), Type: "String", Schema: json.RawMessage(`{"type":"string"}`)})
	if err := b.engine.Run("r").PutAnswer("q2", journal.Answer{Value: json.RawMessage(`"yes"`), By: "ada", At: 1}); err != nil {
		t.Fatal(err)
	}
	w.waitTwice(Park, "r")
	b.wantQuestions("r", journal.Question{ID: "q4", Channel: "approve", Payload: json.RawMessage(`"sure?"`), Type: "Bool", Schema: json.RawMessage(`{"type":"boolean"}`)})
	if err := b.engine.Run("r").PutAnswer("q4", journal.Answer{Value: json.RawMessage(`true`), By: "ada", At: 1}); err != nil {
		t.Fatal(err)
	}
	w.wait(End, "r")
	b.want("r", "finished", 0, `"asks"`, "drop?", "answer yes", "sure?")
	b.wantQuestions("r")
}

// wantQuestions checks the open questions of a run, without their times.
func (b *bench) wantQuestions(run string, want ...journal.Question) {
	b.t.Helper()
	all, err := b.engine.Questions(b.t.Context(), []string{run})
	if err != nil {
		b.t.Fatal(err)
	}
	for i := range all[run] {
		if all[run][i].Since == 0 {
			b.t.Errorf("question %s has no time", all[run][i].ID)
		}
		all[run][i].Since = 0
	}
	if diff := cmp.Diff(want, all[run]); diff != "" {
		b.t.Errorf("questions of %s (-want +got):\n%s", run, diff)
	}
}

// testHandover drains a worker: another one continues its run and repeats no output.
func testHandover(t *testing.T, b *bench) {
	b.submit("r", `fn main() { println("first"); std::time::sleep(100); println("second"); std::time::sleep(3600000); }`)
	one := b.start(nil)
	one.wait(Claim, "r")
	one.leave()
	<-one.ended
	one.wait(Handover, "r")
	two := b.start(nil)
	two.wait(Claim, "r")
	two.wait(Park, "r")
	b.want("r", "waiting", -1, "first", "second")
}

// testTakeover lets the lease of a worker expire that does not respond. Another worker takes over
// its run, and what the first one writes afterwards is rejected.
func testTakeover(t *testing.T, b *bench) {
	file := filepath.Join(b.dir, "go")
	b.submit("r", `use std::fs; fn main() { println("first"); while !fs::exists("`+file+`") { std::time::sleep(10); } println("second"); }`)
	one := b.start(nil)
	one.wait(Claim, "r")
	b.expire()
	two := b.start(nil)
	if text := two.wait(Claim, "r"); !strings.Contains(text, "taken over") {
		t.Errorf("claim = %q, want a takeover", text)
	}
	one.wait(Fenced, "r")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	two.wait(End, "r")
	b.want("r", "finished", 0, "first", "second")
}

// expire lets the leases of all workers expire.
func (b *bench) expire() {
	b.t.Helper()
	pgtest.Do(b.t, b.url, "UPDATE concerto.workers SET lease_until = clock_timestamp()")
}

// testStop stops a run in progress, one that waits, and one that no worker has begun.
func testStop(t *testing.T, b *bench) {
	b.submit("busy", `fn main() { println("busy"); loop { std::time::sleep(10); } }`)
	b.submit("asks", asks)
	w := b.start(nil)
	w.wait(Claim, "busy")
	w.wait(Park, "asks")
	for _, id := range []string{"busy", "asks"} {
		if err := b.engine.Run(id).RequestStop(); err != nil {
			t.Fatal(err)
		}
		w.wait(End, id)
	}
	w.leave()
	<-w.ended
	b.want("asks", "failed", 1, `"asks"`, "drop?")
	b.submit("new", asks)
	if err := b.engine.Run("new").RequestStop(); err != nil {
		t.Fatal(err)
	}
	again := b.start(nil)
	again.wait(End, "new")
	b.want("new", "failed", 1)
}

// testLost lets a lease expire while no other worker is online: the worker registers again and
// continues its own run.
func testLost(t *testing.T, b *bench) {
	file := filepath.Join(b.dir, "go")
	b.submit("r", `use std::fs; fn main() { println("first"); while !fs::exists("`+file+`") { std::time::sleep(10); } }`)
	w := b.start(func(c *Config) { c.Lease, c.MaxCrashes = 3*time.Second, 1 }) // a lost lease is no crash
	w.wait(Claim, "r")
	b.expire()
	w.wait(Lost, "")
	w.wait(Rejoined, "")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.wait(End, "r")
	b.want("r", "finished", 0, "first")
	w.leave()
	<-w.ended
	if out := pgtest.Do(t, b.url, "SELECT id FROM concerto.workers"); out != "" {
		t.Errorf("workers after the last one has ended: %s", out)
	}
}

// TestParkAfter checks that a full worker releases waiting runs earlier.
func TestParkAfter(t *testing.T) {
	w := worker{Config: Config{Row: postgres.WorkerRow{Concurrency: 2}}, live: map[string]int64{"a": 1}}
	if got := w.parkAfter(); got != durable.ParkAfter {
		t.Errorf("with a free place: %v, want %v", got, durable.ParkAfter)
	}
	w.live["b"] = 1
	if got := w.parkAfter(); got != parkWhenFull {
		t.Errorf("without a free place: %v, want %v", got, parkWhenFull)
	}
}

// testRefused submits a program that this version of the VM does not know: the run stays ready with
// the reason, and the worker does not claim it again.
func testRefused(t *testing.T, b *bench) {
	if _, err := b.engine.Submit(t.Context(), []postgres.Submitted{{ID: "r", Program: "main.conc", IR: []byte(`{"version":"99.0"}`), Start: json.RawMessage("{}"), Queue: "default"}}); err != nil {
		t.Fatal(err)
	}
	b.submit("next", `fn main() { println("next"); }`)
	w := b.start(func(c *Config) { c.UntilIdle = true })
	<-w.ended
	if text := w.wait(Refused, "r"); !strings.Contains(text, "99") {
		t.Errorf("reason = %q, want the version", text)
	}
	b.want("r", "ready", -1)
	b.want("next", "finished", 0, "next")
}

// testDamaged changes a record by hand: the run becomes damaged, and others continue.
func testDamaged(t *testing.T, b *bench) {
	b.submit("r", asks)
	w := b.start(nil)
	w.wait(Park, "r")
	pgtest.Do(t, b.url, "UPDATE concerto.journal SET line = replace(line, 'approve', 'approvf')")
	if err := b.engine.Run("r").PutAnswer("q2", journal.Answer{Value: json.RawMessage(`"yes"`), By: "ada", At: 1}); err != nil {
		t.Fatal(err)
	}
	if text := w.wait(Refused, "r"); !strings.Contains(text, "record") {
		t.Errorf("reason = %q, want the record", text)
	}
	b.submit("next", `fn main() { println("next"); }`)
	w.wait(End, "next")
	b.want("r", "damaged", -1, `"asks"`, "drop?")
}

// testCut cuts all connections to the database again and again while a run works: its output and
// its end are stored once.
func testCut(t *testing.T, b *bench) {
	const lines = 300
	b.submit("r", fmt.Sprintf(`use std::fs; fn main() { let mut i = 0; while i < %d { i += 1; fs::write_file("n", "${i}")?; println("line ${i}."); } let a = await emit<String>("ask", nil)?; println(a); }`, lines))
	w := b.start(nil)
	w.wait(Claim, "r")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.wait(Park, "r")
	}()
	for range 20 {
		b.cut()
	}
	<-ended
	e, err := postgres.Connect(t.Context(), b.url, 0) // the connections of the other one may have been cut
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	b.engine = e
	if err := e.Run("r").PutAnswer(fmt.Sprint("q", 2*lines+1), journal.Answer{Value: json.RawMessage(`"done"`), By: "ada", At: 1}); err != nil {
		t.Fatal(err)
	}
	w.wait(End, "r")
	want := make([]string, 0, lines)
	for i := range lines {
		want = append(want, fmt.Sprintf("line %d.", i+1))
	}
	b.want("r", "finished", 0, append(want, `"ask"`, "done")...)
}

// testLostClaim loses the response to a claim: the worker executes the run that the engine has
// assigned to it.
func testLostClaim(t *testing.T, b *bench) {
	b.submit("r", `fn main() { println("hello"); }`)
	p := pgtest.StartProxy(t, b.url)
	var claims atomic.Int64
	p.SetPlan(func(request bool, data []byte) pgtest.Action {
		if request && bytes.Contains(data, []byte("concerto.claim(")) && claims.Add(1) == 1 {
			return pgtest.CutResponse
		}
		return pgtest.Forward
	})
	through, err := postgres.Connect(t.Context(), p.URL, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(through.Close)
	w := b.start(func(c *Config) { c.Engine, c.UntilIdle = On(through), true })
	<-w.ended
	if w.failed != nil || claims.Load() < 2 {
		t.Fatalf("the worker has claimed %d times, error %v; want a claim after the lost one", claims.Load(), w.failed)
	}
	b.want("r", "finished", 0, "hello")
}

// testOtherOutput changes a line of output by hand, so that the replay of the run differs. Another
// worker does not receive the run before the first one has marked it as damaged.
func testOtherOutput(t *testing.T, b *bench) {
	b.submit("r", asks)
	p := pgtest.StartProxy(t, b.url)
	through, err := postgres.Connect(t.Context(), p.URL, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(through.Close)
	w := b.start(func(c *Config) { c.Engine = On(through) })
	w.wait(Park, "r")
	reached, continues := make(chan struct{}), make(chan struct{})
	var once sync.Once
	p.SetPlan(func(request bool, data []byte) pgtest.Action {
		if request && bytes.Contains(data, []byte("SELECT state, exit")) { // the run's execution has ended
			once.Do(func() {
				close(reached)
				<-continues
			})
		}
		return pgtest.Forward
	})
	pgtest.Do(t, b.url, "UPDATE concerto.output SET line = replace(line, 'asks', 'other')")
	if err := b.engine.Run("r").PutAnswer("q2", journal.Answer{Value: json.RawMessage(`"yes"`), By: "ada", At: 1}); err != nil {
		t.Fatal(err)
	}
	<-reached
	other := b.start(func(c *Config) { c.UntilIdle = true })
	<-other.ended
	for _, e := range other.events {
		if e.Run == "r" {
			t.Errorf("another worker has received the run: %+v", e)
		}
	}
	close(continues)
	w.wait(Refused, "r")
	w.leave()
	<-w.ended
	if state, _, err := b.engine.State(t.Context(), "r"); state != "damaged" || err != nil {
		t.Errorf("state %s, error %v; want damaged", state, err)
	}
}

// cut ends all connections to the database.
func (b *bench) cut() {
	b.t.Helper()
	pgtest.Do(b.t, b.url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
}
