package timetravel

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/vm"
)

// Session inspects a recorded run. It has a current position, and can move it forwards and
// backwards to any effect and any line. A Session is not safe for concurrent use.
type Session struct {
	r     *Recording
	dir   string // directory of the snapshot files
	snaps []snap // in order of their positions
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

// snap is a snapshot in a file, with its position.
type snap struct {
	effects, lines int64
	cursor         int
	file           string
}

// every is the number of effects between snapshots.
const every = 1000

// Look starts a session before the first line of the run.
func (r *Recording) Look() (*Session, error) {
	dir, err := os.MkdirTemp("", "concerto-inspect-")
	if err != nil {
		return nil, fmt.Errorf("could not create a directory for snapshots: %w", err)
	}
	return &Session{r: r, dir: dir}, nil
}

// Close ends the session and removes its snapshots.
func (s *Session) Close() error {
	s.endPlaying()
	return os.RemoveAll(s.dir)
}

// ToEffect moves to the position before effect n, or to the end if there is no effect n.
func (s *Session) ToEffect(n int64) error {
	return s.to(n > s.Effects && !s.Ended, func(x snap) bool { return x.effects < n }, func(e, _ int64) bool { return e == n })
}

// ToLine moves to the nth executed line, counted from 1, or to the end if fewer lines were
// executed.
func (s *Session) ToLine(n int64) error {
	return s.to(n > s.Lines && !s.Ended, func(x snap) bool { return x.lines < n }, func(e, line int64) bool { return e == 0 && line == n })
}

// to moves to the next position that want accepts. If ahead is set, that position is after the
// current one, and the run continues from here if no snapshot is nearer. Otherwise the run starts
// at the last snapshot that before accepts.
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

// endPlaying stops the replayed run, if there is one.
func (s *Session) endPlaying() {
	if s.run != nil {
		s.run.leaving = true
		s.stop()
		s.run = nil
	}
}

// playFrom starts replaying from a snapshot by its index, or from the start of the run if from is
// negative.
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
			_ = s.r.start(context.Background(), m) // Play has reported how the run ends
		} else {
			_, _ = m.Resume(context.Background())
		}
	})
	return nil
}

// machine returns a VM at the start of the run if from is negative, otherwise restored from a
// snapshot.
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

// takeSnapshot takes a snapshot if at least every effects were performed since the last one.
func (s *Session) takeSnapshot(a *replayed, m *vm.VM) {
	if a.leaving || len(s.snaps) > 0 && a.effects < s.snaps[len(s.snaps)-1].effects+every || a.effects < every {
		return
	}
	data, err := m.Snapshot(vm.Snapshot{})
	if err != nil {
		return // the next call tries again; moving back takes longer without the snapshot
	}
	x := snap{a.effects, a.lines, a.cursor, filepath.Join(s.dir, fmt.Sprintf("%d.bin", a.effects))}
	if os.WriteFile(x.file, data, 0o600) == nil {
		s.snaps = append(s.snaps, x)
	}
}

// Snapshots returns the number of existing snapshots.
func (s *Session) Snapshots() int { return len(s.snaps) }
