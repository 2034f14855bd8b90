package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/localowner"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/internal/sim/simdisk"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/sqlitestore"
)

// The tests of this file run durable programs in virtual time on a simulated disk, and crash them
// at every point. The records of the world outside, such as those of a server, decide whether a
// schedule is right, and not the journal of the run.

// simProcess is a process. After a crash, no call of it has an effect.
type simProcess struct {
	dead atomic.Bool
	view *simdisk.View
}

func (p *simProcess) IsDead() bool { return p.dead.Load() }
func (p *simProcess) Crash()       { p.dead.Store(true) }

// schedule is a run of a program in which one process dies.
type schedule struct {
	program *Program
	work    string
	sync    string
	how     simdisk.Outcome
	at      int // operation of the disk, or effect, at which a process dies; 0 for none
	effects bool
	next    int           // number of operations after which the next process dies, too; 0 for none
	failure syscall.Errno // the error of `fails` operations from operation `at`; 0 for none
	fails   int
}

func (s *schedule) String() string {
	if s.failure != 0 {
		return fmt.Sprintf("%v at %d operations from %d", s.failure, s.fails, s.at)
	}
	what := "operation"
	if s.effects {
		what = "effect"
	}
	if s.next > 0 {
		return fmt.Sprintf("%s at %s %d, and again after %d", s.how, what, s.at, s.next)
	}
	return fmt.Sprintf("%s at %s %d", s.how, what, s.at)
}

// simWorld is what is outside of the processes of a run. Its records are the judge's.
type simWorld struct {
	schedule *schedule
	disk     *simdisk.Disk
	dir      string

	mu       sync.Mutex
	requests map[string][]string // idempotency keys of the received requests, by method and path
	answers  map[string]int      // acknowledged answers, by question
	effects  int
	problems []string

	retries int // decisions that an effect of unknown outcome is performed again
}

func (w *simWorld) fail(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// ServeHTTP answers requests. No two answers to requests that change something are equal.
func (w *simWorld) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := r.Method + " " + r.URL.Path
	w.requests[name] = append(w.requests[name], r.Header.Get("Idempotency-Key"))
	rw.Header()["Date"] = nil
	if r.Method == http.MethodGet {
		fmt.Fprint(rw, name)
	} else {
		fmt.Fprintf(rw, "%s, number %d", name, len(w.requests[name]))
	}
}

// tool returns a tool whose results differ.
func (w *simWorld) tool() tool.Definition {
	d := tool.New("order", "Orders an item", func(context.Context, struct {
		SKU string `json:"sku"`
	}) (string, error) {
		return "", nil
	})
	d.Handler = func(_ context.Context, input json.RawMessage, c *tool.Context) (tool.Result, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		name := "POST tool " + string(input)
		w.requests[name] = append(w.requests[name], c.CallID)
		return tool.Success(fmt.Sprintf("ordered, number %d", len(w.requests[name])))
	}
	return d
}

// layer crashes a process at an effect.
func (w *simWorld) layer(p *simProcess) effect.Layer {
	return func(next effect.Performer) effect.Performer { return &simEffects{next, w, p} }
}

type simEffects struct {
	effect.Performer
	world   *simWorld
	process *simProcess
}

// reaches counts an effect and reports whether the process dies at it.
func (x *simEffects) reaches() bool {
	x.world.mu.Lock()
	defer x.world.mu.Unlock()
	x.world.effects++
	return x.world.schedule.effects && x.world.effects == x.world.schedule.at
}

func (x *simEffects) Perform(ctx context.Context, q effect.Request) (effect.Result, error) {
	dies := x.reaches()
	if dies && x.world.schedule.how == simdisk.CrashBefore {
		x.process.Crash()
	}
	if x.process.IsDead() {
		return nil, simdisk.ErrDead
	}
	r, err := x.Performer.Perform(ctx, q)
	if dies {
		x.process.Crash()
	}
	if x.process.IsDead() {
		return nil, simdisk.ErrDead
	}
	return r, err
}

func (x *simEffects) Start(ctx context.Context, q effect.Request, done func(effect.Result, error)) (func(), bool) {
	s, ok := x.Performer.(effect.Starter)
	if !ok {
		return nil, false
	}
	return s.Start(ctx, q, func(r effect.Result, err error) {
		if x.process.IsDead() {
			r, err = nil, simdisk.ErrDead
		}
		done(r, err)
	})
}

// options returns the options of a process of the run.
func (w *simWorld) options(p *simProcess) Options {
	seed := int64(7)
	seams := &Seams{Owner: localowner.Here(), Layer: w.layer(p), Disk: p.view.At, VFS: p.view.VFS()}
	o := Options{Environ: []string{"COLOUR=red", "SERVER=http://sim"}, WorkDir: w.schedule.work, Dir: w.schedule.work, own: own{seed: &seed, seams: seams}, Models: Models{Mock: true},
		Records: Records{Durable: &Durable{Dir: w.dir, Park: true, Sync: w.schedule.sync, Remark: func(string) {}}},
		OnEmit:  func(string, json.RawMessage) {},
		OnAwait: func(_ context.Context, channel string, _ json.RawMessage) (json.RawMessage, error) {
			if channel == "here" && !p.IsDead() {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.answers[channel]++
				return jsonwrite.MustEncode(fmt.Sprint("blue ", w.answers[channel])), nil
			}
			return nil, tool.ErrNoApprover
		}}
	o.Tools = new(tool.Registry)
	if err := o.Tools.Register(w.tool()); err != nil {
		w.fail("the tool cannot be registered: %v", err)
	}
	o.Session.SessionID = "r_same"
	return o
}

// process lets a new process use the run.
func (w *simWorld) process() (*simProcess, journal.Run) {
	p := new(simProcess)
	p.view = w.disk.View(p)
	run := rundir.On(p.view.At, w.dir)
	sharedRuns.Store(w.dir, run)
	return p, run
}

// answer answers a question as a person who writes another text each time.
func (w *simWorld) answer(q journal.Question) {
	p, run := w.process()
	no := "no"
	a := journal.Answer{Value: jsonwrite.MustEncode(fmt.Sprintf("to %s, answer %d", q.ID, w.answers[q.ID]+1)), By: "Ada", At: time.Now().UnixMilli()}
	switch q.Channel {
	case "refuse":
		a = journal.Answer{Refuse: &no, By: "Bob", At: time.Now().UnixMilli()}
	case journal.UnknownChannel:
		a = journal.Answer{Value: json.RawMessage(`"retry"`), By: "Ada", At: time.Now().UnixMilli()}
	}
	switch err := run.PutAnswer(q.ID, a); {
	case p.IsDead():
	case errors.As(err, new(*journal.AnsweredError)):
	case w.isFailure(err): // the person answers again
	case err != nil:
		w.fail("J17: the answer to %s cannot be stored: %v", q.ID, err)
	default:
		if w.answers[q.ID]++; w.answers[q.ID] > 1 {
			w.fail("J5: %s is asked again after an answer was acknowledged", q.ID)
		}
		if q.Channel == journal.UnknownChannel {
			w.retries++
		}
		a.By, a.Value, a.Refuse = "Eve", json.RawMessage(`"another answer"`), nil
		if err := run.PutAnswer(q.ID, a); err == nil {
			w.fail("J5: a second answer to %s is accepted", q.ID)
		}
	}
}

// maxStarts is the number of processes after which a run must have ended.
const maxStarts = 40

// run starts processes until the run has ended, and returns its output and its error.
func (w *simWorld) run(ctx context.Context) ([]string, error) {
	for range maxStarts {
		p, run := w.process()
		stored, err := OpenRun(w.dir)
		switch {
		case errors.Is(err, journal.ErrNoRun):
			err = w.schedule.program.Run(ctx, w.options(p))
		case err != nil && !p.IsDead() && !w.isFailure(err):
			return nil, fmt.Errorf("J17: a new process cannot open the run: %w", err)
		case err == nil:
			if _, ended := stored.Finished(); !ended {
				err = stored.Resume(ctx, w.options(p))
			}
		}
		if p.IsDead() || w.isFailure(err) {
			continue
		}
		if s, ok := errors.AsType[*Suspended](err); ok && s.Why == nil {
			for _, q := range s.Waiting {
				w.answer(journal.Question{ID: q.ID, Channel: q.Channel})
			}
			if len(s.Waiting) == 0 {
				if err := awaitTimer(run); err != nil {
					return nil, err
				}
			}
			continue
		}
		if h, herr := run.Read(); herr != nil || h.Last().RecordKind != journal.KFinish {
			if w.schedule.failure != 0 {
				continue // the end could not be stored: the run is resumed
			}
			return nil, errors.Join(err, herr, errors.New("the end of the run is not stored"))
		}
		out, _, outErr := run.Out()
		if left, answersErr := run.Answers(); len(left) > 0 || answersErr != nil {
			w.fail("J12: the ended run has the answers %v, error %v", slices.Sorted(maps.Keys(left)), answersErr)
		}
		return out, errors.Join(err, outErr)
	}
	return nil, fmt.Errorf("J16: the run has not ended after %d processes", maxStarts)
}

// isFailure reports whether an error is that of the schedule's disk.
func (w *simWorld) isFailure(err error) bool {
	return w.schedule.failure != 0 && errors.Is(err, w.schedule.failure)
}

// awaitTimer sleeps until the first timer of a parked run expires.
func awaitTimer(run journal.Run) error {
	h, err := run.Read()
	if err != nil {
		return err
	}
	due := slices.MinFunc(h.Last().Waits, func(a, b journal.Wait) int { return cmp.Compare(a.Due, b.Due) }).Due
	time.Sleep(time.Until(time.UnixMilli(due)))
	return nil
}

// numberOfRequest matches the number of a request that the server has answered.
var numberOfRequest = regexp.MustCompile(`, number \d+`)

// numberOfAnswer matches the number of an answer of the run's own process, which asks again after a
// crash.
var numberOfAnswer = regexp.MustCompile(`blue \d+`)

// simResult is what a schedule shows to the outside.
type simResult struct {
	out        []string
	died       string // the operation of the disk at which a process has died; "" for none
	operations int
	effects    int
	took       time.Duration // virtual time until the end of the run
	decisions  []string      // of the ledger, sorted
	stores     string        // content of the stores
	refused    bool          // the program received an error of the disk, and its result may differ
	problems   []string
}

// play runs a schedule in a bubble.
func (s *schedule) play(t *testing.T, base string) (r simResult) {
	t.Helper()
	dir := filepath.Join(base, "job")
	scratch := filepath.Join(base, "scratch")
	if err := errors.Join(os.RemoveAll(s.work), os.MkdirAll(s.work, 0o700), os.MkdirAll(scratch, 0o700)); err != nil {
		t.Fatal(err)
	}
	transport := http.DefaultTransport
	defer func() { http.DefaultTransport = transport }()
	synctest.Test(t, func(t *testing.T) {
		o := simdisk.Options{Scratch: scratch, Seed: uint64(s.at)}
		if s.failure != 0 {
			o.Failure = simdisk.Failure{From: s.at, For: s.fails, Err: s.failure}
		} else if !s.effects {
			o.Faults = []simdisk.Fault{{At: s.at, Outcome: s.how}}
			if s.next > 0 {
				o.Faults = append(o.Faults, simdisk.Fault{At: s.at + s.next, Outcome: s.how})
			}
		}
		w := &simWorld{schedule: s, disk: simdisk.New(o), dir: dir, requests: map[string][]string{}, answers: map[string]int{}}
		defer w.disk.Close()
		w.disk.MkdirAll(base)
		w.disk.MkdirAll(s.work)
		closeServer, began := w.serve(), time.Now()
		out, err := w.run(t.Context())
		took := time.Since(began)
		closeServer()
		refused := err != nil && isRefused.MatchString(err.Error())
		if err != nil && (!refused || s.failure == 0) {
			w.fail("the run ended with the error %v", err)
		}
		w.judgeRequests()
		operations := len(w.disk.Operations())
		w.disk.StopFaults()
		decisions, stores := w.judgeDisk(t)
		for i, line := range out {
			out[i] = duration.ReplaceAllString(line, `"${1}_ms":0`)
			if w.retries > 0 {
				out[i] = numberOfRequest.ReplaceAllString(out[i], ", number 1")
			}
			out[i] = numberOfAnswer.ReplaceAllString(out[i], "blue 1")
		}
		r = simResult{out, w.disk.Died(), operations, w.effects, took, decisions, stores, refused, w.problems}
	})
	return r
}

// isRefused matches the errors of effects whose disk has failed. Nothing was changed, and the
// program may try again.
var isRefused = regexp.MustCompile(`^cannot use .*counts\.db: |^order was not called: `)

// serve replaces the network by a server in the bubble.
func (w *simWorld) serve() (end func()) {
	listener := &simListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: w}
	go func() { _ = server.Serve(listener) }() // ends with http.ErrServerClosed
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		client, conn := net.Pipe()
		select {
		case listener.conns <- conn:
			return client, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	http.DefaultTransport = transport
	return func() {
		transport.CloseIdleConnections()
		_ = server.Close() // a pipe has nothing to flush
	}
}

type simListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *simListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *simListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *simListener) Addr() net.Addr { return &net.TCPAddr{} }

// judgeRequests checks that no request that must be sent once was sent again without a decision,
// and that all attempts have the same key.
func (w *simWorld) judgeRequests() {
	for name, keys := range w.requests {
		if strings.HasPrefix(name, "POST") && len(keys) > 1+w.retries {
			w.fail("J1: %s was sent %d times with %d decisions to retry", name, len(keys), w.retries)
		}
		if !strings.HasPrefix(name, "GET") && slices.ContainsFunc(keys, func(k string) bool { return k == "" || k != keys[0] }) {
			w.fail("J2: %s has the keys %q", name, keys)
		}
	}
}

// judgeDisk checks the files of the ended run. It returns the decisions in its ledger, sorted and
// without those about effects of unknown outcome, and the content of the stores.
func (w *simWorld) judgeDisk(t *testing.T) (decisions []string, stores string) {
	p, run := w.process()
	if locked, err := p.view.IsLocked(filepath.Join(w.dir, "lock")); locked || err != nil {
		w.fail("J12: the run has ended, and its directory is locked: %t, error %v", locked, err)
	}
	for _, path := range w.disk.Paths() {
		if simdisk.IsTemporary(path) {
			w.fail("J12: the run has ended and has left %s", path)
		}
	}
	if err := w.judgeAudit(p); err != nil {
		w.fail("J9: %v", err)
	}
	decisions, err := w.readLedger(p, run)
	if err != nil {
		w.fail("J9: %v", err)
	}
	if stores, err = w.readStores(t, p); err != nil {
		w.fail("J4: the stores cannot be read: %v", err)
	}
	return decisions, stores
}

// readLedger verifies the ledger of the ended run.
func (w *simWorld) readLedger(p *simProcess, run journal.Run) (decisions []string, err error) {
	h, err := run.Read()
	if err != nil {
		return nil, err
	}
	text, err := p.view.At(w.dir).Read(rundir.LedgerFile)
	if err != nil {
		return nil, err
	}
	s, err := audit.Verify(bytes.NewReader(text), "ledger", h.Last().Ledger)
	if err == nil && s.Head.Hash != h.Last().Ledger {
		err = fmt.Errorf("the last record of the ledger is %s, and the journal names %s", s.Head.Hash, h.Last().Ledger)
	}
	if err != nil {
		return nil, err
	}
	unknown := 0
	for line, err := range audit.Lines(bytes.NewReader(text), "ledger") {
		if err != nil {
			return nil, err
		}
		if line.Kind == ledger.KindUnknown {
			unknown++
			continue
		}
		decisions = append(decisions, fmt.Sprintf("%s by %v: %s %s", line.Kind, line.Actor, line.Subject, numberOfAnswer.ReplaceAll(millis.ReplaceAll(line.Data, nil), []byte("blue 1"))))
	}
	if unknown != w.retries {
		return nil, fmt.Errorf("the ledger contains %d decisions to retry, want %d", unknown, w.retries)
	}
	slices.Sort(decisions)
	return decisions, nil
}

// millis matches the time that a decision has taken.
var millis = regexp.MustCompile(`"ms":\d+,?`)

// judgeAudit verifies the audit log. Unless the power failed, the log contains each call of a tool.
func (w *simWorld) judgeAudit(p *simProcess) error {
	if w.schedule.program.ir.Audit == "" {
		return nil
	}
	// The next run removes the line that a power cut has torn.
	log, err := audit.Open(filepath.Join(w.schedule.work, auditFile), audit.Options{Bare: true, Disk: p.view.At})
	if err != nil {
		return err
	}
	if err := log.Close(); err != nil {
		return err
	}
	text, err := p.view.At(w.schedule.work).Read(auditFile)
	if err != nil {
		return err
	}
	s, err := audit.Verify(bytes.NewReader(text), "audit log", "")
	if err != nil {
		return err
	}
	calls := int64(0)
	for name, keys := range w.requests {
		if strings.HasPrefix(name, "POST tool") {
			calls += int64(len(keys))
		}
	}
	if s.Calls < calls && w.schedule.how < simdisk.PowerNone {
		return fmt.Errorf("the audit log contains %d of %d calls", s.Calls, calls)
	}
	return nil
}

// readStores returns the entries of the hashmap that programs use.
func (w *simWorld) readStores(t *testing.T, p *simProcess) (string, error) {
	if !slices.Contains(w.disk.Paths(), filepath.Join(w.schedule.work, "counts.db")) {
		return "", nil
	}
	stores := sqlitestore.New(sqlitestore.Options{Dir: w.schedule.work, Disk: p.view.At, VFS: p.view.VFS()})
	at := effect.Store{Kind: "hashmap", Name: "counts", File: "counts.db"}
	all, err := stores.Perform(t.Context(), &effect.StoreList{Store: at, Keys: true, Values: true})
	if err != nil {
		return "", errors.Join(err, stores.Close())
	}
	text, err := json.Marshal(all)
	return string(text), errors.Join(err, stores.Close())
}

// judge compares a schedule with the one without a crash.
func (got *simResult) judge(straight *simResult) []string {
	problems := got.problems
	if got.refused {
		return problems
	}
	if !slices.Equal(got.out, straight.out) {
		problems = append(problems, fmt.Sprintf("J8, J11: the output is\n  %s\nwant\n  %s", strings.Join(got.out, "\n  "), strings.Join(straight.out, "\n  ")))
	}
	if !slices.Equal(got.decisions, straight.decisions) {
		problems = append(problems, fmt.Sprintf("J9: the ledger contains\n  %s\nwant\n  %s", strings.Join(got.decisions, "\n  "), strings.Join(straight.decisions, "\n  ")))
	}
	if got.stores != straight.stores {
		problems = append(problems, fmt.Sprintf("J4: the stores contain %s, want %s", got.stores, straight.stores))
	}
	if d := got.took - straight.took; d < -restart || d > restart {
		problems = append(problems, fmt.Sprintf("J15: the run took %s, want %s", got.took, straight.took))
	}
	return problems
}

// restart is the time that a crash may add to a run: a request is repeated only after the deadline
// of the earlier attempt, which is 30 s for HTTP, because the earlier process may still exist.
const restart = 40 * time.Second

// simKinds are the kinds of schedules. Each is played for all values of `at`.
var simKinds = []schedule{
	{sync: "output", how: simdisk.CrashBefore},
	{sync: "output", how: simdisk.CrashAfter},
	{sync: "output", how: simdisk.CrashBefore, effects: true},
	{sync: "output", how: simdisk.CrashAfter, effects: true},
	{sync: "output", failure: syscall.ENOSPC, fails: 9},
	{sync: "output", failure: syscall.EIO, fails: 1},
	{sync: "every", how: simdisk.PowerNone},
	{sync: "every", how: simdisk.PowerAll},
	{sync: "every", how: simdisk.PowerPart},
	{sync: "every", how: simdisk.PowerTorn},
}

// simPairs are the kinds of schedules in which the process that follows a dead one dies, too.
var simPairs = []schedule{
	{sync: "output", how: simdisk.CrashAfter},
	{sync: "every", how: simdisk.PowerPart},
	{sync: "every", how: simdisk.PowerTorn},
}

// TestCrashes crashes programs at each operation of the disk and at each effect, in each way, and
// lets each operation of the disk fail. No crash may be visible outside.
func TestCrashes(t *testing.T) {
	playAll(t, simKinds, func(int) []int { return []int{0} })
}

// TestPairsOfCrashes crashes a process, and soon also the next one. It plays a part of the pairs,
// or with CONCERTO_SIM_PAIRS all up to 30 operations apart.
func TestPairsOfCrashes(t *testing.T) {
	playAll(t, simPairs, func(at int) (next []int) {
		if os.Getenv("CONCERTO_SIM_PAIRS") == "" {
			if at%3 > 0 {
				return nil
			}
			return []int{at/3%20 + 1}
		}
		for n := range 30 {
			next = append(next, n+1)
		}
		return next
	})
}

// playAll plays schedules of some kinds for all programs. next returns the values of schedule.next
// for one of schedule.at.
func playAll(t *testing.T, kinds []schedule, next func(at int) []int) {
	t.Helper()
	base := t.TempDir()
	work := filepath.Join(base, "work")
	programs, total, wrong := simPrograms(t, work), 0, 0
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		for _, kind := range kinds {
			kind.program, kind.work = programs[name], work
			straight := kind.play(t, base)
			if len(straight.problems) > 0 || len(straight.out) < 2 {
				t.Fatalf("%s without a crash: %s", name, strings.Join(straight.problems, "\n"))
			}
			most := straight.operations
			if kind.effects {
				most = straight.effects
			}
			for kind.at = 1; kind.at <= most; kind.at++ {
				for _, kind.next = range next(kind.at) {
					if total++; !randtest.Sampled(total) {
						continue
					}
					got := kind.play(t, base)
					if problems := got.judge(&straight); len(problems) > 0 {
						if wrong++; wrong > 10 {
							t.FailNow()
						}
						t.Errorf("%s, %s (%s): %s", name, &kind, got.died, strings.Join(problems, "\n"))
					}
				}
			}
		}
	}
	t.Logf("%d schedules", total)
}
