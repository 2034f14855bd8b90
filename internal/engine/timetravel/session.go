package timetravel

import (
	"context"
	"iter"

	"github.com/concerto-lang/concerto/vm"
)

// Session inspects a recorded run. It has a current position, and can move it forwards and
// backwards to any effect and any line. Backwards, it replays the run from its start: the results
// of its effects are known, so that a run of 50,000 effects takes some 10 milliseconds. A Session
// is not safe for concurrent use.
type Session struct {
	r *Recording
	View
	run  *replayed // nil before the first move and at the end of the recording
	next func() (View, bool)
	stop func()
	want func(e, line int64) bool
}

// View is a position in a run.
type View struct {
	Effect  int64 // number of the effect that is performed next; 0 at a line and at the end
	Effects int64 // number of effects up to the position, including Effect
	Lines   int64 // number of executed lines in the program's own files
	Task    int64
	Frames  []Frame
	Ended   bool // the position is the end of the recording
}

// Look starts a session before the first line of the run.
func (r *Recording) Look() *Session { return &Session{r: r} }

// Close ends the session.
func (s *Session) Close() { s.endPlaying() }

// ToEffect moves to the position before effect n, or to the end if there is no effect n.
func (s *Session) ToEffect(n int64) error {
	return s.to(n > s.Effects && !s.Ended, func(e, _ int64) bool { return e == n })
}

// ToLine moves to the nth executed line, counted from 1, or to the end if fewer lines were
// executed.
func (s *Session) ToLine(n int64) error {
	return s.to(n > s.Lines && !s.Ended, func(e, line int64) bool { return e == 0 && line == n })
}

// to moves to the next position that want accepts. If ahead is set, that position is after the
// current one, and the run continues from here. Otherwise it starts again.
func (s *Session) to(ahead bool, want func(e, line int64) bool) error {
	s.want = want
	if !ahead || s.run == nil {
		s.endPlaying()
		if err := s.play(); err != nil {
			return err
		}
	}
	s.run.idle = 0
	v, ok := s.next()
	if !ok {
		v = View{Effects: s.run.effects, Lines: s.run.lines, Ended: true}
		s.endPlaying()
	}
	s.View = v
	return nil
}

// endPlaying stops the replayed run, if there is one.
func (s *Session) endPlaying() {
	if s.run != nil {
		s.run.leaving = true
		s.stop()
		s.run = nil
	}
}

// play starts replaying the run from its start.
func (s *Session) play() error {
	a := &replayed{log: &s.r.log}
	if s.r.cutOff {
		a.recorded = int64(len(s.r.Effects))
	}
	c := s.r.config
	c.Performer, c.Durable = noPerformer{}, a
	m, err := vm.New(c)
	if err != nil {
		return err
	}
	s.run = a
	s.next, s.stop = iter.Pull(func(yield func(View) bool) {
		a.sees = func(e int64, at vm.Scene) bool {
			if !s.want(e, a.lines) {
				return true
			}
			return yield(View{Effect: e, Effects: a.effects, Lines: a.lines, Task: at.Task(), Frames: framesOf(at, s.r.clean)})
		}
		_ = s.r.start(context.Background(), m) // Play has reported how the run ends
	})
	return nil
}
