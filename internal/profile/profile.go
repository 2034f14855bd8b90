// Package profile makes a CPU profile of a run in the form of pprof: how much
// time the program's functions and lines take, the library's natives and the
// effects among them, and how long its tasks wait. `go tool pprof` reads it.
package profile

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/concerto-lang/concerto/vm"
)

// Period is the time between two samples.
const Period = time.Millisecond

// started is when the process has, for clocks.
var started = time.Now()

// The values of a sample, in their order.
const (
	samples = iota
	cpu     // nanoseconds
	waits
	wait // nanoseconds
)

// Recorder collects a run's samples.
type Recorder struct {
	// VM is what a vm.Config takes.
	VM *vm.Profile

	begun     time.Time
	functions map[function]*profile.Function
	locations map[vm.Place]*profile.Location
	stacks    map[string]*profile.Sample
	out       *profile.Profile
	key       []byte

	stop chan struct{}
	done sync.WaitGroup
}

type function struct{ name, file string }

// New makes a Recorder for a run of the named program. Its clock stands still.
func New(program string) *Recorder {
	r := &Recorder{
		begun: time.Now(), functions: map[function]*profile.Function{}, locations: map[vm.Place]*profile.Location{},
		stacks: map[string]*profile.Sample{}, stop: make(chan struct{}),
	}
	r.out = &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"},
			{Type: "waits", Unit: "count"}, {Type: "wait", Unit: "nanoseconds"},
		},
		DefaultSampleType: "cpu",
		PeriodType:        &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:            int64(Period),
		TimeNanos:         r.begun.UnixNano(),
		Mapping:           []*profile.Mapping{{ID: 1, File: program, HasFunctions: true, HasFilenames: true, HasLineNumbers: true}},
	}
	r.VM = &vm.Profile{Sample: r.sample, Waited: r.waited, Now: func() int64 { return int64(time.Since(r.begun)) + 1 }}
	return r
}

// Start lets the clock go: samples are taken until Stop.
func (r *Recorder) Start() {
	r.done.Go(func() {
		tick := time.NewTicker(Period)
		defer tick.Stop()
		passed, worked := time.Since(started), used()
		owed := time.Duration(0)
		for {
			select {
			case <-r.stop:
				return
			case <-tick.C:
				// Ticks may be late, as with one processor; then one counts for more. The
				// program is one thread: it has worked no longer than has passed, nor
				// than the whole process.
				p, w := time.Since(started), used()
				owed += min(p-passed, w-worked)
				passed, worked = p, w
				n := owed / Period
				owed -= n * Period
				r.VM.Due.Add(int32(n))
			}
		}
	})
}

// Stop ends sampling.
func (r *Recorder) Stop() {
	close(r.stop)
	r.done.Wait()
}

// Write writes the profile, when the run is over.
func (r *Recorder) Write(w io.Writer) error {
	r.out.DurationNanos = int64(time.Since(r.begun))
	if err := r.out.Write(w); err != nil {
		return fmt.Errorf("write the profile: %w", err)
	}
	return nil
}

func (r *Recorder) sample(stack []vm.Place, n int) {
	v := r.of(stack).Value
	v[samples] += int64(n)
	v[cpu] += int64(n) * int64(Period)
}

func (r *Recorder) waited(stack []vm.Place, nanoseconds int64) {
	v := r.of(stack).Value
	v[waits]++
	v[wait] += nanoseconds
}

// of finds the sample of a stack.
func (r *Recorder) of(stack []vm.Place) *profile.Sample {
	at := make([]*profile.Location, len(stack))
	r.key = r.key[:0]
	for i, p := range stack {
		at[i] = r.location(p)
		r.key = strconv.AppendUint(append(r.key, ' '), at[i].ID, 36)
	}
	s := r.stacks[string(r.key)]
	if s == nil {
		s = &profile.Sample{Location: at, Value: make([]int64, len(r.out.SampleType))}
		r.stacks[string(r.key)] = s
		r.out.Sample = append(r.out.Sample, s)
	}
	return s
}

// location is a line of a function; columns make no difference.
func (r *Recorder) location(p vm.Place) *profile.Location {
	p = vm.Place{Function: p.Function, File: p.File, Line: p.Line}
	if p.Function == "" {
		p.Function = "closure"
		if i := strings.LastIndexByte(p.File, '/'); p.File != "" {
			p.Function += " in " + p.File[i+1:]
		}
	}
	l := r.locations[p]
	if l == nil {
		l = &profile.Location{ID: uint64(len(r.out.Location) + 1), Mapping: r.out.Mapping[0], Line: []profile.Line{{Function: r.function(p), Line: int64(p.Line)}}}
		r.locations[p] = l
		r.out.Location = append(r.out.Location, l)
	}
	return l
}

func (r *Recorder) function(p vm.Place) *profile.Function {
	f := r.functions[function{p.Function, p.File}]
	if f == nil {
		f = &profile.Function{ID: uint64(len(r.out.Function) + 1), Name: p.Function, SystemName: p.Function, Filename: p.File}
		r.functions[function{p.Function, p.File}] = f
		r.out.Function = append(r.out.Function, f)
	}
	return f
}
