package optimize

import (
	"github.com/concerto-lang/concerto/ir"
)

// unit is a function at work. Passes change code in place; deleted instructions
// become nop until the code is packed.
type unit struct {
	o *optimizer
	p *ir.Program
	n int
	f *ir.Function

	code    []ir.Instr
	places  []place // of each instruction
	regions []ir.Region
	inlined []ir.Inlined
	start   place // of the first instruction, before anything was changed
	changed bool
	g       *graph // nil when out of date
}

// place is a line and column.
type place struct{ line, column int32 }

// nop marks a deleted instruction: a Jump to itself, which no program holds
// since jumps lead forwards.
var nop = ir.Instr{Op: ir.OpJump, Imm: -1}

func (u *unit) remove(pc int) {
	u.code[pc] = nop
	u.changed = true
}

func (u *unit) set(pc int, in ir.Instr) {
	if u.code[pc] != in {
		u.code[pc] = in
		u.changed = true
	}
}

func newUnit(o *optimizer, n int) *unit {
	f := &o.p.Functions[n]
	u := &unit{o: o, p: o.p, n: n, f: f, code: f.Code, places: unfold(&f.Block), regions: f.Regions, inlined: f.Inlined}
	u.start = u.places[0]
	return u
}

// unfold gives each instruction its place.
func unfold(b *ir.Block) []place {
	out := make([]place, len(b.Code))
	var at place
	next := 0
	for pc := range out {
		if next < len(b.Positions) && b.Positions[next].PC == pc {
			at = place{int32(b.Positions[next].Line), int32(b.Positions[next].Column)}
			next++
		}
		out[pc] = at
	}
	return out
}

// store puts the code back into the program.
func (u *unit) store() {
	u.f.Code, u.f.Regions, u.f.Inlined = u.code, u.regions, u.inlined
	if u.places[0] != u.start && u.f.Start == nil && u.start != (place{}) {
		u.f.Start = &ir.Position{Line: int(u.start.line), Column: int(u.start.column)}
	}
	var ps []ir.Position
	for pc, at := range u.places {
		if pc > 0 && at == u.places[pc-1] || at == (place{}) && len(ps) == 0 {
			continue
		}
		ps = append(ps, ir.Position{PC: pc, Line: int(at.line), Column: int(at.column)})
	}
	u.f.Positions = ps
}

// buffer is code under construction.
type buffer struct {
	code   []ir.Instr
	places []place
	local  []bool // the target counts in the new code
	start  []int  // of the callee's instructions, in the code that was inlined last
}

func (b *buffer) add(in ir.Instr, at place) {
	b.code = append(b.code, in)
	b.places = append(b.places, at)
	b.local = append(b.local, false)
}

// addLocal adds an instruction whose target, if it has one, counts in the new
// code.
func (b *buffer) addLocal(in ir.Instr, at place) {
	b.add(in, at)
	b.local[len(b.local)-1] = true
}

// rewrite makes new code: emit adds what stands for instruction pc.
func (u *unit) rewrite(emit func(pc int, in ir.Instr, b *buffer)) (moved []int) {
	b := &buffer{code: make([]ir.Instr, 0, len(u.code)), places: make([]place, 0, len(u.code)), local: make([]bool, 0, len(u.code))}
	moved = make([]int, len(u.code)+1)
	for pc, in := range u.code {
		moved[pc] = len(b.code)
		emit(pc, in, b)
	}
	moved[len(u.code)] = len(b.code)
	for pc := range b.code {
		if in := &b.code[pc]; !b.local[pc] && *in != nop && shapeOf(*in).target {
			in.Imm = int32(moved[in.Imm])
		}
	}
	u.code, u.places, u.g = b.code, b.places, nil
	u.moveRanges(moved)
	return moved
}

// moveRanges takes regions and inlined calls along; what has become empty goes.
func (u *unit) moveRanges(moved []int) {
	regions := make([]ir.Region, 0, len(u.regions))
	for _, r := range u.regions {
		r.From, r.To, r.Target = moved[r.From], moved[r.To], moved[r.Target]
		if r.From < r.To {
			regions = append(regions, r)
		}
	}
	inlined := make([]ir.Inlined, 0, len(u.inlined))
	for _, r := range u.inlined {
		r.From, r.To = moved[r.From], moved[r.To]
		if r.From < r.To {
			inlined = append(inlined, r)
		}
	}
	u.regions, u.inlined = regions, inlined
}

// pack takes the deleted instructions out, and those that control does not
// reach.
func (u *unit) pack() {
	reached := u.graph().reached
	gone := false
	for pc := range u.code {
		gone = gone || u.code[pc] == nop || !reached[pc]
	}
	if !gone {
		return
	}
	u.rewrite(func(pc int, in ir.Instr, b *buffer) {
		if in != nop && reached[pc] {
			b.add(in, u.places[pc])
		}
	})
}
