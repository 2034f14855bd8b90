package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Evaluation for a debugger: a function that Grow has added runs while all tasks are stopped.

// Evaluation is a call of a function that Grow has added.
type Evaluation struct {
	Function int
	Captured []value.Slot // values that the function captures as a closure
	// Quiet forbids effects that leave the program. An attempt ends the evaluation with a *Refused.
	Quiet bool
	// Stop, which may be nil, is called at intervals on the run's goroutine. While the evaluation
	// waits, Stop is called after each function that VM.Do has run. If Stop returns an error, the
	// evaluation ends with that error.
	Stop func() error
}

// Refused is the error of a quiet evaluation that attempted an effect. Would describes the effect.
type Refused struct{ Would string }

func (e *Refused) Error() string { return e.Would }

// errStopped is the error of an evaluation that waits for the stopped program.
var errStopped = errors.New("the expression waits for the program, which is paused")

// taskIsStopped is the reason why an evaluation cannot await a task of the program.
const taskIsStopped = "awaiting this task would never end: it belongs to the program, which is paused"

// evaluation is an expression that is being evaluated while the run's tasks are stopped.
type evaluation struct {
	task    *task
	quiet   bool
	stop    func() error
	refused string // description of the effect that a quiet evaluation attempted; "" if it attempted none
	err     error  // reason why the evaluation was stopped; nil if it was not
	first   int    // sequence number of the last request made before the evaluation
}

// Evaluate runs a function while the run's tasks are stopped. If the function fails, the error is
// an *Uncaught. A function that VM.Do runs during an evaluation may call Evaluate.
func (m *VM) Evaluate(x Evaluation) (v value.Slot, err error) {
	f := &m.image.functions[x.Function]
	return m.evaluateIn(&evaluation{task: m.newTask(f, value.NewClosure(&f.Function, x.Captured...).Ref), quiet: x.Quiet, stop: x.Stop})
}

// EvaluateClosure calls a closure without permitting effects that leave the program. For stop see
// Evaluation.Stop.
func (m *VM) EvaluateClosure(stop func() error, c value.Slot, args ...value.Slot) (v value.Slot, err error) {
	return m.evaluateIn(&evaluation{task: m.newTask(functionOf(c), c.Ref, args...), quiet: true, stop: stop})
}

func (m *VM) evaluateIn(e *evaluation) (v value.Slot, err error) {
	current, ready, outer, at := m.sched.current, m.sched.ready, m.debug.evaluating, m.debug.atStop
	e.first = m.requests.made
	m.sched.ready, m.debug.evaluating = queue{}, e
	m.sched.ready.push(e.task)
	m.evaluate(e)
	left := m.sched.ready.tasks[m.sched.ready.head:]
	m.sched.current, m.sched.ready, m.debug.evaluating, m.debug.atStop = current, ready, outer, at
	for _, y := range left {
		m.sched.ready.push(y)
	}
	switch r := e.task.raised; {
	case e.refused != "":
		return v, &Refused{e.refused}
	case m.ending.fatal != nil:
		return v, m.ending.fatal
	case e.err != nil:
		return v, e.err
	case !e.task.state.ended || r != nil && r.cancelled:
		return v, context.Canceled
	case r != nil:
		return v, m.uncaught(r)
	}
	return e.task.result, nil
}

// evaluate runs the evaluation's task and the tasks that it starts until the evaluation's task has
// ended.
func (m *VM) evaluate(e *evaluation) {
	for !e.task.state.ended {
		if x := m.sched.ready.pop(); x != nil {
			if m.guarded(x) == finished {
				m.taskEnded(x)
			}
			if m.ending.fatal != nil {
				return
			}
			continue
		}
		c, ok := m.arrivalSince(e)
		switch {
		case ok:
			m.handleCompletion(c)
		case e.task.state.stop: // the task waits only for the program, and unwinds when the program continues
			return
		default:
			cancelTask(e.task)
			m.requests.endSince(e.first)
		}
	}
}

// endSince cancels the requests with a sequence number above first.
func (r *requests) endSince(first int) {
	for _, seq := range r.underWay() {
		if seq > first {
			r.pending[seq].cancel()
		}
	}
}

// arrivalSince waits for a completion of one of the evaluation's requests. It leaves completions of
// other requests in the queue. When the evaluation must end, it returns false once; after that, it
// returns false only when no request of the evaluation is pending.
func (m *VM) arrivalSince(e *evaluation) (c completion, ok bool) {
	over := m.requests.ctx.Done()
	if e.task.state.stop {
		over = nil
	}
	if len(m.requests.waiting) > 0 && m.requests.waiting[len(m.requests.waiting)-1].seq > e.first {
		return m.performChosen(), true
	}
	for {
		m.debug.runPendingCalls()
		if !e.task.state.stop && e.mustStop() {
			return c, false
		}
		m.requests.arrived = m.requests.inbox.drain(m.requests.arrived)
		for i, c := range m.requests.arrived {
			if c.seq > e.first {
				m.requests.arrived = slices.Delete(m.requests.arrived, i, i+1)
				return c, true
			}
		}
		if !m.requests.expectsSince(e.first) {
			if e.err == nil {
				e.err = errStopped
			}
			return c, false
		}
		select {
		case <-m.requests.inbox.wake:
		case <-over:
			return c, false
		}
	}
}

// expectsSince reports whether a request with a sequence number above first is pending.
func (r *requests) expectsSince(first int) bool {
	for seq := range r.pending {
		if seq > first {
			return true
		}
	}
	return false
}

// mustStop reports whether the evaluation must end, and records why.
func (e *evaluation) mustStop() bool {
	if e.err == nil && e.stop != nil {
		e.err = e.stop()
	}
	return e.err != nil
}

// stopEvaluation ends the current evaluation if its Stop returns an error.
func (a *debugState) stopEvaluation() {
	if e := a.evaluating; !e.task.state.stop && e.mustStop() {
		cancelTask(e.task)
	}
}

// isStopped reports whether an expression is being evaluated and y is a task of the program, which
// does not run until the evaluation ends.
func (a *debugState) isStopped(y *task) bool {
	if a.evaluating == nil {
		return false
	}
	for x := a.evaluating.task.birth.older; x != nil; x = x.birth.older {
		if x == y {
			return true
		}
	}
	return false
}

// isRefused reports whether a quiet evaluation may not make a request, and records the attempt.
func (t *task) isRefused(r effect.Request) bool {
	e := t.m.debug.evaluating
	if !e.quiet || r.Kind() == effect.KindClock {
		return false
	}
	if e.refused == "" {
		e.refused = DescribeEffect(r)
	}
	e.task.state.stop, t.state.stop = true, true
	return true
}

// DescribeEffect describes an effect, as in `ask agent Judge`.
func DescribeEffect(r effect.Request) string {
	switch r := r.(type) {
	case *effect.AgentCall:
		return "ask agent " + r.Agent
	case *effect.ExchangeOpen:
		return "ask host " + r.Host
	case *effect.ExchangeSteer:
		return "steer a host"
	case *effect.ExchangeContinue:
		return "continue an exchange with a host"
	case *effect.ExchangeGate:
		return "run a gate of a host"
	case *effect.HostTasks:
		return "ask for the tasks of host " + r.Host
	case *effect.Emit:
		return fmt.Sprintf("emit %q", r.Channel)
	case *effect.AwaitEmit:
		return fmt.Sprintf("emit %q", r.Channel)
	case *effect.Print:
		return "print"
	case *effect.Log:
		return "write to the log"
	case *effect.Sleep:
		return "sleep"
	}
	return "do " + string(r.Kind())
}
