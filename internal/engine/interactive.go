package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// Machine is a run that executes typed lines one after another. Declarations and values persist
// between lines. Agents retain their conversations, hosts their sessions, and stores their content.
type Machine struct {
	program *Program
	world   *runtime.Runtime
	vm      *vm.VM
	root    string
}

// Interactive calls use with a machine for the program. When use returns, it stops everything that
// the lines have started. The program must be compiled with Source.Plain.
func (p *Program) Interactive(ctx context.Context, o Options, use func(*Machine) error) error {
	root, err := p.base(&o)
	if err != nil {
		return err
	}
	return p.inRun(ctx, &o, func(r *run) error {
		config := vm.Config{Program: p.ir, Natives: stdlib.Native, Performer: r.world, Application: r.application()}
		config.Application.Grows = true
		config.AskPerson = o.asksHosts()
		recorder, err := r.decisions()
		if err != nil {
			return err
		}
		config.Observer = &watch{activity: r.sinks.taskActivity(), decisions: recorder, debugger: o.Records.Debugger}
		m, err := vm.New(config)
		if err != nil {
			return err
		}
		o.reportBegin(r.world)
		if err := m.InitTools(ctx); err != nil {
			return err
		}
		return use(&Machine{p, r.world, m, root})
	})
}

// Program returns the program that was loaded when the machine was created.
func (m *Machine) Program() *ir.Program { return m.program.ir }

// Grow loads additions to the program. p is the program with the additions.
func (m *Machine) Grow(p *ir.Program) error {
	for _, x := range p.Hosts[len(m.vm.Program().Hosts):] {
		c, err := host.ParseConfig(x.Name, x.Connector, x.Params, x.Config, m.root)
		if err != nil {
			return err
		}
		m.world.AddHost(c)
	}
	return m.vm.Grow(p)
}

// Line runs a function that Grow has loaded, with its captured values. It returns when the function
// and all tasks that it started have ended. tools is the index of the first tool whose state is not
// initialised. An error of the program is an *Uncaught.
func (m *Machine) Line(ctx context.Context, function, tools int, captured []value.Slot) (value.Slot, error) {
	v, err := m.vm.Line(ctx, function, tools, captured)
	var failed *vm.Uncaught
	if errors.As(err, &failed) {
		failed.Hint = unkeyed(m.world, failed)
	}
	if flushed := m.world.FlushOutput(context.WithoutCancel(ctx)); flushed != nil && err == nil {
		err = fmt.Errorf("write the output: %w", flushed)
	}
	return v, cleanError(m.world, err)
}
