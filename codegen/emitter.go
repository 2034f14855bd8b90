package codegen

import (
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
)

// emitter appends instructions to a block: the function's own block or the block of a handler.
type emitter struct {
	blk *ir.Block
	// dead reports that the next instruction is unreachable. emit does nothing until bindLabel
	// makes the next instruction reachable.
	dead bool
	// landed is the index of the instruction to which the last label is bound.
	landed int

	// pos is the source position of the code that is being generated. placed is the position of the
	// last instruction, which is in the block placedIn.
	pos, placed source.Pos
	placedIn    *ir.Block
	places      source.Cursor
	// foreign counts the enclosing expressions that are in other files, such as defaults. While it
	// is not 0, instructions have the position of the expression in the function's own file that
	// uses them.
	foreign int
}

// redirect makes the emitter append to another block. It returns a function that restores the
// previous block.
func (f *emitter) redirect(b *ir.Block) (back func()) {
	blk, dead, landed := f.blk, f.dead, f.landed
	f.blk, f.dead, f.landed = b, false, -1
	return func() { f.blk, f.dead, f.landed = blk, dead, landed }
}

// label is the target of forward jumps. from contains the indices of the jumps.
type label struct{ from []int }

// jump emits a jump instruction op whose target is l.
func (f *emitter) jump(op ir.Op, a, b int, l *label) {
	if f.dead {
		return
	}
	l.from = append(l.from, f.next())
	f.emit(op, a, b, 0, 0)
}

func (f *emitter) jumpK(op ir.Op, a int, n int16, l *label) {
	if f.dead {
		return
	}
	l.from = append(l.from, f.next())
	f.emitBC(op, a, n, 0)
}

// bindLabel sets the target of l to the next instruction. The instruction is reachable if a jump
// refers to l. bindLabel removes a jump that is directly before its target.
func (f *emitter) bindLabel(l *label) {
	if n := len(l.from) - 1; n >= 0 && l.from[n] == f.next()-1 && f.blk.Code[l.from[n]].Op == ir.OpJump && f.landed != f.next() {
		l.from = l.from[:n]
		f.removeLast()
		f.dead = false
	}
	for _, pc := range l.from {
		f.blk.Code[pc].Imm = int32(f.next())
	}
	if len(l.from) > 0 {
		f.dead, f.landed = false, f.next()
	}
}

// emit appends an instruction, unless the instruction is unreachable.
func (f *emitter) emit(op ir.Op, a, b, c int, imm int32) {
	if f.dead {
		return
	}
	f.recordPosition()
	f.blk.Code = append(f.blk.Code, ir.Instr{Op: op, A: uint8(a), B: uint8(b), C: uint8(c), Imm: imm})
	f.dead = ir.Shapes[op].Ends
}

// emitBC emits an instruction whose fields B and C contain one 16-bit number.
func (f *emitter) emitBC(op ir.Op, a int, bc int16, imm int32) {
	if f.dead {
		return
	}
	i := ir.Instr{Op: op, A: uint8(a), Imm: imm}
	i.SetBC(bc)
	f.recordPosition()
	f.blk.Code = append(f.blk.Code, i)
}

// recordPosition records the source position of the next instruction if it differs from the
// previous one.
func (f *emitter) recordPosition() {
	if f.pos == f.placed && f.blk == f.placedIn {
		return
	}
	f.placed, f.placedIn = f.pos, f.blk
	p := f.places.Position(f.pos)
	ps := f.blk.Positions
	if n := len(ps); n > 0 && ps[n-1].Line == p.Line && ps[n-1].Column == p.Column {
		return
	}
	f.blk.Positions = append(ps, ir.Position{PC: len(f.blk.Code), Line: p.Line, Column: p.Column})
}

// at sets the source position of the next instructions. It returns a function that restores the
// previous position.
func (f *emitter) at(p source.Pos) func() {
	old := f.pos
	if f.foreign == 0 {
		f.pos = p
	}
	return func() { f.pos = old }
}

// next returns the index of the next instruction.
func (f *emitter) next() int { return len(f.blk.Code) }

// updatePosition sets the position within the current expression.
func (f *emitter) updatePosition(p source.Pos) {
	if f.foreign == 0 {
		f.pos = p
	}
}

// removeLast removes the last instruction.
func (f *emitter) removeLast() {
	last := f.next() - 1
	f.blk.Code, f.placedIn = f.blk.Code[:last], nil
	if n := len(f.blk.Positions); n > 0 && f.blk.Positions[n-1].PC == last {
		f.blk.Positions = f.blk.Positions[:n-1]
	}
}

// catchRegion makes the instructions from `from` to `to` a region. If an instruction of the region
// fails, the machine puts the error into register r and continues at the next instruction that is
// emitted. catchRegion returns false if the region is empty.
func (f *emitter) catchRegion(from, to, r int) bool {
	if from == to {
		return false
	}
	f.blk.Regions = append(f.blk.Regions, ir.Region{From: from, To: to, Target: f.next(), Register: r})
	f.dead, f.landed = false, f.next()
	return true
}
