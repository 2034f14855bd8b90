package dap

import (
	"encoding/json"
	"time"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// grace is the time that a run has to end before its hosts are killed.
const grace = 3 * time.Second

// launch starts a run, which pauses before main until the editor has sent its configuration.
func (s *session) launch(r *dap.LaunchRequest) {
	switch {
	case s.adapter.Attach != nil:
		s.replyError(r, "the program is already running: attach to it")
		return
	case s.launched || s.attached:
		s.replyError(r, "the session has already launched a program: start another session")
		return
	}
	l := s.decodeLaunch(r, r.Arguments)
	if l == nil {
		return
	}
	if s.run == nil {
		s.run = newRun(s)
	}
	s.launched = true
	s.start(l)
	s.send(&dap.LaunchResponse{Response: newResponse(r)})
	close(s.run.launched)
}

// decodeLaunch decodes the arguments of a launch. If they are invalid, it sends an error response
// and returns nil.
func (s *session) decodeLaunch(r dap.RequestMessage, arguments json.RawMessage) *Launch {
	l := &Launch{}
	err := json.Unmarshal(arguments, l)
	switch {
	case err != nil:
		s.replyError(r, "launch: %v", err)
		return nil
	case l.Replay != "":
		s.replyError(r, "launch.replay: recorded runs cannot be debugged; use `concerto runs inspect`")
		return nil
	case l.Program == "":
		s.replyError(r, "launch: `program` is missing: set it to a .conc file or a directory with a Concerto.toml")
		return nil
	}
	if l.Cwd == "" {
		l.Cwd = s.adapter.Dir
	}
	return l
}

// start starts s.run. It returns when the run pauses before main or has ended.
func (s *session) start(l *Launch) {
	s.ran = l
	s.dir, s.stopOnEntry, s.showStd = l.Cwd, l.StopOnEntry && !l.NoDebug, l.ShowStd
	s.setProgram(driver.Request{Path: l.Program, Dir: l.Cwd, Mock: l.Mock, Tests: l.Test != ""})
	if l.NoDebug {
		s.run.debuggee.left = true
	}
	s.own.Store(s.run)
	s.current.Store(s.run)
	go s.runProgram(l, s.run)
	<-s.run.loaded
}

// restart stops the launched run and starts another one with the same breakpoints. The new run has
// the same arguments unless the request contains new ones. The editor receives no event for the end
// of the first run.
func (s *session) restart(r *dap.RestartRequest) {
	if !s.launched {
		s.replyError(r, "only a launched program can be restarted: start this one again and attach to it")
		return
	}
	var arguments struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if len(r.Arguments) > 0 {
		if err := json.Unmarshal(r.Arguments, &arguments); err != nil {
			s.replyError(r, "restart: %v", err)
			return
		}
	}
	l := s.ran
	if len(arguments.Arguments) > 0 && string(arguments.Arguments) != "null" {
		if l = s.decodeLaunch(r, arguments.Arguments); l == nil {
			return
		}
	}
	next := newRun(s)
	take := func() {
		next.debuggee.points, next.debuggee.begun = s.run.debuggee.points.copyForRestart(), s.run.debuggee.begun
	}
	s.run.restarted.Store(true)
	if !s.run.do(take) {
		take() // the run's goroutine has ended, so this goroutine may access the debuggee
	}
	s.run.end()
	<-s.run.over
	s.run = next
	s.start(l)
	s.send(&dap.RestartResponse{Response: newResponse(r)})
	close(s.run.launched)
}

// runProgram runs the launched program and reports its end.
func (s *session) runProgram(l *Launch, run *Run) {
	ended := make(chan int, 1)
	go func() { ended <- s.adapter.Command(l, run) }()
	var code int
	select {
	case code = <-ended:
	case code = <-run.lost:
	}
	run.load()
	<-run.launched
	if !run.restarted.Load() {
		s.send(&dap.ExitedEvent{Event: newEvent("exited"), Body: dap.ExitedEventBody{ExitCode: code}})
		s.send(&dap.TerminatedEvent{Event: newEvent("terminated")})
	}
	close(run.over)
}

func (s *session) configured(r *dap.ConfigurationDoneRequest) {
	s.send(&dap.ConfigurationDoneResponse{Response: newResponse(r)})
	if s.launched || s.attached {
		s.run.do(func() { s.run.debuggee.begun = true })
	}
}

func (s *session) terminate(r *dap.TerminateRequest) {
	s.send(&dap.TerminateResponse{Response: newResponse(r)})
	if s.launched || s.attached {
		s.run.end()
	}
}

// disconnect stops a launched run. It detaches from an attached run, which continues.
func (s *session) disconnect(r *dap.DisconnectRequest) {
	if s.attached && r.Arguments != nil && r.Arguments.TerminateDebuggee {
		s.run.end()
		<-s.run.over
	}
	if s.attached { // the process of the program may exit as soon as the run continues
		s.send(&dap.DisconnectResponse{Response: newResponse(r)})
		s.flush()
		s.stopRun()
		return
	}
	s.stopRun()
	s.send(&dap.DisconnectResponse{Response: newResponse(r)})
}

// stopRun stops the run that the session has launched and waits for its end.
func (s *session) stopRun() {
	if s.attached {
		s.run.detach()
	}
	if s.launched {
		s.run.end()
		<-s.run.over
	}
}
