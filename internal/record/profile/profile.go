// Package profile records a CPU profile of a run in the format of pprof, for `go tool pprof`. The
// profile contains the CPU time of the program's functions and lines, including native functions of
// the library and effects, and the waiting time of tasks.
package profile

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/cputime"
	"github.com/concerto-lang/concerto/vm"
)

// Period is the time between two samples.
const Period = time.Millisecond

// started is the start of the process, from which times are measured.
var started = time.Now()

// The values of a sample, by index.
const (
	samples = iota
	cpu     // in nanoseconds
	waits
	wait // in nanoseconds
	values
)

// sample contains the totals of one stack.
type sample struct {
	at     []uint64 // numbers of the locations, innermost first
	values [values]int64
}

// location is a line of a function.
type location struct{ function, line uint64 }

type function struct{ name, file string }

// Recorder collects the samples of a run.
type Recorder struct {
	// VM must be passed to vm.Config.
	VM *vm.Profile

	program   string
	begun     time.Time
	functions numbered[function]
	locations numbered[location]
	stacks    map[string]*sample
	samples   []*sample
	key       []byte

	stop chan struct{}
	done sync.WaitGroup
}

// New returns a Recorder for a run of a program. Start starts sampling.
func New(program string) *Recorder {
	r := &Recorder{program: program, begun: time.Now(), stacks: map[string]*sample{}, stop: make(chan struct{})}
	r.VM = &vm.Profile{Sample: r.addSample, Waited: r.addWait, Now: func() int64 { return int64(time.Since(r.begun)) + 1 }}
	return r
}

// Start starts a goroutine that requests a sample in each Period, until Stop.
func (r *Recorder) Start() {
	r.done.Go(func() {
		tick := time.NewTicker(Period)
		defer tick.Stop()
		passed, worked := time.Since(started), cputime.Used()
		owed := time.Duration(0)
		for {
			select {
			case <-r.stop:
				return
			case <-tick.C:
				// A late tick represents more than one Period, for example with one processor. The
				// program uses one thread, so its CPU time is at most the elapsed time, and at most
				// the CPU time of the process.
				p, w := time.Since(started), cputime.Used()
				owed += min(p-passed, w-worked)
				passed, worked = p, w
				n := owed / Period
				owed -= n * Period
				r.VM.Pending.Add(int32(n))
			}
		}
	})
}

// Stop stops sampling.
func (r *Recorder) Stop() {
	close(r.stop)
	r.done.Wait()
}

func (r *Recorder) addSample(stack []vm.Place, n int) {
	v := &r.sampleOf(stack).values
	v[samples] += int64(n)
	v[cpu] += int64(n) * int64(Period)
}

func (r *Recorder) addWait(stack []vm.Place, nanoseconds int64) {
	v := &r.sampleOf(stack).values
	v[waits]++
	v[wait] += nanoseconds
}

// sampleOf returns the sample of a stack, and adds it if it is new.
func (r *Recorder) sampleOf(stack []vm.Place) *sample {
	at := make([]uint64, len(stack))
	r.key = r.key[:0]
	for i, p := range stack {
		at[i] = r.location(p)
		r.key = strconv.AppendUint(append(r.key, ' '), at[i], 36)
	}
	s := r.stacks[string(r.key)]
	if s == nil {
		s = &sample{at: at}
		r.stacks[string(r.key)] = s
		r.samples = append(r.samples, s)
	}
	return s
}

// location returns the number of a line in a function. It ignores the column.
func (r *Recorder) location(p vm.Place) uint64 {
	f := function{p.Function, p.File}
	if f.name == "" {
		f.name = "closure"
		if i := strings.LastIndexByte(p.File, '/'); p.File != "" {
			f.name += " in " + p.File[i+1:]
		}
	}
	return r.locations.numberOf(location{r.functions.numberOf(f), uint64(p.Line)})
}

// numbered assigns a number, from 1, to each value.
type numbered[T comparable] struct {
	numbers map[T]uint64
	all     []T
}

func (s *numbered[T]) numberOf(t T) uint64 {
	n, ok := s.numbers[t]
	if !ok {
		if s.numbers == nil {
			s.numbers = map[T]uint64{}
		}
		s.all = append(s.all, t)
		n = uint64(len(s.all))
		s.numbers[t] = n
	}
	return n
}
