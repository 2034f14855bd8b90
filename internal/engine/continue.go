package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/engine/durable"
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
	return p.inRun(ctx, &o, func(r *run) error { return r.main(ctx) })
}

// continued runs the successors of a run until one ends in another way. err is the error of the
// run.
func continued(ctx context.Context, o Options, err error) error {
	for {
		c, ok := errors.AsType[*Continued](err)
		if !ok || c.shared {
			return err
		}
		text := fmt.Sprintf("run %s has continued as %s", c.Run, c.As)
		if o.Records.Profile != nil || o.Records.Trace != nil { // one run is all that these formats describe
			o.Records.Profile, o.Records.Trace = nil, nil
			text += ", which its trace and its profile do not contain"
		}
		if r := o.Records.Durable; r != nil && r.Remark != nil {
			r.Remark(text)
		}
		var s *StoredRun
		if s, err = OpenRun(c.Dir); err == nil {
			err = s.resumeSuccessor(ctx, o)
		}
	}
}

// Continued reports whether the run has continued as a new run.
func (s *StoredRun) Continued() bool { return s.stored.Next != nil }

// OpenNewest is like OpenRun, but opens the newest successor that has begun, if the run has
// continued.
func OpenNewest(dir string) (*StoredRun, error) {
	k, err := durable.Newest(openRun(dir))
	if err != nil {
		return nil, err
	}
	return newStoredRun(k, k.Run.Name()), nil
}

// continued returns the error of a run that has continued.
func (s *StoredRun) continued() error {
	return &Continued{Run: s.ID, Dir: s.Dir, As: s.stored.Next.Run, shared: s.shared != nil}
}

// resumeSuccessor runs the successor of a run in a directory, which it creates if it does not
// exist. The end of the run contains everything that the successor needs, so that it is never lost.
func (s *StoredRun) resumeSuccessor(ctx context.Context, o Options) error {
	switch k, err := s.stored.OpenNext(); {
	case err == nil:
		next := newStoredRun(k, k.Run.Name())
		if next.Continued() {
			return next.continued()
		}
		if err := s.stored.Run.NoteSuccessor(); err != nil {
			return err
		}
		return next.resumeOnce(ctx, o)
	case !errors.Is(err, journal.ErrNoRun):
		return err
	}
	p, err := s.Program()
	if err != nil {
		return err
	}
	if err := s.options(&o); err != nil {
		return err
	}
	next := s.stored.Next
	d := s.durable(o.Records.Durable)
	d.Dir, d.Given, d.Continues = s.stored.Run.Sibling(next.Name).Name(), s.Given, next.Continues
	d.begun = s.stored.Run.NoteSuccessor
	o.own.seed, o.own.durable = nil, nil
	o.Inputs, o.Session.SessionID, o.Records.Durable = next.Inputs, next.Run, d
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
