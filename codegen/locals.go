package codegen

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// The names of variables, for debuggers (ir.Local). The library's own code has none.

// names are the variables in scope.
type names struct {
	scoped []named
	since  [256]int // by register: the instruction before which it was allocated
}

// named is a variable whose scope has not ended: its index among the locals of a block.
type named struct {
	blk *ir.Block
	n   int
	top int // it ends when the registers from here on, or from a lower one, are free
}

// notAssigned is From of a variable that has no value yet.
const notAssigned = -1

// putVariable records the location of a local.
func (f *builder) putVariable(l *sema.Local, v *variable) {
	f.vars[l] = v
	if f.home.Library || l.Name == "" {
		return
	}
	x := ir.Local{Name: l.Name, Register: v.reg, Slot: -1, From: notAssigned, Reserved: min(f.names.since[v.reg], f.next())}
	top := v.reg
	if v.spill {
		x.Register, x.Slot, top = f.spill.reg, v.slot, f.top
		x.Reserved = f.names.since[f.spill.reg]
	}
	v.named = len(f.names.scoped) + 1
	f.names.scoped = append(f.names.scoped, named{f.blk, len(f.blk.Locals), top})
	f.blk.Locals = append(f.blk.Locals, x)
}

// hasValue records that the variable has its first value from the next instruction on.
func (f *builder) hasValue(v *variable) {
	if v.named == 0 || v.named > len(f.names.scoped) {
		return
	}
	x := &f.names.scoped[v.named-1]
	if l := &x.blk.Locals[x.n]; l.From == notAssigned && x.blk == f.blk {
		l.From = f.next()
	}
}

// endLocals ends the scope of the variables in the registers from r on.
func (f *builder) endLocals(r int) {
	for n := len(f.names.scoped) - 1; n >= 0 && f.names.scoped[n].top >= r; n-- {
		x := f.names.scoped[n]
		x.blk.Locals[x.n].To = len(x.blk.Code)
		f.names.scoped = f.names.scoped[:n]
	}
}

// finishLocals drops the variables that no instruction has.
func (f *builder) finishLocals() {
	f.endLocals(0)
	seen := func(b *ir.Block) {
		for i := range b.Locals {
			b.Locals[i].To = min(b.Locals[i].To, len(b.Code)) // the last instruction may have been removed
		}
		b.Locals = slices.DeleteFunc(b.Locals, func(l ir.Local) bool { return l.From == notAssigned || l.From >= l.To })
		if len(b.Locals) == 0 {
			b.Locals = nil
		}
	}
	seen(&f.out.Block)
	for i := range f.out.Listens {
		for j := range f.out.Listens[i].Handlers {
			seen(&f.out.Listens[i].Handlers[j].Block)
		}
	}
}
