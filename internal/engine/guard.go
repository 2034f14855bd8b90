package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/vm"
)

// GuardFunction is the @guard function of a program (spec/51-guard.md). File is an absolute path.
type GuardFunction struct {
	Name, File string
	Line       int // of the function, from 1
}

// GuardOf returns the @guard function of a program, or nil if it has none.
func GuardOf(p *Program) *GuardFunction {
	if p.ir.Guard == nil {
		return nil
	}
	f := &p.ir.Functions[p.ir.Guard.Function]
	g := &GuardFunction{Name: f.Name, Line: f.Line}
	if f.File >= 0 && f.File < len(p.ir.Files) {
		g.File = pathOf(p, p.ir.Files[f.File].Name)
	}
	return g
}

// GuardSources returns the paths and the texts of the source files of a program with a @guard
// function, its modules included.
func GuardSources(p *Program) iter.Seq2[string, string] {
	return func(yield func(path, text string) bool) {
		for _, f := range p.ir.Files {
			if f.Text != "" && !yield(pathOf(p, f.Name), f.Text) {
				return
			}
		}
	}
}

// pathOf returns the absolute path of a source file of the program, or its name if it is none.
func pathOf(p *Program, name string) string {
	isOwn := slices.ContainsFunc(p.ir.Files, func(f ir.File) bool { return f.Name == name && f.Text != "" })
	if !isOwn || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.root, filepath.FromSlash(name))
}

// GuardError means that a @guard function has not returned a decision. File is an absolute path, or
// "" if the place is unknown.
type GuardError struct {
	File    string
	Line    int
	Message string
}

func (e *GuardError) Error() string {
	if e.File == "" {
		return e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// CallGuard calls the @guard function of a program with a HostApproval, and returns its decision,
// both as JSON. It has the effects of a run that is not recorded. waits is called before each
// request of models, hosts and other services. The error is a *GuardError.
func CallGuard(ctx context.Context, p *Program, o Options, approval json.RawMessage, waits func()) (decision json.RawMessage, err error) {
	if p.ir.Guard == nil {
		return nil, &GuardError{Message: "no function has the decorator `@guard`"}
	}
	o.own.layer = func(next effect.Performer) effect.Performer {
		return effect.PerformerFunc(func(ctx context.Context, q effect.Request) (effect.Result, error) {
			if by := effect.Lookup(q.Kind()).By; slices.Contains(services, by) || by == effect.Applications || by == effect.Timers {
				waits()
			}
			return next.Perform(ctx, q)
		})
	}
	var cut *vm.Stopped
	began := false
	call := func(r *run) error {
		began = true
		config, err := r.machineConfig()
		if err != nil {
			return err
		}
		machine, err := vm.New(config)
		if err != nil {
			return err
		}
		r.sinks.follow(machine)
		row, errs := schema.Decode(approval, vm.TypeOf(machine, p.ir.Guard.Approval))
		if len(errs) > 0 {
			return errors.New("could not read the call: " + schema.Join(errs))
		}
		ctx, cancel := r.bound(r.sinks.context(ctx), 0)
		defer cancel()
		outcome, err := machine.Call(ctx, p.ir.Guard.Function, row)
		cut = machine.CutAt()
		if err == nil {
			decision = value.AppendJSON(nil, outcome.Value)
		}
		return err
	}
	for {
		err = p.inRun(ctx, &o, call)
		if err == nil {
			return decision, nil
		}
		if _, locked := errors.AsType[*audit.LockedError](err); !locked || began || ctx.Err() != nil {
			break
		}
		time.Sleep(5 * time.Millisecond) // calls at the same time have one audit log
	}
	return nil, newGuardError(p, err, cut)
}

// newGuardError returns the error of a @guard function. cut is where the end of its time has
// stopped it, or nil.
func newGuardError(p *Program, err error, cut *vm.Stopped) *GuardError {
	if e, ok := errors.AsType[*GuardError](err); ok {
		return e
	}
	f := failureOf(err)
	e := &GuardError{Message: f.Message}
	if f.Kind != "" {
		e.Message = f.Kind + ": " + f.Message
	}
	place := f.Place
	if place.File == "" && cut != nil {
		place = cut.Place
	}
	if place.File != "" {
		e.File, e.Line = pathOf(p, place.File), place.Line
	}
	return e
}
