package vm

import (
	"context"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Growing: adds code to a program whose tasks have all ended, and runs it, as a REPL does for each
// line. Application.Grows must be set.

// grows reports whether code may be added to the program later: then nothing may be stored after
// its constants.
func (m *loader) grows() bool {
	return m.config.Application.Grows || m.config.Application.Debugger != nil
}

// Grow loads what ir.Growth added to the program; before describes the program as it was. After an
// error the VM can no longer be used.
func (m *VM) Grow(p *ir.Program, before ir.Grown) error {
	if m.sched.alive > 0 {
		return errors.New("grow a program while its tasks run")
	}
	l, code := loader{m.image, &m.config}, len(m.image.code)
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

// replace records which tools the new ones, from number first on, replace.
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

// Line runs a function of the added code with its captured values, like main: it ends when all
// tasks that it has started have ended. Tools from number first on get their state before it runs.
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
