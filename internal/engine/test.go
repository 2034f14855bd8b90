package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/telemetry"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/ir"
	world "github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/mock"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/permit"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// Test is an @test function of a program that was compiled with its tests (spec/16-tests.md).
type Test struct {
	Name     string // description of the test, or the name of the function
	Group    string // part of the name before the last `::`, or ""
	Function string
	File     string
	Line     int // line of the function, from 1

	test *ir.Test
}

// TestOptions configures how tests are run.
type TestOptions struct {
	// Select returns whether to run a test; nil selects all tests.
	Select func(Test) bool
	// Parallel is the number of tests that run at the same time. 0 means the number of processors.
	Parallel int
	// Live lets tests use the models, hosts and network in real time, unless they mock them.
	Live bool
	// Record selects the effects that are performed and recorded on the tapes of the tests. ""
	// selects none, "missing" the effects that the tape does not contain, and "all" every effect.
	Record string
	// Environ contains the environment variables of the tests as "NAME=value".
	Environ []string
	// Executable has the meaning of Options.Executable.
	Executable string
	// WorkDir is the directory to which the tests' paths are relative; "" means the working
	// directory of the process.
	WorkDir string
	// Allow restricts the tests like Options.Allow.
	Allow permit.Grants
	// Log receives the log of the hosts in a live run, from level LogLevel; nil means no log.
	Log      io.Writer
	LogLevel string
	// Seed is the seed of each test's random numbers. In a live run, each test has a random seed.
	Seed int64
	// Limit limits the duration of one test. 0 means the manifest's limit, or DefaultTestLimit if
	// there is none; tests of a live run then have no limit. A negative value means no limit.
	Limit time.Duration
	// Cover records which lines and handlers the tests reach.
	Cover bool
	// Tools are the application's tools. A test may call tools that are functions of programs, and
	// must mock the others. In a live run a test may call all of them.
	Tools *tool.Registry
	// Wire receives each line between the tests and their hosts, like Records.Wire. The processes
	// of all tests have distinct numbers.
	Wire io.Writer
	// Audit records every tool call, like Records.Audit. nil means the log that the program's
	// manifest names, if there is one.
	Audit *audit.Log
	// Kill, when it is closed, stops everything for which a cancelled live run still waits.
	Kill <-chan struct{}
	// Debugger is like Records.Debugger. The tests then run one at a time.
	Debugger vm.Debugger
	// Telemetry exports each test as a run, like Records.Telemetry.
	Telemetry *telemetry.Telemetry
	// Sinks, if not nil, returns what receives the events of a test. Calls may be concurrent.
	Sinks func(Test) []event.Sink
	// OnResult, if not nil, is called with each result, in the order of the program's tests. Calls
	// are never concurrent.
	OnResult func(TestResult)
	// OnEvent, if not nil, is called with nil when a test starts, and with the result when the test
	// has ended. Calls are never concurrent.
	OnEvent func(Test, *TestResult)
}

// DefaultTestLimit is the time limit of a test if neither the options nor the manifest set one.
const DefaultTestLimit = time.Minute

// TestResult is the result of a test. Failure is nil if the test has passed.
type TestResult struct {
	Test
	Failure *TestFailure
	Took    time.Duration
	// Record contains what the test emitted, printed and logged.
	Record mock.Record
	// Seed is the seed of the test's random numbers. It is nil if the test used none, and in a live
	// run.
	Seed *int64
	// Tape is the path of the tape of a test that has passed with a tape. Unused lists the kinds of
	// recorded effects that the test did not perform, and UnusedEntries is their number.
	Tape          string
	Unused        []string
	UnusedEntries int
}

// TestFailure is the reason why a test failed. Place and Trace are empty if the failure has no
// position in the program.
type TestFailure struct {
	Kind    string // error type or "panic"; "" if the failure is not an error of the program
	Message string
	Diff    string // line difference of an assert_eq (stdlib.AssertionDiff)
	Place   vm.Place
	Trace   []vm.Place
}

// Tests returns the tests of a program that was compiled with its tests, in the order of its files
// and of the functions in a file.
func (p *Program) Tests() []Test {
	var out []Test
	for i := range p.ir.Tests {
		t := &p.ir.Tests[i]
		f := &p.ir.Functions[t.Function]
		x := Test{Name: t.Name, Function: f.Name, Line: f.Line, test: t}
		if f.File >= 0 && f.File < len(p.ir.Files) {
			x.File = p.ir.Files[f.File].Name
		}
		if i := strings.LastIndex(t.Name, "::"); i > 0 {
			x.Group = strings.TrimSpace(t.Name[:i])
		}
		out = append(out, x)
	}
	return out
}

// RunTests runs each test in a new VM and environment. It returns the results in the order of Tests
// and, if o.Cover is set, the reached points. The error is the cause of ctx's end, or the reason
// why tests could not be run. With an error, the results are those of the tests that have already
// ended.
func (p *Program) RunTests(ctx context.Context, o TestOptions) (results []TestResult, points []vm.Point, err error) {
	of := Options{Environ: o.Environ, Executable: o.Executable, WorkDir: o.WorkDir, Log: o.Log, LogLevel: o.LogLevel, Allow: o.Allow, Records: Records{Audit: o.Audit}}
	log, release, err := p.openSharedAudit(&of)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = joined(err, release()) }()
	of.Records.Audit = log
	config, err := p.runtimeConfig(&of)
	if err != nil {
		return nil, nil, err
	}
	config.Audit = log
	config.Stores.InMemory = true // also in a live run, so that tests do not change the project's stores
	if !o.Live {
		config.Seed = &o.Seed // makes the random numbers the same in every run
	}
	config.Test, config.Reach = !o.Live, o.Record != recordNothing
	of.Tools = o.Tools
	if !o.reaches() {
		of = hermetic(of)
	}
	r := &testRun{program: p, options: o, of: of, config: config, tests: p.Tests(), hosts: map[string]mock.Host{}, wire: p.recordWire(o.Wire)}
	for _, h := range config.Hosts {
		r.hosts[h.Name] = mock.Host{Timeout: h.Timeout, Instances: h.Instances, Recorded: h.Recorded()}
	}
	if o.Select != nil {
		var chosen []Test
		for _, t := range r.tests {
			if o.Select(t) {
				chosen = append(chosen, t)
			}
		}
		r.tests = chosen
	}
	err = r.runTest(ctx)
	return r.finished(), mergePoints(r.points), firstError(err, wireError(r.wire))
}

// testRun is one call of RunTests.
type testRun struct {
	program *Program
	options TestOptions
	of      Options // options for the application's tools
	config  world.Config
	tests   []Test
	hosts   map[string]mock.Host
	wire    *hosttrace.Writer // nil if TestOptions.Wire is nil

	mu       sync.Mutex
	next     int           // index of the next test to start
	results  []*TestResult // by index of the test; nil if the test has not ended
	reported int           // number of results that were passed to OnResult
	points   [][]vm.Point  // reached points by worker
	err      error
}

func (r *testRun) runTest(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := r.options.Parallel
	if r.options.Debugger != nil {
		n = 1
	} else if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	r.results = make([]*TestResult, len(r.tests))
	var workers sync.WaitGroup
	for range max(min(n, len(r.tests)), 1) {
		workers.Go(func() {
			if err := r.work(ctx); err != nil {
				r.mu.Lock()
				if r.err == nil {
					r.err = err
				}
				r.mu.Unlock()
				cancel()
			}
		})
	}
	workers.Wait()
	return r.err
}

// work runs tests until all are started. Each worker loads the program once.
func (r *testRun) work(ctx context.Context) error {
	image, err := vm.New(vm.Config{Program: r.program.ir, Natives: stdlib.Native, Count: vm.Counting{Points: r.options.Cover}, Observer: &watch{debugger: r.options.Debugger}})
	if err != nil {
		return fmt.Errorf("could not load the program: %w", err)
	}
	for {
		r.mu.Lock()
		i := r.next
		r.next++
		r.mu.Unlock()
		if i >= len(r.tests) {
			break
		}
		r.event(r.tests[i], nil)
		result, err := r.one(ctx, image, r.tests[i])
		if err != nil {
			return err
		}
		r.done(i, result)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.points = append(r.points, image.Covered())
	return nil
}

// event calls OnEvent.
func (r *testRun) event(t Test, result *TestResult) {
	if r.options.OnEvent != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.options.OnEvent(t, result)
	}
}

// done stores a result. It passes the results whose predecessors have all ended to OnResult.
func (r *testRun) done(i int, result *TestResult) {
	r.event(r.tests[i], result)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results[i] = result
	for r.reported < len(r.results) && r.results[r.reported] != nil {
		if r.options.OnResult != nil {
			r.options.OnResult(*r.results[r.reported])
		}
		r.reported++
	}
}

// finished returns the results of the tests that have ended.
func (r *testRun) finished() []TestResult {
	var out []TestResult
	for _, x := range r.results {
		if x != nil {
			out = append(out, *x)
		}
	}
	return out
}

// one runs a test. An error stops all tests; it is not a failure of the test.
func (r *testRun) one(ctx context.Context, image *vm.VM, t Test) (*TestResult, error) {
	began := time.Now()
	config := r.config
	if r.wire != nil {
		config.Listeners.Wire = r.wire.Part()
	}
	held, err := r.tape(t)
	if err != nil {
		return &TestResult{Test: t, Failure: failureOf(err)}, nil
	}
	scene := mock.New(mock.Options{Live: r.options.Live, Hosts: r.hosts, Seed: r.options.Seed, Tape: held})
	config.Layers = append([]effect.Layer{scene.Layer}, config.Layers...)
	if !r.options.Live {
		config.Stores.Now = scene.Now
	}
	config.Session.ID = held.runID(config.Session.ID)
	// A test that was killed has left a tape with its ID. Its guardian may still be killing hosts.
	config.Process = procgroup.NewID()
	shown := Options{Records: Records{Telemetry: r.options.Telemetry}}
	if r.options.Sinks != nil {
		shown.Records.Sinks = r.options.Sinks(t)
	}
	follow := shown.newSinks(&config)
	outside := world.New(config)
	held.setTape(outside)
	follow.begin(outside, r.program.ir.Name, nil)
	choose := scene.Choose
	if r.options.Live {
		choose = nil
	}
	machine, err := image.Fresh(func(c *vm.Config) {
		c.Performer, c.Choose, c.Observer = outside, choose, &watch{activity: follow.taskActivity(), decisions: follow.decisions(nil), debugger: r.options.Debugger}
	})
	if err != nil {
		return nil, fmt.Errorf("could not load the program: %w", err)
	}
	endTools, err := r.program.testTools(ctx, outside, &r.of)
	if err != nil {
		return nil, firstError(err, firstError(outside.Close(ctx), endTools()))
	}
	machine.SetApplication(vm.Application{Run: outside.ID(), Tools: outside.HasTools(), Audited: config.Audit != nil})
	follow.follow(machine)
	bounded, cancel := budget.Run(ctx, outside.Clock(), r.program.ir.Limits.MaxRunSeconds)
	bounded, done := r.bound(bounded)
	outcome, err := machine.Call(follow.context(bounded), t.test.Function)
	done()
	cancel()
	late := r.lateFailure(bounded, machine, err)
	if closing := firstError(r.closeTest(ctx, outside), endTools()); err == nil {
		err = closing
	}
	if err := follow.end(err); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	failure := failureOf(cleanError(outside, err))
	if err == nil {
		failure = leftOver(outcome, scene)
	}
	if failure = expected(t.test, failure); late != nil {
		failure = late
	}
	result := &TestResult{Test: t, Failure: failure, Took: time.Since(began), Record: scene.Record()}
	if err := held.storeRecording(result); err != nil {
		return nil, err
	}
	if result.Record.Drew && !r.options.Live {
		result.Seed = &r.options.Seed
	}
	return result, nil
}

// testTools opens a session of the application's tools for a test, if the test may use any.
func (p *Program) testTools(ctx context.Context, world *world.Runtime, o *Options) (end func() error, err error) {
	of := *o
	if of.Tools == nil && p.asksFor(effect.KindAppMock) {
		of.Tools = &tool.Registry{}
	}
	return p.openTools(ctx, world, &of)
}

// hermetic returns the options for programs that implement tools in tests. Such programs have no
// models, hosts, network or commands.
func hermetic(o Options) Options {
	o.Models.Mock = true
	allow := maps.Clone(o.Allow.Allow)
	if allow == nil {
		allow = map[permit.Kind]permit.List{}
	}
	for _, k := range []permit.Kind{permit.Net, permit.Run, permit.Host} {
		allow[k] = permit.List{}
	}
	o.Allow.Allow = allow
	return o
}

// errLate is the cause of the end of a test's context after its time limit.
var errLate = errors.New("the test timed out")

// limit returns the time limit of a test; 0 means no limit.
func (r *testRun) limit() time.Duration {
	seconds := r.program.ir.Limits.MaxTestSeconds
	switch {
	case r.options.Limit != 0:
		return max(r.options.Limit, 0)
	case r.options.reaches():
		return 0
	case seconds > 0:
		return time.Duration(seconds * float64(time.Second))
	}
	return time.Minute
}

func (r *testRun) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if d := r.limit(); d > 0 {
		return context.WithTimeoutCause(ctx, d, errLate)
	}
	return ctx, func() {}
}

// lateFailure returns the failure of a test that has exceeded its time limit, or nil.
func (r *testRun) lateFailure(ctx context.Context, machine *vm.VM, err error) *TestFailure {
	if err == nil || !errors.Is(context.Cause(ctx), errLate) {
		return nil
	}
	f := &TestFailure{Message: fmt.Sprintf("the test ran longer than %s and was stopped: a loop may not end, or it needs more time (--timeout, or [limits] max_test_seconds)", effect.Seconds(r.limit().Seconds()))}
	if at := machine.CutAt(); at != nil {
		f.Place, f.Trace = at.Place, at.Trace
	}
	return f
}

// leftOver returns a failure if a test has passed without finishing: it left tasks that it did not
// await, or did not use its whole script.
func leftOver(o *vm.Outcome, scene *mock.World) *TestFailure {
	left := scene.Leftovers()
	for _, p := range o.Unfinished {
		left = append(left, fmt.Sprintf("a task of `%s` (%s:%d) was still running when the test returned: await or cancel it", p.Function, p.File, p.Line))
	}
	if len(left) == 0 {
		return nil
	}
	return &TestFailure{Message: strings.Join(left, "\n")}
}

// closeTest closes the runtime of a test and what the test has started.
func (r *testRun) closeTest(ctx context.Context, outside *world.Runtime) error {
	if !r.options.reaches() {
		return closeRuntime(ctx, outside, nil)
	}
	return closeRuntime(ctx, outside, r.options.Kill)
}

// closeRuntime closes a runtime and what it has started. It does not wait for processes after kill
// was closed; kill may be nil.
func closeRuntime(ctx context.Context, outside *world.Runtime, kill <-chan struct{}) error {
	closing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	if kill != nil {
		ended := make(chan struct{})
		defer close(ended)
		go func() {
			select {
			case <-kill:
				stop()
				outside.Kill()
			case <-ended:
			}
		}()
	}
	return outside.Close(closing)
}

// failureOf converts the error of a run to the failure of a test. It returns nil for nil.
func failureOf(err error) *TestFailure {
	var uncaught *vm.Uncaught
	var stopped *vm.Stopped
	switch {
	case err == nil:
		return nil
	case errors.As(err, &uncaught):
		f := &TestFailure{Kind: uncaught.Kind, Message: uncaught.Message, Diff: stdlib.AssertionDiff(uncaught.Message), Place: uncaught.Place, Trace: uncaught.Trace}
		if uncaught.Panic {
			f.Kind = "panic"
		}
		for _, other := range uncaught.Others {
			f.Message += fmt.Sprintf("\nin a task that was not awaited (%s:%d): %s: %s", other.File, other.Line, other.Kind, other.Message)
		}
		return f
	case errors.As(err, &stopped):
		return &TestFailure{Message: stopped.Error(), Place: stopped.Place, Trace: stopped.Trace}
	}
	return &TestFailure{Message: err.Error()}
}

// expected inverts the result of a test that should fail.
func expected(t *ir.Test, f *TestFailure) *TestFailure {
	switch {
	case !t.ExpectFail:
		return f
	case f == nil && t.Expect == "":
		return &TestFailure{Message: "the test passed, but was expected to fail"}
	case f == nil:
		return &TestFailure{Message: fmt.Sprintf("the test passed, but was expected to fail with %q", t.Expect)}
	case !strings.Contains(f.Message, t.Expect):
		other := *f
		other.Kind = ""
		other.Message = fmt.Sprintf("the test was expected to fail with %q, but failed with: %s", t.Expect, f.Message)
		return &other
	}
	return nil
}

// mergePoints adds up the points that the workers have reached.
func mergePoints(all [][]vm.Point) []vm.Point {
	if len(all) == 0 {
		return nil
	}
	merged := append([]vm.Point(nil), all[0]...)
	for _, points := range all[1:] {
		for i, p := range points { // all workers have loaded the same program, so their points have the same order
			merged[i].Hit = merged[i].Hit || p.Hit
		}
	}
	return merged
}

// Text returns the text of a source file of the program, or "". Results and points contain the
// file's name.
func (p *Program) Text(file string) string {
	for _, f := range p.ir.Files {
		if f.Name == file {
			return f.Text
		}
	}
	return ""
}
