package dap

import (
	"encoding/json"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// setProgram stores the request for the program that the session debugs.
func (s *session) setProgram(q driver.Request) {
	s.program = q
	if in, err := driver.Load(q); err == nil {
		s.root, s.packages = in.Root, in.PackageDirs()
	}
}

// attach attaches the session to the run of `concerto run --debug`.
func (s *session) attach(r *dap.AttachRequest) {
	if s.adapter.Attach == nil {
		s.replyError(r, "no running program to attach to: start one with `concerto run --debug ADDR`")
		return
	}
	if s.launched || s.attached {
		s.replyError(r, "the session already has a program")
		return
	}
	var set struct {
		StopOnEntry bool `json:"stopOnEntry"`
	}
	if err := json.Unmarshal(r.Arguments, &set); err != nil {
		s.replyError(r, "attach: %v", err)
		return
	}
	s.stopOnEntry = set.StopOnEntry
	if !s.adapter.Attach.attach(s) {
		s.replyError(r, "the program has ended")
		return
	}
	s.send(&dap.AttachResponse{Response: newResponse(r)})
}

// Attachable returns a Run to which editors can attach. The program pauses before its first line
// until an editor has attached and sent its configuration.
func Attachable(program driver.Request) *Run {
	detached := detachedSession(&Adapter{})
	detached.setProgram(program)
	return newRun(detached)
}

// attach connects the run to the session of an editor. It returns false if another editor is
// attached.
func (r *Run) attach(s *session) bool {
	before := s.run
	return r.do(func() {
		detached := r.s
		s.program, s.root, s.packages, s.dir = detached.program, detached.root, detached.packages, detached.program.Dir
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

// detach removes the editor from the run, and the run continues.
func (r *Run) detach() {
	r.do(func() {
		r.debuggee.left = true
		r.debuggee.forget()
		r.debuggee.resume()
		detached := detachedSession(&Adapter{})
		detached.program, detached.root, detached.packages = r.s.program, r.s.root, r.s.packages
		r.s = detached
	})
}

// ReportEnd notifies the editor that an attached run has ended.
func (r *Run) ReportEnd(code int) {
	r.s.send(&dap.ExitedEvent{Event: newEvent("exited"), Body: dap.ExitedEventBody{ExitCode: code}})
	r.s.send(&dap.TerminatedEvent{Event: newEvent("terminated")})
	r.s.flush()
	close(r.over)
}
