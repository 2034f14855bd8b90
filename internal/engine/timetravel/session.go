package timetravel

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/vm"
)

// Session inspects a recorded run: it is at a position, and can move to any effect and any line,
// forwards and backwards. It is not safe for concurrent use.
type Session struct {
	r     *Recording
	dir   string // its directory of snapshots
	snaps []snap // in order
	View
	run  *replayed // nil before the first, and after the end
	next func() (View, bool)
	stop func()
	want func(e, line int64) bool
}

// View is a position in a run.
type View struct {
	Effect  int64 // the effect that it is about to perform; 0 at a line, and at the end
	Effects int64 // number of effects so far, including that one
	Lines   int64 // number of lines of the program's own files so far
	Task    int64
	Frames  []Frame
	Ended   bool // it is at the end of the recording
}

// snap is a snapshot in a file.
type snap struct {
	effects, lines int64
	cursor         int
	file           string
}

// every is the number of effects between snapshots.
const every = 1000

// Look begins to inspect the run, before its first line.
func (r *Recording) Look() (*Session, error) {
	dir, err := os.MkdirTemp("", "concerto-inspect-")
	if err != nil {
		return nil, fmt.Errorf("could not create a directory for snapshots: %w", err)
	}
	return &Session{r: r, dir: dir}, nil
}

// Close ends the session, and removes its snapshots.
func (s *Session) Close() error {
	s.endPlaying()
	return os.RemoveAll(s.dir)
}

// ToEffect moves to the position before an effect, or to the end if there is none with that number.
func (s *Session) ToEffect(n int64) error {
	return s.to(n > s.Effects && !s.Ended, func(x snap) bool { return x.effects < n }, func(e, _ int64) bool { return e == n })
}

// ToLine moves to a line by its number in the order of execution, from 1, or to the end.
func (s *Session) ToLine(n int64) error {
	return s.to(n > s.Lines && !s.Ended, func(x snap) bool { return x.lines < n }, func(e, line int64) bool { return e == 0 && line == n })
}

// to moves to a position: from here if it is ahead, otherwise from the last snapshot before it.
func (s *Session) to(ahead bool, before func(snap) bool, want func(e, line int64) bool) error {
	s.want = want
	from := -1
	for i, x := range s.snaps {
		if before(x) {
			from = i
		}
	}
	nearer := ahead && s.run != nil && (from < 0 || s.snaps[from].effects <= s.Effects)
	if !nearer {
		s.endPlaying()
		if err := s.playFrom(from); err != nil {
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

// endPlaying ends the run that is being played.
func (s *Session) endPlaying() {
	if s.run != nil {
		s.run.leaving = true
		s.stop()
		s.run = nil
	}
}

// playFrom plays the run from a snapshot, or from its beginning.
func (s *Session) playFrom(from int) error {
	a := &replayed{log: &s.r.log}
	if s.r.cutOff {
		a.recorded = int64(len(s.r.Effects))
	}
	c := s.r.config
	c.Performer, c.Journal, c.Past = noPerformer{}, seeing{a}, a
	c.Boundary = func(m *vm.VM) { s.takeSnapshot(a, m) }
	m, err := s.machine(c, a, from)
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
		if from < 0 {
			_, _ = m.Run(context.Background()) // its end was noted when it was played first
		} else {
			_, _ = m.Resume(context.Background())
		}
	})
	return nil
}

// machine returns a VM at the beginning of the run, or restored from a snapshot.
func (s *Session) machine(c vm.Config, a *replayed, from int) (*vm.VM, error) {
	if from < 0 {
		return vm.New(c)
	}
	x := s.snaps[from]
	data, err := os.ReadFile(x.file)
	if err != nil {
		return nil, fmt.Errorf("could not read a snapshot: %w", err)
	}
	a.cursor, a.effects, a.lines = x.cursor, x.effects, x.lines
	return vm.Restore(c, data)
}

// takeSnapshot takes a snapshot if one is scheduled and possible.
func (s *Session) takeSnapshot(a *replayed, m *vm.VM) {
	if a.leaving || len(s.snaps) > 0 && a.effects < s.snaps[len(s.snaps)-1].effects+every || a.effects < every {
		return
	}
	data, err := m.Snapshot(vm.Snapshot{})
	if err != nil {
		return // try again at the next one; without snapshots moving takes longer
	}
	x := snap{a.effects, a.lines, a.cursor, filepath.Join(s.dir, fmt.Sprintf("%d.bin", a.effects))}
	if os.WriteFile(x.file, data, 0o600) == nil {
		s.snaps = append(s.snaps, x)
	}
}

// Snapshots returns the number of snapshots.
func (s *Session) Snapshots() int { return len(s.snaps) }
