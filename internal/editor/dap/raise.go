package dap

import (
	"fmt"
	"slices"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/compile/literal"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// The ids of the exception filters.
const (
	filterUncaught = "uncaught"
	filterThrown   = "thrown"
	filterErr      = "err"
)

// filters lists the exception filters.
var filters = []dap.ExceptionBreakpointsFilter{
	{Filter: filterUncaught, Label: "Uncaught errors", Description: "Errors that the program does not catch", Default: true, SupportsCondition: true, ConditionDescription: "an expression on `e`, the error"},
	{Filter: filterThrown, Label: "All errors", Description: "Every error that is raised, including faults", SupportsCondition: true, ConditionDescription: "an expression on `e`, the error"},
	{Filter: filterErr, Label: "Propagated errors", Description: "An Err that `?` returns from a function", SupportsCondition: true, ConditionDescription: "an expression on `e`, the error"},
}

// filter is an exception filter that the editor has set, with its condition.
type filter struct {
	name, condition string
	reported        bool
}

func (s *session) setExceptionBreakpoints(r *dap.SetExceptionBreakpointsRequest) {
	x := &dap.SetExceptionBreakpointsResponse{Response: newResponse(r)}
	s.withRun(r, x, func(run *Run) {
		run.debuggee.points.raise = nil
		add := func(name, condition string) {
			ok := slices.ContainsFunc(filters, func(f dap.ExceptionBreakpointsFilter) bool { return f.Filter == name })
			b := dap.Breakpoint{Verified: ok}
			if ok {
				run.debuggee.points.raise = append(run.debuggee.points.raise, &filter{name: name, condition: condition})
			} else {
				b.Message = "unknown exception filter " + name
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

// OnError is called when the program raises an error. It stops the run if a filter selects the
// error.
func (r *Run) OnError(at vm.Scene, x vm.Raise) {
	if r.debuggee.left || r.debuggee.lastError == x.Value && !x.Value.IsNil() {
		return
	}
	y := &stopState{scene: &at, reason: "exception", raise: &x}
	for _, f := range r.debuggee.points.raise {
		if !f.matches(x) {
			continue
		}
		if f.condition != "" && !r.conditionHolds(y, f) {
			continue
		}
		r.debuggee.lastError = x.Value
		e := describeError(x.Value)
		y.text = e.message
		if e.kind != "" {
			y.text = e.kind + ": " + e.message
		}
		r.stop(y)
		return
	}
}

// matches reports whether a filter selects an error. It does not evaluate the filter's condition.
func (f *filter) matches(x vm.Raise) bool {
	switch f.name {
	case filterUncaught:
		return !x.Caught
	case filterThrown:
		return !x.Propagated
	}
	return x.Propagated
}

// conditionHolds reports whether the condition of a filter is true for the error at which the run
// stops. A condition that fails counts as true.
func (r *Run) conditionHolds(y *stopState, f *filter) bool {
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
		v, err = r.executeWith(ref, c, e)
	}
	if err != nil {
		if !f.reported {
			f.reported = true
			r.s.sendOutput("important", "the condition `"+f.condition+"`: "+err.Error()+"\n")
		}
		return true
	}
	return v.Kind() == value.KindBool && v.AsBool()
}

// executeWith runs an expression whose value is a closure with one parameter and calls the closure
// with argument.
func (r *Run) executeWith(f *frameRef, c *compiled, argument value.Slot) (value.Slot, error) {
	h := evalOptions{quiet: true}
	v, err := r.execute(f, c, h)
	if err != nil {
		return v, err
	}
	value.Share(argument)
	return r.debuggee.vm.EvaluateClosure(r.stopper(h), v, argument)
}

// raisedError is the kind and the message of an error, for the editor.
type raisedError struct{ kind, message string }

func describeError(v value.Slot) (t raisedError) {
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
	s.withStopped(r, func(at *stopState) {
		if at.raise == nil || s.run.debuggee.threadID(*at.scene) != r.Arguments.ThreadId {
			s.replyError(r, "thread %d is not stopped at an error", r.Arguments.ThreadId)
			return
		}
		e := describeError(at.raise.Value)
		p := at.scene.Place()
		x := &dap.ExceptionInfoResponse{Response: newResponse(r)}
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
