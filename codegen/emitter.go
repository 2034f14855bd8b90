package codegen

import (
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
)

// emitter appends instructions to a function's own block, or to a handler's.
type emitter struct {
	blk *ir.Block
	// dead reports that the next instruction is unreachable. Nothing is emitted until a label
	// lands.
	dead bool
	// landed is the index of the last label.
	landed int

	// pos is the source position of the code being generated. placed is the position of the last
	// instruction, in the block placedIn.
	pos, placed source.Pos
	placedIn    *ir.Block
	places      source.Cursor
	// foreign counts the enclosing expressions that belong to other files. While it is not 0, the
	// position is that of the expression that needs them.
	foreign int
}

// redirect directs instructions to another block, and returns a function that restores the previous
// one.
func (f *emitter) redirect(b *ir.Block) (back func()) {
	blk, dead, landed := f.blk, f.dead, f.landed
	f.blk, f.dead, f.landed = b, false, -1
	return func() { f.blk, f.dead, f.landed = blk, dead, landed }
}

// label is the target of forward jumps.
type label struct{ from []int }

// jump emits a jump op to l.
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

// bindLabel sets l to the next instruction, which is reachable if anything jumps to l. A jump that
// would only lead to the next instruction is removed.
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

// emit appends an instruction unless it is unreachable.
func (f *emitter) emit(op ir.Op, a, b, c int, imm int32) {
	if f.dead {
		return
	}
	f.recordPosition()
	f.blk.Code = append(f.blk.Code, ir.Instr{Op: op, A: uint8(a), B: uint8(b), C: uint8(c), Imm: imm})
	f.dead = ir.Shapes[op].Ends
}

// emitBC is emit for the ops whose B and C are one number.
func (f *emitter) emitBC(op ir.Op, a int, bc int16, imm int32) {
	if f.dead {
		return
	}
	i := ir.Instr{Op: op, A: uint8(a), Imm: imm}
	i.SetBC(bc)
	f.recordPosition()
	f.blk.Code = append(f.blk.Code, i)
}

// recordPosition records the source position of the next instruction if it changes.
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

// at sets the position of the next instructions and returns a function that restores it.
func (f *emitter) at(p source.Pos) func() {
	old := f.pos
	if f.foreign == 0 {
		f.pos = p
	}
	return func() { f.pos = old }
}

// next returns the index of the next instruction.
func (f *emitter) next() int { return len(f.blk.Code) }

// updatePosition updates the position in the current expression.
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

// catchRegion makes the instructions from `from` to `to` a region whose errors are handled here, in
// register r. It reports whether the region has any instructions.
func (f *emitter) catchRegion(from, to, r int) bool {
	if from == to {
		return false
	}
	f.blk.Regions = append(f.blk.Regions, ir.Region{From: from, To: to, Target: f.next(), Register: r})
	f.dead, f.landed = false, f.next()
	return true
}
