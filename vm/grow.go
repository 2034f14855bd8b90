package vm

import (
	"context"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Growing: a VM whose tasks have all ended can add code to its program and run it, as a REPL does
// for each line. Application.Grows must be set.

// grows reports whether Grow may add code to the program later. If so, the loader must store
// nothing after the program's constants.
func (m *loader) grows() bool {
	return m.config.Application.Grows || m.debugger != nil
}

// Grow loads the declarations that ir.Growth added to the program. before describes the program
// before the addition. After an error the VM can no longer be used.
func (m *VM) Grow(p *ir.Program, before ir.Grown) error {
	if m.sched.alive > 0 {
		return errors.New("grow a program while its tasks run")
	}
	l, code := loader{image: m.image, config: &m.config, debugger: m.observed.debugger}, len(m.image.code)
	if err := l.graftData(p, before.Functions); err != nil {
		return err
	}
	for i := before.Functions; i < len(p.Functions); i++ {
		f := &m.image.functions[i]
		f.info, f.number = &p.Functions[i], i
		f.Name, f.Params, f.registers = f.info.Name, len(f.info.Params), f.info.Registers
	}
	for i := before.Functions; i < len(p.Functions); i++ {
		if err := l.loadFunction(&m.image.functions[i]); err != nil {
			return fmt.Errorf("load %s: %w", m.image.functions[i].Name, err)
		}
	}
	if err := l.moreMethods(before.Methods); err != nil {
		return err
	}
	if err := l.loadHosts(); err != nil {
		return err
	}
	if err := l.loadDeclaredTools(); err != nil {
		return err
	}
	l.resolveCallsFrom(code)
	m.methods = methodCache{}
	m.replace(before.Tools)
	m.declare()
	return nil
}

// replace records for each tool from number first on which older tool it replaces.
func (m *VM) replace(first int) {
	for i, d := range m.image.toolDecls {
		for _, later := range m.image.toolDecls[max(first, i+1):] {
			if later.info.Name == d.info.Name {
				if m.declared.replaced == nil {
					m.declared.replaced = map[*toolDecl]bool{}
				}
				m.declared.replaced[d] = true
			}
		}
	}
}

// Line runs a function of the added code with the values that it captures. Like main, Line returns
// when all tasks that it started have ended. The tools from number first on receive their initial
// state before the function runs.
func (m *VM) Line(ctx context.Context, function, first int, captured []value.Slot) (v value.Slot, err error) {
	m.ending = ending{}
	if first < len(m.declared.tools) {
		if err := m.initToolsFrom(ctx, first); err != nil {
			return v, err
		}
		m.ending = ending{}
	}
	f := &m.image.functions[function]
	return m.runClosure(ctx, f, value.NewClosure(&f.Function, captured...).Ref, nil)
}
