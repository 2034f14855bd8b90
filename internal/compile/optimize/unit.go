package optimize

import (
	"github.com/concerto-lang/concerto/ir"
)

// unit is a function that is being optimized. The passes change its code in place. A deleted
// instruction becomes nop until pack removes it.
type unit struct {
	o *optimizer
	p *ir.Program
	n int
	f *ir.Function
	s *scratch

	code     []ir.Instr
	places   []place // place of each instruction
	regions  []ir.Region
	inlined  []ir.Inlined
	closures []knownClosure
	names    naming
	fixed    regs  // registers that must not be renamed (listen.go)
	start    place // place of the first instruction in the original code
	often    bool  // the function runs often
	changed  bool  // the code changed in this round
	touched  bool  // the code changed in any round
	flowing  bool  // the control-flow graph is up to date
}

// place is the source position of an instruction, with information about variables (locals.go): the
// variables that the instruction sets, and the variables whose registers are unknown before it.
type place struct {
	line, column int32
	defs, lost   int32
}

// nop replaces a deleted instruction.
var nop = ir.Nop

func (u *unit) remove(pc int) { u.set(pc, nop) }

func (u *unit) set(pc int, in ir.Instr) {
	if was := &u.code[pc]; *was != in {
		u.flowing = u.flowing && !mayJump(*was) && !mayJump(in)
		*was = in
		u.changed, u.touched = true, true
	}
}

// mayJump reports whether another instruction than the next one may follow.
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

// unfold returns the place of each instruction. It uses the memory *memory.
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

// store writes the code back to the program.
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

// buffer contains new code.
type buffer struct {
	code   []ir.Instr
	places []place
	local  []bool  // the target is an index in the new code
	start  []int32 // index of each of the callee's instructions in the code that was inlined last
	begin  int32   // index where the replacement of the current instruction starts (ahead)
}

func (b *buffer) add(in ir.Instr, at place) {
	b.code = append(b.code, in)
	b.places = append(b.places, at)
	b.local = append(b.local, false)
}

// addLocal adds an instruction. Its target, if any, is an index in the new code.
func (b *buffer) addLocal(in ir.Instr, at place) {
	b.add(in, at)
	b.local[len(b.local)-1] = true
}

// ahead marks the code that was added for the current instruction as preceding it. A jump to the
// instruction runs this code, but a region that starts with the instruction does not contain it.
func (b *buffer) ahead() { b.begin = int32(len(b.code)) }

// rewriting is memory for rewrite: one buffer contains the current code, and the other receives the
// new code.
type rewriting struct {
	code, spare    []ir.Instr
	places, spared []place
	local          []bool
	moved, begins  []int32
	starts         []int32
}

// rewrite creates new code. emit adds the code for the instruction at pc. moved contains the index
// where this code starts. begins contains the index after the part that ahead has marked.
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
	// The memory of the old code is reused for the next new code.
	s.spare, s.code = s.code, b.code
	s.spared, s.places = s.places, b.places
	s.local, s.starts = b.local, b.start
	u.code, u.places = b.code, b.places
	u.touched, u.flowing = true, false
	u.moveRanges(vars, moved, begins)
	return moved, begins
}

// moveRanges converts the regions and the inlined calls to new code, and removes those that have
// become empty. Code that precedes the first instruction of a region stays outside the region. A
// region may end in the loop from which the code was moved; at the target of the region, registers
// that the region sets are then unknown. Only the first vars variables are converted.
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

// pack removes deleted instructions and unreachable instructions.
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
