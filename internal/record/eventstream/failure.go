package eventstream

import (
	"cmp"
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/vm"
)

// cancelled is the end of a cancelled task, and the kind of the error of a run that was stopped.
const cancelled = "cancelled"

// exited is the kind of the error of a run that ended with an exit code other than 0.
const exited = "exit"

// reportFailure reports the error with which the run fails, and the errors of tasks that no task
// has awaited.
func (s *Stream) reportFailure(err error) {
	if u, ok := errors.AsType[*vm.Uncaught](err); ok {
		for _, u := range append([]*vm.Uncaught{u}, u.Others...) {
			s.reportError(u.Number, u.Place, s.errorOf(u))
		}
		return
	}
	failed := &effect.Error{Kind: cancelled, Message: s.options.Secrets.Text(err.Error())}
	if e, ok := errors.AsType[*effect.Error](err); ok {
		failed.Kind = e.Kind
	} else if errors.As(err, new(*vm.Exit)) {
		failed.Kind = exited
	}
	at := vm.Place{}
	if stopped, ok := errors.AsType[*vm.Stopped](err); ok {
		at = stopped.Place
	}
	s.reportError(0, at, failed)
}

// reportError reports an error of a task. Task 0 is the run itself.
func (s *Stream) reportError(task int64, at vm.Place, failed *effect.Error) {
	e := s.point(&item{kind: event.Error, parent: cmp.Or(s.failed[task], s.run), task: cmp.Or(task, 1), name: failed.Kind})
	e.Err = failed
	if s.places {
		e.Place = placeOf(at)
	}
	s.emitEvent(e)
}

// errorOf returns the error of a program, with the errors that it wraps, without secrets.
func (s *Stream) errorOf(u *vm.Uncaught) *effect.Error {
	e := &effect.Error{Kind: u.Kind, Message: s.options.Secrets.Text(u.Message)}
	if u.Panic {
		e.Kind = "panic"
	}
	if source := u.Source(); source != nil {
		e.Cause = s.errorOf(source)
	}
	return e
}
