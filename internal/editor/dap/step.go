package dap

import (
	"context"
	"errors"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/vm"
)

// plan describes where a run that continues stops next.
type plan struct {
	kind  planKind
	task  vm.Scene // task that steps
	depth vm.Depth
	into  *vm.StopPoint // entry of the function into which planInto steps
}

type planKind uint8

const (
	planNone planKind = iota
	planEntry
	planPause
	planIn
	planInto
	planOver
	planOut
)

func (p *plan) reason() string {
	switch p.kind {
	case planEntry:
		return "entry"
	case planPause:
		return "pause"
	}
	return "step"
}

// stopsAt reports whether the plan stops the run at a stop point.
func (p *plan) stopsAt(at vm.Scene, k *vm.StopPoint) bool {
	line := k.Kind == vm.StopLine
	switch p.kind {
	case planNone:
		return false
	case planEntry:
		return line
	case planPause:
		return k.Kind != vm.StopReturn
	}
	if !at.Same(p.task) {
		return line && (p.task.Ended() || p.kind == planIn && (p.task.Awaits(at) || p.task.Starts(at)))
	}
	depth := at.Depth()
	outside := p.depth.Above(depth)
	switch p.kind {
	case planIn:
		return line || outside && k.Kind == vm.StopReturn
	case planInto:
		return p.isDone(depth, k)
	case planOver:
		return line && !depth.Above(p.depth) || outside && k.Kind == vm.StopReturn
	}
	return outside && k.Kind != vm.StopLoop
}

// handleContinue sends the response to a request to continue and stores the plan for the next stop.
func (s *session) handleContinue(r dap.RequestMessage, p plan, thread int, yes dap.Message) {
	s.withStopped(r, func(*stopState) { s.resumeRun(r, p, thread, yes) })
}

// resumeRun continues a stopped run.
func (s *session) resumeRun(r dap.RequestMessage, p plan, thread int, yes dap.Message) {
	if p.kind != planNone {
		at, ok := s.run.debuggee.task(thread)
		if !ok {
			s.replyError(r, "unknown thread %d", thread)
			return
		}
		p.task, p.depth = at, at.Depth()
	}
	s.run.debuggee.plan = p
	s.send(yes)
	s.run.debuggee.resume()
}

// task returns the task with a thread number.
func (d *debuggee) task(n int) (at vm.Scene, ok bool) {
	for _, t := range d.vm.Tasks() {
		if d.threadID(t) == n {
			return t, true
		}
	}
	return at, false
}

// pause stops the run. A run that waits stops immediately, and a run that computes stops at its
// next line.
func (s *session) pause(r *dap.PauseRequest) {
	err := s.onRun(func() {
		s.send(&dap.PauseResponse{Response: newResponse(r)})
		switch {
		case s.run.debuggee.stopped != nil:
		case s.run.debuggee.vm.Computes():
			s.run.debuggee.plan = plan{kind: planPause}
			s.run.debuggee.arm()
		default:
			at, ok := s.run.debuggee.task(r.Arguments.ThreadId)
			if !ok {
				at, ok = s.run.debuggee.task(1)
			}
			if all := s.run.debuggee.vm.Tasks(); !ok && len(all) > 0 {
				at, ok = all[0], true
			}
			if ok {
				s.run.debuggee.halt = &stopState{scene: &at, reason: "pause"}
			}
		}
	})
	if err != nil {
		s.replyError(r, "%v", err)
	}
}

// onRun calls f on the run's goroutine. It returns an error if there is no run. f must not read
// s.ctx, because onRun answers other requests while f evaluates.
func (s *session) onRun(f func()) error {
	switch {
	case !s.launched && !s.attached:
		return errors.New("no program has been launched")
	case !s.run.doAnd(f, s.requests.wake, s.answerInspections):
		if why := context.Cause(s.ctx); why != nil { // the request was cancelled before the program ended
			return why
		}
		return errors.New("the program has ended")
	}
	return nil
}

// withStopped calls f if the run is stopped. Otherwise it sends an error response.
func (s *session) withStopped(r dap.RequestMessage, f func(*stopState)) {
	err := s.onRun(func() {
		if s.run.debuggee.stopped == nil || s.run.debuggee.stopped.scene == nil {
			s.replyError(r, "the program is running: pause it first")
			return
		}
		f(s.run.debuggee.stopped)
	})
	if err != nil {
		s.replyError(r, "%v", err)
	}
}
