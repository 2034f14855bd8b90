package codegen

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// This file records the names of variables for debuggers (ir.Local). It records no names for the
// library's own code.

// names contains the variables that are in scope.
type names struct {
	scoped []named
	since  [256]int // index of the instruction before which each register was allocated
}

// named is a variable that is in scope. n is its index among the locals of blk.
type named struct {
	blk *ir.Block
	n   int
	top int // the variable's scope ends when register top is freed
}

// notAssigned is the value of ir.Local.From for a variable that has no value yet.
const notAssigned = -1

// putVariable records the location of the variable l.
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

// hasValue records that the variable has a value from the next instruction on.
func (f *builder) hasValue(v *variable) {
	if v.named == 0 || v.named > len(f.names.scoped) {
		return
	}
	x := &f.names.scoped[v.named-1]
	if l := &x.blk.Locals[x.n]; l.From == notAssigned && x.blk == f.blk {
		l.From = f.next()
	}
}

// endLocals ends the scopes of the variables in the registers from r on.
func (f *builder) endLocals(r int) {
	for n := len(f.names.scoped) - 1; n >= 0 && f.names.scoped[n].top >= r; n-- {
		x := f.names.scoped[n]
		x.blk.Locals[x.n].To = len(x.blk.Code)
		f.names.scoped = f.names.scoped[:n]
	}
}

// finishLocals removes the variables that have a value at no instruction.
func (f *builder) finishLocals() {
	f.endLocals(0)
	seen := func(b *ir.Block) {
		for i := range b.Locals {
			b.Locals[i].To = min(b.Locals[i].To, len(b.Code)) // removeLast may have removed the last instruction
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
