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
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/testkit/pgserver"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestEngineKill executes runs by workers that are killed, stopped and drained, on a database that
// crashes, refuses writes and is reached through connections with faults and through PgBouncer. A
// log outside the engine is the truth: no effect that must happen once happens twice unless an
// answer allows it, none is lost, the first answer wins, no limit of a queue is exceeded, and each
// scheduled time becomes one run. CONCERTO_ENGINE_KILLS sets the number of kills.
// CONCERTO_ENGINE_NEWER=1 makes one of the workers a program with a newer version of the VM, whose
// runs the other ones must leave to it. CONCERTO_ENGINE_SERVER is the URL of a database of another
// server, on which the test then does not cause crashes. The database must be empty.
func TestEngineKill(t *testing.T) {
	kills := 8
	if randtest.Raced {
		kills = 2
	}
	if s := os.Getenv("CONCERTO_ENGINE_KILLS"); s != "" {
		kills, _ = strconv.Atoi(s)
	}
	s := newEngineStorm(t, rand.Uint64(), kills)
	t.Logf("seed %d", s.seed)
	s.run()
	t.Logf("%d runs, %d requests, faults: %s; %d questions about unknown outcomes", s.ended, s.judge.log.received, s.summary(), s.judge.unknowns)
}

// The kinds of faults.
const (
	faultKill = iota
	faultStop
	faultDrain
	faultProxy
	faultCrash
	faultReject
	faultKinds
)

var faultNames = [faultKinds]string{"kill", "stop", "drain", "connection", "crash of the server", "rejected writes"}

const (
	engineStormLease   = 1 // lease of the workers in seconds
	engineStormWorkers = 5
)

type engineStormTest struct {
	*testing.T
	seed   uint64
	random *rand.Rand
	kills  int // to come
	runs   int // maximum number of runs that have not ended
	judge  *engineJudge
	server *pgserver.Server // nil: a server that belongs to somebody else
	url    string
	dir    string
	proxy  *pgtest.Proxy
	slots  []*engineWorker
	faults [faultKinds]int

	submitted, ended int
	open             map[string]bool // ids of the runs that have not ended
	background       sync.WaitGroup
	rejects          atomic.Bool
	calm             atomic.Bool // no more faults happen, and no more runs are submitted
}

// engineWorker is a process that executes runs. It is started again when it has ended.
type engineWorker struct {
	url   string
	newer string // program with a newer VM; "" for this one
	c     *exec.Cmd
	log   bytes.Buffer
	ended chan struct{}
	// suspended means that the process is stopped by a signal.
	suspended atomic.Bool
}

func newEngineStorm(t *testing.T, seed uint64, kills int) *engineStormTest {
	s := &engineStormTest{T: t, seed: seed, random: rand.New(rand.NewPCG(seed, 7)), kills: kills, runs: min(max(kills, 6), 12), open: map[string]bool{}}
	if s.url = os.Getenv("CONCERTO_ENGINE_SERVER"); s.url == "" {
		ahead := []time.Duration{0, time.Hour, -time.Hour}[s.random.IntN(3)]
		if ahead != 0 && !pgserver.HasClock() {
			t.Log("libfaketime is not installed: the clock of the server is right")
			ahead = 0
		}
		t.Logf("the clock of the server is ahead by %v", ahead)
		s.server = pgtest.StartServerWithClock(t, ahead)
		s.url = pgtest.Make(t, s.server.URL, "storm")
	}
	log := newEngineLog(t)
	s.dir = programs(t, map[string]string{
		"main.conc": strings.NewReplacer("URL", log.URL, "ROUNDS", strconv.Itoa(engineStormRounds)).Replace(engineStorm),
		"tick.conc": `fn main() { println("tick"); }`,
	})
	e, err := postgres.Connect(t.Context(), s.url, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	s.judge = &engineJudge{t: t, log: log, engine: e, answers: map[string][]string{}, retried: map[string]bool{}}
	if pgtest.Do(t, s.url, "SELECT to_regnamespace('concerto') IS NOT NULL") == "t\n" {
		t.Fatal("the database contains an engine; set CONCERTO_ENGINE_SERVER to the URL of an empty database")
	}
	if _, err := e.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	pgtest.Do(t, s.url, rejecting)
	s.must("queue", "set", "limited", "--concurrency", "3", "--per-key", "1")
	s.must("schedule", "set", "tick", "--every", "1s", "--overlap", "all", "tick.conc")
	for range engineStormWorkers {
		s.slots = append(s.slots, &engineWorker{url: s.url})
	}
	if os.Getenv("CONCERTO_ENGINE_NEWER") != "" {
		s.slots[engineStormWorkers-1].newer = newerProgram(t)
	}
	if s.server != nil { // both need the server's socket
		s.proxy = pgtest.StartProxy(t, s.url)
		s.slots[1].url = s.proxy.URL
		if through := pgtest.Bouncer(t, s.url); through != "" {
			for _, w := range s.slots[2:] { // its connections to the server survive the workers, which makes kills cheap
				w.url = through
			}
		} else {
			t.Log("PgBouncer is not installed: no worker uses it")
		}
	}
	return s
}

// newerProgram builds the command with the next version of the VM, and returns its path.
func newerProgram(t *testing.T) string {
	dir := t.TempDir()
	source, err := filepath.Abs("../record/tape/tape.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^(\tVMVersion +=) \d+$`)
	if n := len(version.FindAll(text, -1)); n != 1 {
		t.Fatalf("%s has %d lines with the version of the VM", source, n)
	}
	changed, overlay, program := filepath.Join(dir, "tape.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "concerto")
	replacement, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(changed, version.ReplaceAll(text, fmt.Appendf(nil, "$1 %d", tape.VMVersion+1)), 0o600), os.WriteFile(overlay, replacement, 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", program, "../../cmd/concerto").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

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

func (s *engineStormTest) must(args ...string) {
	s.Helper()
	if out, err := engineCommand(s.dir, s.url, args...).CombinedOutput(); err != nil {
		s.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// start starts the worker of a slot.
func (s *engineStormTest) start(w *engineWorker) {
	s.Helper()
	w.c = engineCommand(s.dir, w.url, "worker", "-v", "--lease", fmt.Sprint(engineStormLease, "s"), "--drain", "1s", "--crashes", "1000000", "--queue", "default,limited", "--state", "state")
	if w.newer != "" {
		w.c.Path = w.newer
	}
	w.log.Reset()
	w.c.Stdout, w.c.Stderr = &w.log, &w.log
	if err := w.c.Start(); err != nil {
		s.Fatal(err)
	}
	w.ended = make(chan struct{})
	go func() {
		defer close(w.ended)
		_ = w.c.Wait()
	}()
}

// run executes the storm until all runs have ended.
func (s *engineStormTest) run() {
	for _, w := range s.slots {
		s.start(w)
	}
	defer func() {
		if s.Failed() {
			s.explain()
		}
		for _, w := range s.slots {
			_ = w.c.Process.Kill()
			<-w.ended
		}
	}()
	ctx := s.Context()
	if at, ok := s.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, at.Add(-20*time.Second)) // the rest is for what explain prints
		defer cancel()
	}
	faults, end := context.WithCancel(ctx)
	s.background.Go(func() { s.causeFaults(faults) })
	for more := true; more || len(s.open) > 0; <-time.After(100 * time.Millisecond) {
		more = !s.calm.Load()
		s.look()
		if ctx.Err() != nil {
			s.Error("the runs do not end within the time limit of the test")
		}
		if s.Failed() {
			break
		}
		if more && len(s.open) < s.runs*2/3 {
			s.submit()
		}
	}
	end()
	s.background.Wait()
	if !s.Failed() {
		s.schedule()
		s.versions()
	}
}

// causeFaults causes faults until so many workers were killed as the test demands. Until ctx ends,
// it starts workers again that have ended.
func (s *engineStormTest) causeFaults(ctx context.Context) {
	defer s.calm.Store(true)
	for ctx.Err() == nil {
		s.restart()
		if s.kills == 0 {
			s.calm.Store(true)
			<-time.After(10 * time.Millisecond)
			continue
		}
		if s.awaitRequests(1 + s.random.IntN(10)) {
			s.fault()
		}
	}
}

// awaitRequests waits for so many requests, but only for a short time. It reports whether they were
// received.
func (s *engineStormTest) awaitRequests(n int) bool {
	timeout := time.After(time.Second)
	received, more := s.judge.log.state()
	for until := received + n; received < until; received, more = s.judge.log.state() {
		select {
		case <-more:
		case <-timeout:
			return false
		}
	}
	return true
}

// explain logs why runs have not ended, and the logs of the workers.
func (s *engineStormTest) explain() {
	all, err := s.judge.engine.List(context.Background(), postgres.Filter{States: []string{"ready", "running", "waiting", "held", "damaged"}})
	for _, row := range all {
		s.Logf("run %s: %s, epoch %d, %d crashes, effect %d: %s", row.ID, row.State, row.Epoch, row.Crashes, row.Progress, row.Why)
		s.Logf("its last records, answers and questions:\n%s", pgtest.Do(s, s.url, fmt.Sprintf(`SELECT epoch, line FROM concerto.journal WHERE run = '%[1]s' AND s > (SELECT s - 12 FROM concerto.runs WHERE id = '%[1]s') ORDER BY s; `+
			`SELECT id, value, by FROM concerto.answers WHERE run = '%[1]s'; SELECT id, channel, payload FROM concerto.questions WHERE run = '%[1]s'`, row.ID)))
	}
	s.Logf("seed %d, error %v, faults: %s", s.seed, err, s.summary())
	for i, w := range s.slots {
		_ = w.c.Process.Kill()
		<-w.ended
		text := w.log.Bytes()
		s.Logf("worker %d:\n%s", i, text[max(0, len(text)-4000):])
	}
}

func (s *engineStormTest) summary() string {
	var all []string
	for kind, n := range s.faults {
		all = append(all, fmt.Sprintf("%d × %s", n, faultNames[kind]))
	}
	return strings.Join(all, ", ")
}

// submit stores runs until s.runs of them have not ended. A third of them are in a queue with
// limits.
func (s *engineStormTest) submit() {
	var batch strings.Builder
	for len(s.open) < s.runs {
		s.submitted++
		id := fmt.Sprint("run", s.submitted)
		line := fmt.Sprintf(`{"id":%q}`, id)
		if s.submitted%3 == 0 {
			line = fmt.Sprintf(`{"id":%q,"queue":"limited","key":"k%d"}`, id, s.submitted/3%4)
		}
		batch.WriteString(line + "\n")
		s.open[id] = true
	}
	if batch.Len() == 0 {
		return
	}
	file := filepath.Join(s.dir, "batch")
	if err := os.WriteFile(file, []byte(batch.String()), 0o600); err != nil {
		s.Fatal(err)
	}
	for { // the ids make the command repeatable
		c := engineCommand(s.dir, s.url, "submit", "main.conc", "--batch", "batch")
		out, err := c.CombinedOutput()
		if err == nil {
			return
		}
		if c.ProcessState.ExitCode() != 69 {
			s.Fatalf("submit: %v\n%s", err, out)
		}
	}
}

// look checks the limits, answers questions, and checks the runs that have ended.
func (s *engineStormTest) look() {
	limited, err := s.judge.engine.List(s.Context(), postgres.Filter{Queue: "limited", States: []string{"running"}})
	if err != nil {
		return // the server has crashed
	}
	all, err := s.judge.engine.Rows(s.Context(), slices.Collect(maps.Keys(s.open)))
	if err != nil {
		return
	}
	keys := map[string]int{}
	for _, row := range limited {
		keys[row.Key]++
	}
	var checks sync.WaitGroup
	for _, row := range all {
		if row.Exit != nil {
			checks.Go(func() { s.judge.end(row) })
			delete(s.open, row.ID)
			s.ended++
			continue
		}
		checks.Go(func() { s.judge.answer(row) })
		if row.State == "held" || row.State == "damaged" {
			s.Errorf("run %s: %s: %s", row.ID, row.State, row.Why)
		}
	}
	checks.Wait()
	if len(limited) > 3 {
		s.Errorf("%d runs of queue limited are in progress, the limit is 3", len(limited))
	}
	for key, n := range keys {
		if n > 1 {
			s.Errorf("%d runs of key %s are in progress, the limit is 1", n, key)
		}
	}
}

// restart starts the workers again that have ended.
func (s *engineStormTest) restart() {
	for _, w := range s.slots {
		select {
		case <-w.ended:
			s.start(w)
		default:
		}
	}
}

// fault causes a random fault. Kills are the most frequent.
func (s *engineStormTest) fault() {
	kind := faultKill
	if n := s.random.IntN(100); n >= 76 {
		kind = []int{faultStop, faultStop, faultDrain, faultDrain, faultProxy, faultProxy, faultReject, faultCrash}[(n-76)/3]
	}
	w := s.slots[s.random.IntN(len(s.slots))]
	process := w.c.Process
	switch kind {
	case faultKill:
		s.kills--
		_ = process.Kill()
		<-w.ended
	case faultDrain:
		_ = process.Signal(syscall.SIGTERM)
	case faultStop:
		if w.suspended.Swap(true) {
			return
		}
		s.later(engineStormLease*500, engineStormLease*3000, func() { // half a lease to three leases
			_ = process.Signal(syscall.SIGCONT)
			w.suspended.Store(false)
		})
		_ = process.Signal(syscall.SIGSTOP)
	case faultProxy:
		if s.proxy == nil {
			return
		}
		s.proxy.SetPlan(s.faultyConnection())
		s.later(0, engineStormLease*1500, func() { s.proxy.SetPlan(nil) })
	case faultReject:
		if s.rejects.Swap(true) {
			return
		}
		pgtest.Do(s, s.url, "INSERT INTO judge.full VALUES (true)")
		s.later(0, 500, func() {
			pgtest.Do(s, s.url, "DELETE FROM judge.full")
			s.rejects.Store(false)
		})
	case faultCrash:
		if s.server == nil || s.rejects.Load() { // the statement that ends the rejection needs the server
			return
		}
		s.judge.crashed.Store(true)
		if err := s.server.Crash(); err != nil {
			s.Fatal(err)
		}
	}
	s.faults[kind]++
}

// later calls do after a random number of milliseconds.
func (s *engineStormTest) later(least, most int, do func()) {
	wait := time.Duration(least+s.random.IntN(most-least)) * time.Millisecond
	s.background.Go(func() {
		<-time.After(wait)
		do()
	})
}

// faultyConnection returns a random plan of the proxy: responses to groups are lost, connections
// are cut, data is delayed, or one direction is silent.
func (s *engineStormTest) faultyConnection() func(request bool, data []byte) pgtest.Action {
	kind, requests := s.random.IntN(4), s.random.IntN(2) == 0
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(s.random.Uint64(), 0))
	oneIn := func(n int) bool {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n) == 0
	}
	return func(request bool, data []byte) pgtest.Action {
		switch {
		case kind == 0 && request && bytes.Contains(data, []byte("concerto.flush")) && oneIn(2):
			return pgtest.CutResponse
		case kind == 1 && oneIn(10):
			return pgtest.Cut
		case kind == 2 && oneIn(3):
			<-time.After(20 * time.Millisecond)
		case kind == 3 && request == requests:
			return pgtest.Swallow
		}
		return pgtest.Forward
	}
}

// versions checks that the worker with a newer VM, if there is one, has executed runs, and other
// workers as well.
func (s *engineStormTest) versions() {
	versions := pgtest.Do(s, s.url, "SELECT DISTINCT vm_version FROM concerto.runs WHERE schedule IS NULL ORDER BY 1")
	want := fmt.Sprintln(tape.VMVersion)
	if os.Getenv("CONCERTO_ENGINE_NEWER") != "" {
		want += fmt.Sprintln(tape.VMVersion + 1)
	}
	if versions != want {
		s.Errorf("the runs have been executed by the versions %q of the VM, want %q", versions, want)
	}
}

// schedule checks that each scheduled time has become one run.
func (s *engineStormTest) schedule() {
	s.must("schedule", "pause", "tick")
	rows, err := s.judge.engine.Schedules(s.Context())
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
