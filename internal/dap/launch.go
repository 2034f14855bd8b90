package dap

import (
	"encoding/json"
	"time"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/driver"
)

// grace is how long a run may take to end before its hosts are killed.
const grace = 3 * time.Second

// launch begins a run, which stands before main until the editor has said what it wants.
func (s *session) launch(r *dap.LaunchRequest) {
	var l Launch
	if err := json.Unmarshal(r.Arguments, &l); err != nil {
		s.refuse(r, "launch: %v", err)
		return
	}
	switch {
	case s.adapter.Attach != nil:
		s.refuse(r, "the program has been started already: attach to it")
		return
	case s.launched || s.attached:
		s.refuse(r, "a program has been launched already: each session runs one")
		return
	case l.Replay != "":
		s.refuse(r, "launch.replay: recorded runs are not debugged yet; `concerto inspect` looks at them")
		return
	case l.Program == "":
		s.refuse(r, "launch: `program` is missing: name a .conc file, or a directory with a Concerto.toml")
		return
	}
	if l.Cwd == "" {
		l.Cwd = s.adapter.Dir
	}
	if s.run == nil {
		s.run = newRun(s)
	}
	s.launched, s.dir, s.stopOnEntry, s.showStd = true, l.Cwd, l.StopOnEntry && !l.NoDebug, l.ShowStd
	s.of(driver.Request{Path: l.Program, Dir: l.Cwd, Mock: l.Mock, Tests: l.Test != ""})
	if l.NoDebug {
		s.run.left = true
	}
	s.own.Store(s.run)
	go s.runs(&l, s.run)
	<-s.run.loaded
	s.send(&dap.LaunchResponse{Response: answer(r)})
	close(s.run.launched)
}

// runs runs the launched program, and tells of its end.
func (s *session) runs(l *Launch, run *Run) {
	code := s.adapter.Command(l, run)
	run.load()
	<-run.launched
	s.send(&dap.ExitedEvent{Event: event("exited"), Body: dap.ExitedEventBody{ExitCode: code}})
	s.send(&dap.TerminatedEvent{Event: event("terminated")})
	close(run.over)
}

func (s *session) configured(r *dap.ConfigurationDoneRequest) {
	s.send(&dap.ConfigurationDoneResponse{Response: answer(r)})
	if s.launched || s.attached {
		s.run.do(func() { s.run.begun = true })
	}
}

func (s *session) terminate(r *dap.TerminateRequest) {
	s.send(&dap.TerminateResponse{Response: answer(r)})
	if s.launched || s.attached {
		s.run.end()
	}
}

// disconnect ends a launched run, and lets one go on that was attached to.
func (s *session) disconnect(r *dap.DisconnectRequest) {
	if s.attached && r.Arguments != nil && r.Arguments.TerminateDebuggee {
		s.run.end()
		<-s.run.over
	}
	if s.attached { // the program may end at once
		s.send(&dap.DisconnectResponse{Response: answer(r)})
		s.leave()
		return
	}
	s.leave()
	s.send(&dap.DisconnectResponse{Response: answer(r)})
}

// leave ends what the session has run.
func (s *session) leave() {
	if s.attached {
		s.run.detach()
	}
	if s.launched {
		s.run.end()
		<-s.run.over
	}
}
