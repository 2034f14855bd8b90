package dap

import (
	"encoding/json"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// of says what is run.
func (s *session) of(q driver.Request) {
	s.program = q
	if in, err := driver.Load(q); err == nil {
		s.root = in.Root
	}
}

// attach comes to the run of `concerto run --debug`.
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

// Attachable makes a run that editors attach to, of a program that is run anyway. It stands before
// its first line until the first of them lets it begin.
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

// detach lets the run go on without the editor.
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

// End says that a run to which editors attach has ended.
func (r *Run) End(code int) {
	r.s.send(&dap.ExitedEvent{Event: event("exited"), Body: dap.ExitedEventBody{ExitCode: code}})
	r.s.send(&dap.TerminatedEvent{Event: event("terminated")})
	r.s.flush()
	close(r.over)
}
