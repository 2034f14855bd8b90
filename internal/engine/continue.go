package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/runtime"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/vm"
)

// Continued means that a run in a shared store has ended, and that a worker will execute its
// successor. The error of a run in a directory is that of its last successor.
type Continued struct {
	Run, Dir string
	As       string // id of the successor
	shared   bool
}

func (e *Continued) Error() string { return "the run has continued as " + e.As }

// isContinued reports whether a run has ended because its program continues as a new run.
func isContinued(err error) bool { return errors.As(err, new(*vm.Continued)) }

// successor returns the successor of a run that ends with err, and the rest of err. It returns nil
// if there is none.
func (d *durableRun) successor(err error) (*journal.Successor, error) {
	c, ok := errors.AsType[*vm.Continued](err)
	if !ok {
		return nil, err
	}
	return durable.Successor(d.id, filepath.Base(d.stored.Name()), d.begun.Continues, d.run.Clean(c.Inputs), c.Questions), nil
}

// runOnce runs a program until it ends or has continued as a new run. Only continued, and what it
// calls, may start the next run: a chain of a million runs must not nest.
func runOnce(ctx context.Context, p *Program, o Options) error {
	return p.inWorld(ctx, &o, func(world *runtime.Runtime, f *sinks) error { return p.runMain(ctx, world, f, &o) })
}

// continued runs the successors of a run until one ends in another way. err is the error of the
// run.
func continued(ctx context.Context, o Options, err error) error {
	for {
		c, ok := errors.AsType[*Continued](err)
		if !ok || c.shared {
			return err
		}
		if r := o.Records.Durable; r != nil && r.Remark != nil {
			r.Remark(fmt.Sprintf("run %s has continued as %s", c.Run, c.As))
		}
		// these formats describe one run
		o.Records.Profile, o.Records.Trace = nil, nil
		var s *StoredRun
		if s, err = OpenRun(c.Dir); err == nil {
			err = s.resumeSuccessor(ctx, o)
		}
	}
}

// Successor returns the path of the directory of a run's successor, or "" if it has none.
func (s *StoredRun) Successor() string {
	if !s.stored.History.Continued() {
		return ""
	}
	return s.stored.Run.Sibling(journal.SuccessorName(filepath.Base(s.stored.Run.Name()), s.before())).Name()
}

// OpenNewest is like OpenRun, but opens the newest existing successor of a run that has continued.
func OpenNewest(dir string) (*StoredRun, error) {
	s, err := OpenRun(dir)
	for err == nil && s.Successor() != "" {
		next, nerr := s.openSuccessor()
		if errors.Is(nerr, journal.ErrNoRun) {
			break // the process of the run ended before it created the successor
		}
		s, err = next, nerr
	}
	return s, err
}

// before returns the number of runs before this one.
func (s *StoredRun) before() int {
	if c := s.stored.Flags.Continues; c != nil {
		return c.N
	}
	return 0
}

// openSuccessor opens the successor of a run. The error may also be a *journal.DamagedError if its
// directory contains another run.
func (s *StoredRun) openSuccessor() (*StoredRun, error) {
	next, err := OpenRun(s.Successor())
	if as := journal.SuccessorName(s.ID, s.before()); err == nil && next.ID != as {
		return nil, &journal.DamagedError{Where: next.Dir, Why: fmt.Sprintf("it contains run %s, but run %s has continued there as %s", next.ID, s.ID, as),
			Next: "move it away, and resume again"}
	}
	return next, err
}

// continued returns the error of a run that has continued.
func (s *StoredRun) continued() error {
	return &Continued{Run: s.ID, Dir: s.Dir, As: journal.SuccessorName(s.ID, s.before()), shared: s.shared != nil}
}

// resumeSuccessor runs the successor of a run in a directory, which it creates if it does not
// exist. The end of the run contains everything that the successor needs, so that it is never lost.
func (s *StoredRun) resumeSuccessor(ctx context.Context, o Options) error {
	switch next, err := s.openSuccessor(); {
	case err == nil && next.Successor() != "":
		return next.continued()
	case err == nil:
		return next.resumeOnce(ctx, o)
	case !errors.Is(err, journal.ErrNoRun):
		return err
	}
	as, err := s.stored.Successor()
	if err != nil {
		return err
	}
	p, err := s.Program()
	if err != nil {
		return err
	}
	if err := s.options(&o); err != nil {
		return err
	}
	d := s.durable(o.Records.Durable)
	d.Dir, d.Given = s.Successor(), s.Given
	d.Continues = as.Continues
	o.own.seed, o.own.durable = nil, nil
	o.Inputs, o.Session.SessionID, o.Records.Durable = as.Inputs, as.Run, d
	return runOnce(ctx, p, o)
}

// durable returns how a run is stored: as o, if it is not nil, and otherwise as before.
func (s *StoredRun) durable(o *Durable) *Durable {
	d := Durable{}
	if o != nil {
		d = *o
	}
	if !d.Park && !d.Wait {
		d.Park, d.Wait = s.stored.Flags.Park, s.stored.Flags.Wait
	}
	if d.Sync == "" {
		d.Sync = s.stored.Flags.Sync
	}
	return &d
}
