package dap

import (
	"encoding/json"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// of sets the program.
func (s *session) of(q driver.Request) {
	s.program = q
	if in, err := driver.Load(q); err == nil {
		s.root = in.Root
	}
}

// attach attaches to the run of `concerto run --debug`.
func (s *session) attach(r *dap.AttachRequest) {
	if s.adapter.Attach == nil {
		s.refuse(r, "there is nothing to attach to: `concerto run --debug ADDR` waits for that")
		return
	}
	if s.launched || s.attached {
		s.refuse(r, "the session has a program already")
		return
	}
	var set struct {
		StopOnEntry bool `json:"stopOnEntry"`
	}
	if err := json.Unmarshal(r.Arguments, &set); err != nil {
		s.refuse(r, "attach: %v", err)
		return
	}
	s.stopOnEntry = set.StopOnEntry
	if !s.adapter.Attach.attach(s) {
		s.refuse(r, "the program has ended")
		return
	}
	s.send(&dap.AttachResponse{Response: answer(r)})
}

// Attachable returns a Run for a running program to which editors can attach. It pauses before its
// first line until an editor has attached and configured it.
func Attachable(program driver.Request) *Run {
	nobody := noSession(&Adapter{})
	nobody.of(program)
	return newRun(nobody)
}

// attach returns the run to an editor.
func (r *Run) attach(s *session) bool {
	before := s.run
	return r.do(func() {
		nobody := r.s
		s.program, s.root, s.dir = nobody.program, nobody.root, nobody.program.Dir
		r.s, r.debuggee.left = s, false
		s.run, s.attached = r, true
		s.current.Store(r)
		if before != nil {
			r.debuggee.points = before.debuggee.points
			r.debuggee.points.bind(r)
		}
		r.debuggee.arm()
	})
}

// detach continues the run without the editor.
func (r *Run) detach() {
	r.do(func() {
		r.debuggee.left = true
		r.debuggee.forget()
		r.debuggee.resume()
		nobody := noSession(&Adapter{})
		nobody.program, nobody.root = r.s.program, r.s.root
		r.s = nobody
	})
}

// End reports that an attached run has ended.
func (r *Run) End(code int) {
	r.s.send(&dap.ExitedEvent{Event: event("exited"), Body: dap.ExitedEventBody{ExitCode: code}})
	r.s.send(&dap.TerminatedEvent{Event: event("terminated")})
	r.s.flush()
	close(r.over)
}
