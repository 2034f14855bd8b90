package codegen

import (
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// Registers form a stack: the variables of a block, and above them the temporaries of the current
// expression. The spill block contains the variables beyond register spillFrom. It is an array in
// one register.

const spillFrom = 150

// variable is the location of a local variable: a register, a cell in a register, or a slot of the
// spill block.
type variable struct {
	reg   int
	class ir.Class
	cell  bool
	slot  int // slot in the spill block, if spill is set
	spill bool
	// captured reports that a closure or body also holds the value.
	captured bool
	// borrowed reports that another variable also holds the value. The other variable does not
	// change the value while this variable lives.
	borrowed bool
	// depth is the number of regions and handlers that enclose the variable's scope.
	depth int
	named int // index in names.scoped plus one; 0 if the variable has no name
}

// spill is the state of the spill block of a function.
type spill struct {
	on       bool
	reg      int // register of the block
	slots    int
	at       source.Pos // source position at which no register was left
	overflow bool
	count    int // index of the instruction that contains the number of slots
}

// alloc allocates the next register.
func (f *builder) alloc() int {
	r := f.top
	f.names.since[min(r, len(f.names.since)-1)] = f.next()
	if r >= ir.MaxRegisters {
		if !f.spill.overflow {
			f.spill.overflow, f.spill.at = true, f.pos
		}
		return ir.MaxRegisters - 1
	}
	f.top++
	f.out.Registers = max(f.out.Registers, f.top)
	return r
}

// free frees all registers from r on, and ends the scopes of the variables in them.
func (f *builder) free(r int) {
	if f.spill.overflow {
		return
	}
	f.endLocals(r)
	for i := r; i < f.top; i++ {
		f.isVar[i] = false
	}
	f.top = r
}

// startSpill creates the spill block if on is set. The number of its slots is filled in when the
// function is complete.
func (f *builder) startSpill(on bool) {
	f.spill.on = on
	if !on {
		return
	}
	f.spill.reg = f.alloc()
	f.isVar[f.spill.reg] = true
	i, n, x := f.alloc(), f.alloc(), f.alloc()
	f.emit(ir.OpNewArray, f.spill.reg, i, 0, 0)
	f.emit(ir.OpLoadInt, i, 0, 0, 0)
	f.spill.count = f.next()
	f.emit(ir.OpLoadInt, n, 0, 0, 0)
	f.emit(ir.OpLoadNil, x, 0, 0, 0)
	top := f.next()
	f.emit(ir.OpArrayPush, f.spill.reg, x, 0, 0)
	f.emit(ir.OpForInt, i, n, 0, int32(top))
	f.free(i)
}

func (f *builder) finishSpill() {
	if f.spill.on {
		f.out.Code[f.spill.count].Imm = int32(f.spill.slots)
	}
}

// declare allocates a register or a slot of the spill block for a variable. If the variable is in a
// cell, init creates the cell.
func (f *builder) declare(l *sema.Local) *variable {
	v := &variable{class: class(l.Type), cell: l.Cell, depth: f.depth}
	if v.cell {
		v.class = ir.Full
	}
	if f.spill.on && f.top >= spillFrom {
		v.spill, v.class, v.slot = true, ir.Full, f.spill.slots
		f.spill.slots++
	} else {
		v.reg = f.alloc()
		f.isVar[v.reg] = true
	}
	f.putVariable(l, v)
	return v
}

// init assigns the first value to a declared variable. x is owned, borrowed or marked.
func (f *builder) init(v *variable, x val) {
	switch {
	case v.cell && !v.spill:
		b := f.boxed(x, -1)
		f.emit(ir.OpNewCell, v.reg, b.reg, 0, 0)
	case v.cell:
		b := f.boxed(x, -1)
		c := f.alloc()
		f.emit(ir.OpNewCell, c, b.reg, 0, 0)
		f.setSlot(v, c)
	case v.spill:
		f.setSlot(v, f.boxed(x, -1).reg)
	default:
		f.move(v.reg, v.class, x)
	}
	f.hasValue(v)
}

// setSlot writes the Full register reg to the slot of a spilled variable.
func (f *builder) setSlot(v *variable, reg int) {
	i := f.alloc()
	f.emit(ir.OpLoadInt, i, 0, 0, int32(v.slot))
	f.emit(ir.OpArraySet, f.spill.reg, i, reg, 0)
}

// slot returns a register that contains the value of a spilled variable's slot.
func (f *builder) slot(v *variable) int {
	d := f.alloc()
	f.emit(ir.OpLoadInt, d, 0, 0, int32(v.slot))
	f.emit(ir.OpArrayGet, d, f.spill.reg, d, 0)
	return d
}

// cellOf returns a register that contains the cell of a variable.
func (f *builder) cellOf(v *variable) int {
	if v.spill {
		return f.slot(v)
	}
	return v.reg
}

// load reads a variable. If the variable is in a register, the result is this register, and the
// value is borrowed and not copied.
func (f *builder) load(v *variable, t types.Type, hint int) val {
	switch {
	case v.cell:
		d := f.target(hint)
		f.emit(ir.OpCellGet, d, f.cellOf(v), 0, 0)
		return val{reg: d, class: ir.Full, volatile: true}
	case v.spill:
		return val{reg: f.slot(v), class: ir.Full}
	}
	return val{reg: v.reg, class: v.class}
}

// store assigns x to a variable. x is owned or marked.
func (f *builder) store(v *variable, x val) {
	switch {
	case v.cell:
		f.emit(ir.OpCellSet, f.cellOf(v), f.boxed(x, -1).reg, 0, 0)
	case v.spill:
		f.setSlot(v, f.boxed(x, -1).reg)
	default:
		f.move(v.reg, v.class, x)
	}
	f.hasValue(v)
}

// variable returns the location of a local variable.
func (f *builder) variable(l *sema.Local) *variable {
	v := f.vars[l]
	if v == nil {
		bug(f.info, l.At, "variable %s has no place in %s", l.Name, f.out.Name)
	}
	return v
}
