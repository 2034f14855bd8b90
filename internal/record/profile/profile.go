// Package profile records a CPU profile of a run in the format of pprof: the time of the program's
// functions and lines, including the library's natives and the effects, and the waiting time of its
// tasks. `go tool pprof` reads it.
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

// started is the start time of the process, for relative times.
var started = time.Now()

// The values of a sample, in order.
const (
	samples = iota
	cpu     // nanoseconds
	waits
	wait // nanoseconds
	values
)

// sample is a stack and its total time.
type sample struct {
	at     []uint64 // location numbers, innermost first
	values [values]int64
}

// location is a line of a function.
type location struct{ function, line uint64 }

type function struct{ name, file string }

// Recorder collects a run's samples.
type Recorder struct {
	// VM is passed to vm.Config.
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

// New returns a Recorder for a run of the named program. Its clock is stopped.
func New(program string) *Recorder {
	r := &Recorder{program: program, begun: time.Now(), stacks: map[string]*sample{}, stop: make(chan struct{})}
	r.VM = &vm.Profile{Sample: r.addSample, Waited: r.addWait, Now: func() int64 { return int64(time.Since(r.begun)) + 1 }}
	return r
}

// Start starts the clock. It takes samples until Stop.
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
				// A late tick represents more time, for example with one processor. The program
				// uses one thread: it cannot have worked longer than the time that has passed, nor
				// longer than the whole process.
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

// sampleOf returns the sample of a stack.
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

// location returns the number of a function's line, ignoring columns.
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

// numbered assigns numbers, from 1.
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
