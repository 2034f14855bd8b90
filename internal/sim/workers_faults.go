package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// The kinds of faults of workers, besides Crash.
const (
	Pause Kind = "pause" // the calls of the process do not return for a time
	Cut   Kind = "cut"   // the process does not reach the store for a time
	Jump  Kind = "jump"  // the clock of the machine changes
	Drain Kind = "drain" // the process receives SIGTERM
)

// maxFaults is the largest number of faults of a schedule.
const maxFaults = 4

// EngineSchedule determines what happens to the runs of an engine.
type EngineSchedule struct {
	Runs []EngineRun `json:"runs"`
	Choices
}

// EngineRun is a submitted run.
type EngineRun struct {
	Work  *Workload `json:"work"`
	Queue string    `json:"queue"`
	Key   string    `json:"key,omitempty"`
}

func (r *EngineRun) id(i int) string { return fmt.Sprintf("run%d", i+1) }

// engineKinds are the kinds of blocks that need no machine of their own, and engineSleeps their
// durations in milliseconds. The shorter ones do not let a run park.
var (
	engineKinds  = []string{"get", "put", "post", "post", "post-retry", "post-fail", "sleep", "ask", "ask", "refuse", "number", "model", "race", "cancel"}
	engineSleeps = []int{1, 900, 12_500, 25_000}
)

// GenerateRuns generates the runs of a schedule.
func GenerateRuns(seed uint64) (all []EngineRun) {
	r := newRandom(seed)
	for i := range 2 + r.IntN(3) {
		x := EngineRun{Work: generateRun(r, i+1), Queue: "default"}
		if r.IntN(2) == 0 {
			x.Queue, x.Key = limited, fmt.Sprint("k", r.IntN(2))
		}
		all = append(all, x)
	}
	return all
}

func generateRun(r *rand.Rand, number int) *Workload {
	w := &Workload{}
	if r.IntN(3) == 0 {
		w.Unknown = []string{"retry", "fail"}[r.IntN(2)]
	}
	n := 0
	for range 1 + r.IntN(3) {
		var step []Block
		for range 1 + r.IntN(2) {
			n++
			b := newBlock(r, fmt.Sprintf("b%dn%d", number, n), engineKinds[r.IntN(len(engineKinds))])
			if b.Ms > 0 {
				b.Ms = engineSleeps[r.IntN(len(engineSleeps))]
			}
			step = append(step, b)
		}
		w.Steps = append(w.Steps, step)
	}
	return w
}

// compile compiles the programs of the runs.
func (s *EngineSchedule) compile(t *testing.T) {
	t.Helper()
	for _, r := range s.Runs {
		if r.Work.program != nil {
			continue
		}
		r.Work.check(t)
		var text strings.Builder
		for line := range strings.Lines(r.Work.Text()) { // stores and hosts belong to one machine
			if !slices.ContainsFunc([]string{"hashmap ", "queue ", "host "}, func(p string) bool { return strings.HasPrefix(line, p) }) {
				text.WriteString(line)
			}
		}
		manifest, _, _ := strings.Cut(r.Work.manifest(), "[hosts")
		if r.Work.Unknown != "" {
			manifest += fmt.Sprintf("[run.unknown]\nhttp = %q\n", r.Work.Unknown)
		}
		r.Work.program = compileText(t, text.String(), manifest)
	}
}

// random returns the fault that the seed selects for a call. Calls that happen all the time, such
// as renewals, have fewer.
func (s *EngineSchedule) random(name string) (Fault, bool) {
	x, one := chance(s.Seed, name), uint64(12)
	if strings.Contains(name, "sends claim") || strings.Contains(name, "sends poll") || strings.Contains(name, " renew") || strings.Contains(name, "is notified") {
		one = 80
	}
	if x%one != 0 {
		return Fault{}, false
	}
	r := newRandom(x)
	f := Fault{At: name}
	times := []time.Duration{711 * time.Millisecond, 5417 * time.Millisecond, 7333 * time.Millisecond, 19_009 * time.Millisecond}
	switch n := r.IntN(20); {
	case n < 5:
		f.Kind = Crash
	case n < 9:
		f.Kind, f.For = Pause, times[r.IntN(len(times))]
	case n < 13:
		f.Kind, f.For, f.N = Cut, times[r.IntN(len(times))], r.IntN(int(cutKinds))
	case n < 17:
		f.Kind = Lose
	case n < 18:
		f.Kind, f.N = Jump, 1-2*r.IntN(2)
	case n < 19:
		f.Kind = Drain
	default:
		f.Kind, f.For = Delay, times[r.IntN(len(times))]
	}
	return f, true
}

// appliesTo reports whether a fault can happen to a call of a process, which is part of x, or of no
// worker if x is nil.
func (f Fault) appliesTo(p *process, x *workerProcess) bool {
	switch f.Kind {
	case Pause, Cut, Jump, Drain, Crash:
		return x != nil
	case Delay:
		return p.id == 0 // a server
	case Lose:
		return p.id == 0 || strings.Contains(f.At, "sends ") || strings.Contains(f.At, "stores the answer")
	}
	return false
}

// reached is called when a call continues. It lets the faults of the call happen.
func (f *fleet) reached(p *process, name string) (delay time.Duration, again bool) {
	f.mu.Lock()
	x := f.workers.byProcess[p]
	f.mu.Unlock()
	at := f.plan.at(name, len(f.faults), f.plan.random)
	for _, a := range f.happening(at, func(a Fault) bool { return a.appliesTo(p, x) }) {
		switch a.Kind {
		case Crash:
			x.crash(name)
		case Drain:
			x.drain()
		case Delay:
			delay = a.For
		case Lose:
			f.lose(p, name)
		default:
			f.mu.Lock()
			x.suffer(a)
			f.mu.Unlock()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case x == nil:
	case time.Now().Before(x.paused): // no two calls continue at the same time
		delay = time.Until(x.paused) + time.Duration(chance(1, name)%1e6)
	case strings.Contains(name, " sends "):
		delay = time.Duration(100e3 + chance(f.plan.Order, name)%4e6)
	}
	return delay, false
}

// suffer begins a fault that lasts. The caller has locked f.mu.
func (x *workerProcess) suffer(a Fault) {
	until := time.Now().Add(a.For)
	switch a.Kind {
	case Pause:
		if until.After(x.paused) {
			x.paused = until
		}
	case Cut:
		x.cut, x.how = until, cutKind(a.N)
	case Jump:
		x.skew += time.Duration(a.N) * time.Hour
	}
}

// lose loses the response to a request.
func (f *fleet) lose(p *process, name string) {
	if p.id == 0 {
		f.server.lose(name)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost[name] = true
}
