package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/vm"
)

// GuardFunction is the @guard function of a program (spec/51-guard.md). File is an absolute path.
type GuardFunction struct {
	Name, File string
	Line       int // of the function, from 1

	of *Program
}

// GuardOf returns the @guard function of a program, or nil if it has none.
func GuardOf(p *Program) *GuardFunction {
	if p.ir.Guard == nil {
		return nil
	}
	f := &p.ir.Functions[p.ir.Guard.Function]
	g := &GuardFunction{Name: f.Name, Line: f.Line, of: p}
	if f.File >= 0 && f.File < len(p.ir.Files) {
		g.File = g.pathOf(p.ir.Files[f.File].Name)
	}
	return g
}

// Sources returns the paths and the texts of the program's own source files, its modules included.
func (g *GuardFunction) Sources() iter.Seq2[string, string] {
	return func(yield func(path, text string) bool) {
		for _, f := range g.of.ir.Files {
			if f.Text != "" && !yield(g.pathOf(f.Name), f.Text) {
				return
			}
		}
	}
}

// pathOf returns the absolute path of a source file of the program, or its name if it is none.
func (g *GuardFunction) pathOf(name string) string {
	p := g.of
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

// Call calls the function with a HostApproval, and returns its decision, both as JSON. It has the
// effects of a run that is not recorded. waits is called before each request of models, hosts and
// other services. The error is a *GuardError.
func (g *GuardFunction) Call(ctx context.Context, o Options, approval json.RawMessage, waits func()) (decision json.RawMessage, err error) {
	p := g.of
	o.own.layers = []effect.Layer{func(next effect.Performer) effect.Performer {
		return effect.PerformerFunc(func(ctx context.Context, q effect.Request) (effect.Result, error) {
			if by := effect.Lookup(q.Kind()).By; slices.Contains(services, by) || by == effect.Applications || by == effect.Timers {
				waits()
			}
			return next.Perform(ctx, q)
		})
	}}
	var cut *vm.Stopped
	err = p.inWorld(ctx, &o, func(world *runtime.Runtime, f *sinks) error {
		config, err := o.machineConfig(p, world, f)
		if err != nil {
			return err
		}
		machine, err := vm.New(config)
		if err != nil {
			return err
		}
		f.follow(machine)
		row, errs := schema.Decode(approval, vm.TypeOf(machine, p.ir.Guard.Approval))
		if len(errs) > 0 {
			return errors.New("could not read the call: " + schema.Join(errs))
		}
		ctx, cancel := budget.Rest(f.context(ctx), world.Clock(), narrower(p.ir.Limits.MaxRunSeconds, o.budget().RunSeconds), 0)
		defer cancel()
		outcome, err := machine.Call(ctx, p.ir.Guard.Function, row)
		cut = machine.CutAt()
		if err == nil {
			decision = value.AppendJSON(nil, outcome.Value)
		}
		return err
	})
	if err == nil {
		return decision, nil
	}
	return nil, g.failure(err, cut)
}

// failure returns the error of the function. cut is where the end of its time has stopped
// it, or nil.
func (g *GuardFunction) failure(err error, cut *vm.Stopped) *GuardError {
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
		e.File, e.Line = g.pathOf(place.File), place.Line
	}
	return e
}
