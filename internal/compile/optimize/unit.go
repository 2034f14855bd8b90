package optimize

import (
	"github.com/concerto-lang/concerto/ir"
)

// unit is a function that is being optimised. Passes change code in place;
// deleted instructions become nop until the code is packed.
type unit struct {
	o *optimizer
	p *ir.Program
	n int
	f *ir.Function
	s *scratch

	code     []ir.Instr
	places   []place // of each instruction
	regions  []ir.Region
	inlined  []ir.Inlined
	closures []knownClosure
	names    naming
	fixed    regs  // registers that stay as they are (listen.go)
	start    place // of the first instruction, before anything was changed
	often    bool  // it runs again and again
	changed  bool  // in this round
	touched  bool  // at all
	flowing  bool  // the graph is up to date
}

// place is the line and column of an instruction, and its information about variables (locals.go):
// the variable whose register it sets, and the variables whose registers are unknown before it.
type place struct {
	line, column int32
	defs, lost   int32
}

// nop marks a deleted instruction.
var nop = ir.Nop

func (u *unit) remove(pc int) { u.set(pc, nop) }

func (u *unit) set(pc int, in ir.Instr) {
	if was := &u.code[pc]; *was != in {
		u.flowing = u.flowing && !mayJump(*was) && !mayJump(in)
		*was = in
		u.changed, u.touched = true, true
	}
}

// mayJump reports whether control may go elsewhere than to the next instruction.
func mayJump(in ir.Instr) bool {
	return in != nop && (ir.Shapes[in.Op].Target || ir.Shapes[in.Op].Ends)
}

func newUnit(o *optimizer, n int) *unit {
	f := &o.p.Functions[n]
	u := &unit{o: o, p: o.p, n: n, f: f, s: &o.scratch, code: f.Code, regions: f.Regions, inlined: f.Inlined}
	u.places = unfold(&u.s.rewrite.places, &f.Block)
	u.start, u.fixed = u.places[0], u.shared()
	u.name()
	return u
}

// unfold returns the place of each instruction, in the memory of *room.
func unfold(memory *[]place, b *ir.Block) []place {
	out := room(memory, len(b.Code))
	from, at := 0, place{}
	for _, p := range b.Positions {
		fill(out[from:p.PC], at)
		from, at = p.PC, place{line: int32(p.Line), column: int32(p.Column)}
	}
	fill(out[from:], at)
	return out
}

func fill(out []place, at place) {
	for i := range out {
		out[i] = at
	}
}

// store puts the code back into the program.
func (u *unit) store() {
	if !u.touched {
		return
	}
	u.saveNames()
	u.storeNames()
	u.f.Regions, u.f.Inlined = u.regions, u.inlined
	if len(u.code) <= cap(u.f.Code) {
		u.f.Code = u.f.Code[:len(u.code)]
	} else {
		u.f.Code = make([]ir.Instr, len(u.code))
	}
	copy(u.f.Code, u.code)
	if u.places[0].here() != u.start && u.f.Start == nil && u.start != (place{}) {
		u.f.Start = &ir.Position{Line: int(u.start.line), Column: int(u.start.column)}
	}
	ps := u.f.Positions[:0]
	for pc, at := range u.places {
		if at = at.here(); pc > 0 && at == u.places[pc-1].here() || at == (place{}) && len(ps) == 0 {
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
	local  []bool  // the target counts in the new code
	start  []int32 // of the callee's instructions, in the code that was inlined last
	begin  int32   // where the replacement of the current instruction begins (ahead)
}

func (b *buffer) add(in ir.Instr, at place) {
	b.code = append(b.code, in)
	b.places = append(b.places, at)
	b.local = append(b.local, false)
}

// addLocal adds an instruction whose target, if it has one, is an index in the
// new code.
func (b *buffer) addLocal(in ir.Instr, at place) {
	b.add(in, at)
	b.local[len(b.local)-1] = true
}

// ahead marks the code added so far for an instruction as coming before it. Control that reaches
// the instruction from elsewhere runs the added code, but a region that begins with the instruction
// does not contain it.
func (b *buffer) ahead() { b.begin = int32(len(b.code)) }

// rewriting is the memory of rewrite: one part holds the code in use, the other
// the code that will replace it.
type rewriting struct {
	code, spare    []ir.Instr
	places, spared []place
	local          []bool
	moved, begins  []int32
	starts         []int32
}

// rewrite creates new code: emit adds the code for instruction pc. moved contains the index where
// that code begins, begins the index after the part that is ahead of the instruction.
func (u *unit) rewrite(emit func(pc int, in ir.Instr, b *buffer)) (moved, begins []int32) {
	s := &u.s.rewrite
	b := &buffer{code: s.spare[:0], places: s.spared[:0], local: s.local[:0], start: s.starts}
	moved, begins = room(&s.moved, len(u.code)+1), room(&s.begins, len(u.code)+1)
	vars := len(u.names.vars)
	for pc, in := range u.code {
		moved[pc] = int32(len(b.code))
		b.ahead()
		emit(pc, in, b)
		begins[pc] = b.begin
	}
	moved[len(u.code)], begins[len(u.code)] = int32(len(b.code)), int32(len(b.code))
	for pc := range b.code {
		if in := &b.code[pc]; !b.local[pc] && *in != nop && ir.Shapes[in.Op].Target {
			in.Imm = moved[in.Imm]
		}
	}
	// The old buffer is reused for the next code.
	s.spare, s.code = s.code, b.code
	s.spared, s.places = s.places, b.places
	s.local, s.starts = b.local, b.start
	u.code, u.places = b.code, b.places
	u.touched, u.flowing = true, false
	u.moveRanges(vars, moved, begins)
	return moved, begins
}

// moveRanges adapts regions and inlined calls to new code and drops those that have become empty.
// Code that is ahead of a region's first instruction stays outside the region. The region's end may
// be within the loop from which the code was moved, and then the region's target does not know
// registers set in the region. Of the variables the first vars are adapted.
func (u *unit) moveRanges(vars int, moved, begins []int32) {
	to := func(pc int) int { return int(moved[pc]) }
	regions, inlined, calls := u.regions[:0], u.inlined[:0], u.names.calls[:0]
	u.names.moveScopes(vars, moved)
	for _, r := range u.regions {
		r.From, r.To, r.Target = int(begins[r.From]), to(r.To), to(r.Target)
		if r.From < r.To {
			regions = append(regions, r)
		}
	}
	for i, r := range u.inlined {
		r.From, r.To = to(r.From), to(r.To)
		if r.From < r.To {
			inlined, calls = append(inlined, r), append(calls, u.names.calls[i])
		}
	}
	u.regions, u.inlined, u.names.calls = regions, inlined, calls
}

// pack removes the deleted instructions, and those that control does not reach.
func (u *unit) pack() {
	g := u.graph()
	moved := room(&u.s.rewrite.moved, len(u.code)+1)
	n, lost := 0, int32(0)
	for i := range g.Runs {
		b := &g.Runs[i]
		for pc := b.From; pc < b.To; pc++ {
			moved[pc] = int32(n)
			if !b.Reached {
				continue
			}
			if lost = u.names.both(lost, u.places[pc].lost); u.code[pc] != nop {
				u.places[pc].lost = lost
				u.code[n], u.places[n] = u.code[pc], u.places[pc]
				n, lost = n+1, 0
			}
		}
	}
	if n == len(u.code) {
		return
	}
	moved[len(u.code)] = int32(n)
	u.code, u.places = u.code[:n], u.places[:n]
	for pc := range u.code {
		if in := &u.code[pc]; ir.Shapes[in.Op].Target {
			in.Imm = moved[in.Imm]
		}
	}
	u.touched, u.flowing = true, false
	u.moveRanges(len(u.names.vars), moved, moved)
}
