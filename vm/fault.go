package vm

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// raised is an error that is being propagated.
type raised struct {
	value     value.Slot
	fault     bool   // a fault raised the error
	panicked  bool   // cannot be caught
	cancelled bool   // the value is no error: the task is cancelled, or the scope `until`
	until     *scope // the cancelled scope; nil if the whole task is cancelled
	left      int    // number of error steps of the run when `?` raised the error; 0 if `?` did not raise it
	trace     calls
	first     [2]call // space for the trace of most caught errors, which avoids an allocation
}

// reraise returns the error of an ended task, to be raised at the await of that task. Its trace
// contains the places of the ended task first, then the place pc of the await.
func (m *image) reraise(r *raised, pc int) *raised {
	out := &raised{value: r.value, fault: r.fault, left: r.left, trace: r.trace.clone()}
	m.addCalls(&out.trace, pc, 0)
	return out
}

// throw raises v.
func (t *task) throw(v value.Slot) status {
	t.raised = &raised{value: value.Flatten(v)}
	return raising
}

// throwError raises an error that Go code returned. A *value.Error is raised unchanged, and any
// other error as a fault.
func (t *task) throwError(err error) status {
	switch e := err.(type) {
	case *effect.Error:
		return t.throw(programError(e))
	case *value.Error:
		return t.throw(e.Slot())
	case *value.Fault:
		return t.fault("%s", e.Message)
	case *endsRun:
		return t.decisionFailed(e.error)
	}
	return t.fault("%s", err.Error())
}

// fault raises a RuntimeError.
func (t *task) fault(format string, args ...any) status {
	t.raised = &raised{value: value.NewError("RuntimeError", fmt.Sprintf(format, args...)), fault: true}
	return raising
}

// badOperand raises a fault because an operand has an invalid type. This happens only if the
// compiler has a bug or the program's file was modified.
func (t *task) badOperand(in *ins) status {
	return t.fault("broken program: operand of %s", ir.Op(in.op))
}

func opThrow(t *task, in *ins) status {
	st := t.throw(*t.slot(in.a))
	t.raised.left = t.justLeft(t.raised.value)
	return st
}

func opFault(t *task, in *ins) status {
	return t.fault("%s", t.m.image.constants[in.imm].AsString())
}

func opPanic(t *task, in *ins) status {
	t.raised = &raised{value: value.String(value.Text(*t.slot(in.a))), panicked: true}
	return raising
}

func doTrap(t *task, in *ins) status {
	return t.fault("broken program: control left a function")
}

// opRethrow raises the error that a region caught, with its original place and trace.
func opRethrow(t *task, in *ins) status {
	v := *t.slot(in.a)
	for i := len(t.caught) - 1; i >= 0; i-- {
		if c := t.caught[i]; c.value == v {
			t.caught = t.caught[:i]
			t.raised = c
			return raising
		}
	}
	return t.throw(v)
}

// storeCaught stores an error that a region caught, for Rethrow. It stores at most eight errors,
// because a clause that handles its error never rethrows it.
func (t *task) storeCaught(r *raised) {
	if len(t.caught) == 8 {
		copy(t.caught, t.caught[1:])
		t.caught = t.caught[:7]
	}
	t.caught = append(t.caught, r)
}
