package vm

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// GoTo moves the task to a stop point of its current block. It returns an error with the reason if
// that is not possible.
func (s Scene) GoTo(k *StopPoint) error {
	if err := s.CanGoTo(k); err != nil {
		return err
	}
	t := s.t
	from := t.m.image.positionMap().of(t.pc(), 0)
	have := t.m.image.reader(t.fp, from).classes
	for r, c := range t.m.image.reader(t.fp, k.at).classes {
		if c != ir.Unset && (r >= len(have) || have[r] != c) {
			*slotAt(t.fp, uint8(r)) = value.Nil // no instruction reads the value, but it must have the class of its register
		}
	}
	t.setPC(k.pc + 1)
	return nil
}

// CanGoTo returns the reason why GoTo would fail, or nil.
func (s Scene) CanGoTo(k *StopPoint) error {
	t := s.t
	if t.m.debug.atStop != t {
		return fmt.Errorf("the task is not at the beginning of a line")
	}
	from := t.m.image.positionMap().of(t.pc(), 0)
	if from.block != k.at.block {
		return fmt.Errorf("line %d is not in the current function or handler of the task", k.Line)
	}
	have, want := t.m.image.reader(t.fp, from).classes, t.m.image.reader(t.fp, k.at).classes
	for r, c := range want {
		if c != ir.Unset && t.m.image.uses(k.at, r) && (r >= len(have) || have[r] != c || !t.m.image.holdsSame(from, k.at, r)) {
			return fmt.Errorf("line %d uses a variable that has no value here", k.Line)
		}
	}
	if want == nil || s.innerRegions(from, k.at) {
		return fmt.Errorf("line %d is in another block", k.Line)
	}
	return nil
}

// innerRegions reports whether the regions that catch errors differ between two positions.
func (s Scene) innerRegions(a, b position) bool {
	all := s.t.m.image.blocks[a.block].ir.Regions
	for _, r := range all {
		in := func(at int32) bool { return r.From <= int(at) && int(at) < r.To }
		if in(a.at) != in(b.at) {
			return true
		}
	}
	return false
}

// variable returns the variable that a register contains at a position, or nil if it contains none.
func (b *block) variable(at int32, r int) *ir.Local {
	for i := range b.ir.Locals {
		if l := &b.ir.Locals[i]; l.Register == r && l.From <= int(at) && int(at) < l.To {
			return l
		}
	}
	return nil
}

// uses reports whether a register contains a variable at a position, or is read before it is next
// set.
func (i *image) uses(at position, r int) bool {
	b := &i.blocks[at.block]
	return b.variable(at.at, r) != nil ||
		b.reaches(int(at.at), r, func(pc int) bool { return i.reads(b.fn, b.ir.Code[pc], r) })
}

// holdsSame reports whether register r may contain the same value at the positions a and b of a
// block. That is so if r belongs to one variable at both positions, or if every instruction that
// sets r for a also sets it for b.
func (i *image) holdsSame(a, b position, r int) bool {
	k := &i.blocks[a.block]
	if v := k.variable(b.at, r); v != nil {
		return v == k.variable(a.at, r)
	}
	from := func(pc int) bool { return pc == int(a.at) }
	to := func(pc int) bool { return pc == int(b.at) }
	sets := []int{0}
	for pc, in := range k.ir.Code {
		if writes(in, r) {
			sets = append(sets, k.after(pc)...)
		}
	}
	for _, x := range k.ir.Regions {
		if x.Register == r {
			sets = append(sets, x.Target)
		}
	}
	for _, pc := range sets {
		if k.reaches(pc, r, from) && !k.reaches(pc, r, to) {
			return false
		}
	}
	return true
}

// reaches reports whether control may flow from pc to an instruction for which found returns true,
// with the register unchanged since pc.
func (b *block) reaches(pc, r int, found func(pc int) bool) bool {
	seen := make([]bool, len(b.ir.Code))
	for next := []int{pc}; len(next) > 0; {
		pc := next[len(next)-1]
		if next = next[:len(next)-1]; seen[pc] {
			continue
		}
		if seen[pc] = true; found(pc) {
			return true
		}
		for _, x := range b.ir.Regions {
			if x.From <= pc && pc < x.To && x.Register != r {
				next = append(next, x.Target)
			}
		}
		if !writes(b.ir.Code[pc], r) {
			next = append(next, b.after(pc)...)
		}
	}
	return false
}

// after returns the instructions that may follow the instruction at pc if that instruction raises
// no error.
func (b *block) after(pc int) (next []int) {
	in := b.ir.Code[pc]
	shape := ir.ShapeOf(in)
	if shape.Target {
		next = append(next, int(in.Imm))
	}
	if !shape.Ends {
		next = append(next, pc+1)
	}
	return next
}

// writes reports whether an instruction sets or clears a register.
func writes(in ir.Instr, r int) bool {
	shape := ir.ShapeOf(in)
	return shape.Writes != ir.Unset && int(in.A) == r || shape.Frame && int(in.A) <= r
}

// reads reports whether an instruction reads a register, or begins a listen whose handlers read it.
func (i *image) reads(f *function, in ir.Instr, r int) bool {
	shape := ir.ShapeOf(in)
	from, n, _ := i.program.Window(in)
	if shape.A && int(in.A) == r || shape.B && int(in.B) == r || shape.C && int(in.C) == r || from <= r && r < from+n {
		return true
	}
	if in.Op != ir.OpListenBegin {
		return false
	}
	for _, h := range f.info.Listens[in.Imm].Handlers {
		for _, in := range h.Code {
			if i.reads(f, in, r) {
				return true
			}
		}
	}
	return false
}
