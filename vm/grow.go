package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Growing: code is added to the program of a VM and runs there, as a REPL does for each line and a
// debugger for each expression. Application.Grows must be set, or the run must have a debugger.

// grows reports whether Grow may add code to the program later. If so, the loader must store
// nothing after the program's constants.
func (m *loader) grows() bool {
	return m.config.Application.Grows || observedBy(m.config.Observer).debugger != nil
}

// Space that a debugged run reserves for expressions, in instructions and in constants.
const (
	spareCode      = 1 << 18
	spareConstants = 1 << 14
)

// makeRoom reserves space so that code and constants can grow without being moved.
func (m *loader) makeRoom() {
	m.code = slices.Grow(m.code, spareCode)
	m.constants = slices.Grow(m.constants, spareConstants)
}

// hasRoom reports whether the functions of p from number n on can be loaded without moving code and
// constants. An instruction of the IR becomes at most four.
func (m *image) hasRoom(p *ir.Program, n int) bool {
	code := len(m.code)
	for i := n; i < len(p.Functions); i++ {
		f := &p.Functions[i]
		code += 4*len(f.Code) + 2
		for j := range f.Listens {
			for k := range f.Listens[j].Handlers {
				code += 4*len(f.Listens[j].Handlers[k].Code) + 1
			}
		}
	}
	return len(p.Constants) <= cap(m.constants) && code <= cap(m.code)
}

// Grow loads the declarations that ir.Growth added to the program, and p is the result. Added code
// has no stop points. The VM's tasks have ended, or are stopped by a debugger, which has no space
// for an unlimited number of additions. After an error the VM can load no further additions.
func (m *VM) Grow(p *ir.Program) error {
	before := m.image.program
	first := len(before.Functions)
	if m.sched.alive > 0 {
		if !m.image.hasRoom(p, first) {
			return errors.New("no more expressions can be evaluated: restart the program")
		}
		m.image.positionMap() // the map is computed before the addition: no code requests positions of added functions
	}
	l, code := loader{image: m.image, config: &m.config}, len(m.image.code)
	if err := l.growData(p, first); err != nil {
		return err
	}
	for i := first; i < len(p.Functions); i++ {
		f := &m.image.functions[i]
		f.info, f.number = &p.Functions[i], i
		f.Name, f.Params, f.registers = f.info.Name, len(f.info.Params), f.info.Registers
	}
	for i := first; i < len(p.Functions); i++ {
		if err := l.loadFunction(&m.image.functions[i]); err != nil {
			return fmt.Errorf("load %s: %w", m.image.functions[i].Name, err)
		}
	}
	if err := l.moreMethods(len(before.Methods)); err != nil {
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
	m.replace(len(before.Tools))
	m.declare()
	return nil
}

// growData adds the constants, types and natives to which the added code refers, and reserves
// space for the functions from number n on.
func (m *loader) growData(p *ir.Program, n int) error {
	m.constants = m.constants[:len(m.program.Constants)] // remove the padding
	for _, c := range p.Constants[len(m.program.Constants):] {
		m.constants = append(m.constants, constantOf(c))
	}
	if err := m.growTables(p); err != nil {
		return err
	}
	m.functions = append(m.functions, make([]function, len(p.Functions)-n)...)
	m.closures = append(m.closures, make([]value.Slot, len(p.Functions)-n)...)
	m.program = p
	return nil
}

// resolveCallsFrom resolves the calls in the instructions from index code on.
func (m *loader) resolveCallsFrom(code int) {
	m.resolveCalls(code)
	for pc := code; pc < len(m.code); pc++ {
		if in := &m.code[pc]; ir.Op(in.op) == ir.OpCallNative {
			if n, moved := m.debug.natives[in.imm]; moved {
				in.imm = n
			}
		}
	}
}

// growTables adds the types and natives of the grown program that the image does not contain.
func (m *loader) growTables(p *ir.Program) error {
	was := m.program
	m.program = p
	defer func() { m.program = was }()
	if err := m.moreTypes(len(was.Types)); err != nil {
		return err
	}
	own := len(was.Natives)
	for i, name := range p.Natives[own:] {
		call := m.find(name)
		if call == nil {
			return fmt.Errorf("unknown library function %s", name)
		}
		if m.debug.natives == nil {
			m.debug.natives = map[int32]int32{}
		}
		m.debug.natives[int32(own+i)] = int32(len(m.natives)) // the image's table also contains natives of effects, so that the indexes differ
		m.natives = append(m.natives, native{name, call})
	}
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
