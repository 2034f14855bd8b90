package dap

import (
	"fmt"
	"slices"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/compile/literal"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// The exception filters.
const (
	filterUncaught = "uncaught"
	filterThrown   = "thrown"
	filterErr      = "err"
)

// filters lists the exception filters.
var filters = []dap.ExceptionBreakpointsFilter{
	{Filter: filterUncaught, Label: "Uncaught errors", Description: "Errors that nothing in the program takes", Default: true, SupportsCondition: true, ConditionDescription: "an expression on `e`, the error"},
	{Filter: filterThrown, Label: "All errors", Description: "Every error that is raised, faults too", SupportsCondition: true, ConditionDescription: "an expression on `e`, the error"},
	{Filter: filterErr, Label: "Errs handed on", Description: "An Err that `?` hands on", SupportsCondition: true, ConditionDescription: "an expression on `e`, the error"},
}

// filter is one that is set.
type filter struct {
	name, condition string
	said            bool
}

func (s *session) setExceptionBreakpoints(r *dap.SetExceptionBreakpointsRequest) {
	x := &dap.SetExceptionBreakpointsResponse{Response: answer(r)}
	s.withRun(r, x, func(run *Run) {
		run.debuggee.points.raise = nil
		add := func(name, condition string) {
			known := slices.ContainsFunc(filters, func(f dap.ExceptionBreakpointsFilter) bool { return f.Filter == name })
			b := dap.Breakpoint{Verified: known}
			if known {
				run.debuggee.points.raise = append(run.debuggee.points.raise, &filter{name: name, condition: condition})
			} else {
				b.Message = "there is no filter " + name
			}
			x.Body.Breakpoints = append(x.Body.Breakpoints, b)
		}
		for _, f := range r.Arguments.Filters {
			add(f, "")
		}
		for _, f := range r.Arguments.FilterOptions {
			add(f.FilterId, f.Condition)
		}
	})
}

// Raised stops if a filter matches an error.
func (r *Run) Raised(at vm.Scene, x vm.Raise) {
	if r.debuggee.left || r.debuggee.told == x.Value && !x.Value.IsNil() {
		return
	}
	y := &stand{scene: &at, reason: "exception", raise: &x}
	for _, f := range r.debuggee.points.raise {
		if !f.takes(x) {
			continue
		}
		if f.condition != "" && !r.raisedAs(y, f) {
			continue
		}
		r.debuggee.told = x.Value
		e := describeError(x.Value)
		y.text = e.message
		if e.kind != "" {
			y.text = e.kind + ": " + e.message
		}
		r.stop(y)
		return
	}
}

// takes reports whether a filter is about an error.
func (f *filter) takes(x vm.Raise) bool {
	switch f.name {
	case filterUncaught:
		return !x.Caught
	case filterThrown:
		return !x.Propagated
	}
	return x.Propagated
}

// raisedAs reports whether the condition of a filter holds of an error.
func (r *Run) raisedAs(y *stand, f *filter) bool {
	top, ok := y.scene.Top(r.s.showStd)
	if !ok {
		return true
	}
	ref := &frameRef{at: *y.scene, Frame: top}
	e := y.raise.Value
	kind := "Error"
	if k := value.ErrorKind(e); value.ErrorType(k) != nil {
		kind = k
	} else if literal.Flat(e).Kind() == value.KindString {
		kind = "String"
	}
	c, err := r.compile(ref, fmt.Sprintf("|e: %s| %s", kind, f.condition))
	var v value.Slot
	if err == nil {
		v, err = r.runsWith(ref, c, e)
	}
	if err != nil {
		if !f.said {
			f.said = true
			r.s.say("important", "the condition `"+f.condition+"`: "+err.Error()+"\n")
		}
		return true
	}
	return v.Kind() == value.KindBool && v.AsBool()
}

// runsWith runs a text that returns a closure of one parameter, and calls that.
func (r *Run) runsWith(f *frameRef, c *compiled, argument value.Slot) (value.Slot, error) {
	h := how{quiet: true}
	v, err := r.runs(f, c, h)
	if err != nil {
		return v, err
	}
	value.Share(argument)
	return r.debuggee.vm.EvaluateClosure(r.stopper(h), v, argument)
}

// raised is an error in the form for an editor.
type raised struct{ kind, message string }

func describeError(v value.Slot) (t raised) {
	defer func() {
		if f, ok := recover().(*value.Fault); ok {
			t.message = f.Message
		}
	}()
	t.kind = value.ErrorKind(v)
	t.message = value.Message(v)
	return t
}

func (s *session) exceptionInfo(r *dap.ExceptionInfoRequest) {
	s.stopped(r, func(at *stand) {
		if at.raise == nil || s.run.debuggee.thread(*at.scene) != r.Arguments.ThreadId {
			s.refuse(r, "thread %d does not stand at an error", r.Arguments.ThreadId)
			return
		}
		e := describeError(at.raise.Value)
		p := at.scene.Place()
		x := &dap.ExceptionInfoResponse{Response: answer(r)}
		x.Body.ExceptionId, x.Body.Description, x.Body.BreakMode = e.kind, e.message, "unhandled"
		switch {
		case at.raise.Panic:
			x.Body.ExceptionId = "panic"
		case at.raise.Propagated:
			x.Body.BreakMode = "userUnhandled"
		}
		if at.raise.Caught {
			x.Body.BreakMode = "always"
		}
		x.Body.Details = &dap.ExceptionDetails{Message: e.message, TypeName: x.Body.ExceptionId, FullTypeName: x.Body.ExceptionId,
			StackTrace: fmt.Sprintf("%s:%d:%d", s.path(p), p.Line, p.Column)}
		s.send(x)
	})
}
