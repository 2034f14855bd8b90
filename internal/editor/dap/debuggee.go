package dap

import (
	"runtime/debug"
	"slices"
	"sync"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime/world/clock"
	"github.com/concerto-lang/concerto/vm"
)

// debuggee is the state of a debugged run. Only the run's goroutine may access it, except for the
// queue. Other goroutines call do.
type debuggee struct {
	vm    *vm.VM
	queue struct {
		mu   sync.Mutex
		list []func()
		vm   *vm.VM // nil until the program is loaded
		wake chan struct{}
	}

	stopped   *stopState // position and reason of the stop; nil while running
	halt      *stopState // position and reason of a stop that takes place when the queue is empty
	begun     bool       // the editor has started the run
	going     bool       // the stopped run must continue
	left      bool       // no editor is attached any more
	plan      plan
	points    breakpoints
	refs      references
	code      exprCompiler
	console   console
	watch     conversationLog
	lastError value.Slot // error of the last stop
	clock     *clock.PausableClock
	asks      map[effect.Request]int // numbers of the questions that wait for an answer
	asked     int
	before    int64 // number of tasks that began before main; -1 while it is unknown
}

// Clock returns the run's clock, which is paused while the run is stopped.
func (r *Run) Clock() *clock.PausableClock { return r.debuggee.clock }

// stopState describes where and why a run is stopped.
type stopState struct {
	scene     *vm.Scene     // nil before main
	stopPoint *vm.StopPoint // stop point at which the run stopped; nil if it stopped elsewhere
	reason    string
	text      string
	ids       []int
	raise     *vm.Raise
}

func (d *debuggee) init() {
	d.queue.wake = make(chan struct{}, 1)
	d.clock = clock.NewPausableClock()
	d.asks = map[effect.Request]int{}
	d.before = -1
}

// do calls f on the run's goroutine and waits for it. It returns false if the run has ended. If f
// panics, do panics with a *runPanic on the calling goroutine and the run continues.
func (r *Run) do(f func()) bool { return r.doAnd(f, nil, func() {}) }

// doAnd is like do, and calls serve before it waits and after each value of wake. If f evaluates,
// the functions that serve passes to do are called during the evaluation.
func (r *Run) doAnd(f func(), wake <-chan struct{}, serve func()) bool {
	done := make(chan struct{})
	var failed *runPanic
	q := &r.debuggee.queue
	q.mu.Lock()
	q.list = append(q.list, func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				failed = &runPanic{p, debug.Stack()}
			}
		}()
		f()
	})
	m := q.vm
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	if m != nil {
		m.Do(r.serve)
	}
	for {
		serve()
		select {
		case <-done:
			if failed != nil {
				panic(failed)
			}
			return true
		case <-r.over:
			return false
		case <-wake:
		}
	}
}

// serve runs the queued functions.
func (r *Run) serve() {
	q := &r.debuggee.queue
	for {
		q.mu.Lock()
		if len(q.list) == 0 {
			q.mu.Unlock()
			if x := r.debuggee.halt; x != nil && r.debuggee.stopped == nil {
				r.debuggee.halt = nil
				r.stop(x)
				continue
			}
			return
		}
		f := q.list[0]
		q.list = q.list[1:]
		q.mu.Unlock()
		f()
	}
}

// Library reports whether steps enter functions of the library.
func (r *Run) Library() bool { return r.s.showStd }

// Loaded waits until the editor lets the run begin.
func (r *Run) Loaded(m *vm.VM) {
	r.debuggee.vm = m
	r.debuggee.queue.mu.Lock()
	r.debuggee.queue.vm = m
	r.debuggee.queue.mu.Unlock()
	r.debuggee.points.bind(r)
	r.load()
	r.serveUntil(&stopState{}, func() bool { return r.debuggee.begun || r.debuggee.left })
	if r.s.stopOnEntry && !r.debuggee.left {
		r.debuggee.plan = plan{kind: planEntry}
	}
	r.debuggee.arm()
}

// stop stops the run, notifies the editor and handles requests until the run continues.
func (r *Run) stop(x *stopState) {
	if r.debuggee.left {
		return
	}
	r.debuggee.plan = plan{}
	thread := 1
	if x.scene != nil {
		thread = r.debuggee.threadID(*x.scene)
	}
	r.s.send(&dap.StoppedEvent{Event: newEvent("stopped"), Body: dap.StoppedEventBody{Reason: x.reason, Description: describe[x.reason], Text: x.text,
		ThreadId: thread, AllThreadsStopped: true, HitBreakpointIds: x.ids}})
	r.serveUntil(x, func() bool { return r.debuggee.going || r.debuggee.left })
	r.debuggee.arm()
}

// describe maps the reasons for a stop to their descriptions.
var describe = map[string]string{"breakpoint": "Paused on breakpoint", "function breakpoint": "Paused on function breakpoint", "exception": "Paused on exception",
	"step": "Paused after step", "pause": "Paused", "entry": "Paused on entry", "goto": "Paused after goto"}

// serveUntil handles requests of the editor until over returns true.
func (r *Run) serveUntil(x *stopState, over func() bool) {
	r.debuggee.stopped, r.debuggee.going = x, false
	r.debuggee.clock.Pause()
	defer func() {
		r.debuggee.stopped = nil
		r.debuggee.clock.Resume()
	}()
	for {
		r.serve()
		if over() {
			r.debuggee.refs.forget()
			return
		}
		<-r.debuggee.queue.wake
	}
}

func (d *debuggee) resume() { d.going = true }

// arm sets the stop points at which the VM calls Reached.
func (d *debuggee) arm() {
	if d.vm == nil {
		return
	}
	all := d.plan.kind != planNone
	d.vm.SetAll(func(k *vm.StopPoint) bool { return !d.left && (all || len(d.points.at[k]) > 0) })
}

// Reached is called at an armed stop point. It stops the run if a breakpoint or the current step
// requires it.
func (r *Run) Reached(at vm.Scene, k *vm.StopPoint) {
	x := &stopState{scene: &at, stopPoint: k}
	x.ids = r.matchBreakpoints(x, slices.Clone(r.debuggee.points.at[k]))
	switch {
	case len(x.ids) > 0:
		x.reason = r.debuggee.points.reason(x.ids)
	case r.debuggee.plan.stopsAt(at, k):
		x.reason = r.debuggee.plan.reason()
	default:
		return
	}
	r.stop(x)
}

// BeforeEffect is called before an effect. It stops the run if a breakpoint matches the effect.
func (r *Run) BeforeEffect(at vm.Scene, q effect.Request) {
	switch q := q.(type) {
	case *effect.AwaitEmit, *effect.AskHost:
		r.debuggee.asked++
		r.debuggee.asks[q] = r.debuggee.asked
	}
	r.debuggee.watch.recordRequest(q)
	r.stopAtEffect(at, q, false)
}

// AfterEffect is called after an effect and records its result.
func (r *Run) AfterEffect(at vm.Scene, q effect.Request, result effect.Result, err error) {
	delete(r.debuggee.asks, q)
	if err == nil {
		r.debuggee.watch.recordResult(q, result)
		r.stopAtEffect(at, q, true)
	}
}
