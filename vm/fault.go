package vm

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// raised is an error on its way up.
type raised struct {
	value     value.Slot
	fault     bool   // born as a fault
	panicked  bool   // not catchable
	cancelled bool   // not an error: the task, or the scope `until`, is cancelled
	until     *scope // nil: the whole task
	left      int    // how many leavings there had been when `?` raised it; 0 when something else did
	trace     calls
	first     [2]call // room for a trace of most errors that are caught: an object less
}

// again is the error of an ended task, raised once more where the task is
// awaited. The trace keeps the task's place and calls; the place of the await
// comes after them.
func (m *image) again(r *raised, pc int) *raised {
	out := &raised{value: r.value, fault: r.fault, left: r.left, trace: r.trace.clone()}
	m.addCalls(&out.trace, pc, 0)
	return out
}

// throw raises v.
func (t *task) throw(v value.Slot) status {
	t.raised = &raised{value: value.Flat(v)}
	return raising
}

// throwError raises an error that Go code returned: a *value.Error as the error
// that it is, anything else as a fault.
func (t *task) throwError(err error) status {
	switch e := err.(type) {
	case *effect.Error:
		return t.throw(programError(e))
	case *value.Error:
		return t.throw(e.Slot())
	case *value.Fault:
		return t.fault("%s", e.Message)
	}
	return t.fault("%s", err.Error())
}

// fault raises a RuntimeError.
func (t *task) fault(format string, args ...any) status {
	t.raised = &raised{value: value.NewError("RuntimeError", fmt.Sprintf(format, args...)), fault: true}
	return raising
}

// badOperand faults because an operand is not what the operation takes: the
// compiler has a bug, or the program's file was changed.
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

// opRethrow raises what a region caught, with its first place and trace.
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

// keepCaught remembers an error that a region caught, for Rethrow. Only a few
// are kept, since a clause that handles its error never asks for it.
func (t *task) keepCaught(r *raised) {
	if len(t.caught) == 8 {
		copy(t.caught, t.caught[1:])
		t.caught = t.caught[:7]
	}
	t.caught = append(t.caught, r)
}
