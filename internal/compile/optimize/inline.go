package optimize

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// Inlining replaces a call with the code of the callee. The window of a call is the frame of the
// callee: the callee's registers are the caller's registers from the link on. Therefore each
// register number in the inlined code is increased by the number of the link. A return becomes a
// move to the link and a jump to the end.
//
// Callees are processed before their callers. A small function is inlined into all its callers. A
// larger function, such as the library's loops, is inlined only if the call passes a known closure
// to it. Then the calls of the closure can be inlined as well, and its captured values are read
// from the registers from which they were captured.

const (
	smallCode   = 14  // maximum number of instructions in a function that is inlined at every call
	closureCode = 80  // maximum number of instructions in a function that receives a known closure, and in the closure
	mostCode    = 600 // maximum number of instructions in a function after inlining
)

// inlineCalls inlines the calls in a function. Calls of known closures come last.
func (u *unit) inlineCalls() {
	u.inlineDirect()
	for range 3 {
		if !u.inlineClosures() {
			return
		}
	}
}

// site is a call that is inlined.
type site struct {
	callee *ir.Function
	number int
	// shift is the number by which the callee's registers after its parameters are moved up, to
	// make room for the captured values of closures.
	shift int
	// captured is the first register that contains the closure's captured values.
	captured int
	closures []knownClosure // known closures that the call passes
}

// inlineDirect inlines calls of functions. In a function that runs only once, it inlines a call in
// a loop, and a call that passes a closure to a callee with a loop.
func (u *unit) inlineDirect() {
	calls := u.s.calls[:0]
	far := false // a closure that a call passes may be from another basic block
	for pc := range u.code {
		in := &u.code[pc]
		switch in.Op {
		case ir.OpCall:
			c := u.o.callee(int(in.Imm))
			if (c.small || c.applies != 0) && u.worthInlining(pc, c) {
				calls = append(calls, int32(pc))
				far = far || !u.closuresNear(pc, c)
			}
		}
	}
	u.s.calls = calls
	if len(calls) == 0 {
		return
	}
	sites := map[int]site{}
	size := len(u.code)
	visit := func(pc int, closure closureFinder) {
		s, ok := u.directSite(u.code[pc], closure)
		if ok && size+len(s.callee.Code) <= mostCode && u.room(u.code[pc], s) {
			size += len(s.callee.Code)
			sites[pc] = s
		}
	}
	if far {
		u.eachWithClosures(func(pc int, closure closureFinder) {
			if _, ok := slices.BinarySearch(calls, int32(pc)); ok {
				visit(pc, closure)
			}
		})
	} else {
		for _, pc := range calls {
			visit(int(pc), func(r int) (int, int, bool) { return u.nearClosure(int(pc), r) })
		}
	}
	if len(sites) > 0 {
		u.splice(sites)
	}
}

// worthInlining reports whether the call at pc may run often enough for inlining.
func (u *unit) worthInlining(pc int, c *callee) bool {
	return u.often || c.applies != 0 && c.loops || u.inLoop(pc)
}

// directSite returns the site of a call, and whether the call is inlined.
func (u *unit) directSite(in ir.Instr, closure closureFinder) (site, bool) {
	n := int(in.Imm)
	c := u.o.callee(n)
	s := site{callee: &u.p.Functions[n], number: n}
	worth := c.small
	locals := int(in.A) + 1 + len(s.callee.Params)
	for rest := c.applies; rest != 0; rest &= rest - 1 {
		g, base, ok := closure(int(in.A) + trailing(rest))
		if !ok || !u.inlinable(g) {
			continue
		}
		worth = true
		s.moveRegisters(base, u.p.Functions[g].Captures, locals)
		if n := u.p.Functions[g].Captures; n == 0 || base >= locals || base+n <= int(in.A) { // otherwise the callee could overwrite the captured values
			s.closures = append(s.closures, knownClosure{register: int(in.A) + trailing(rest), function: g, base: base})
		}
	}
	return s, worth
}

// moveRegisters makes the callee's registers, which start at locals, follow the n captured values
// from base on.
func (s *site) moveRegisters(base, n, locals int) {
	if n > 0 && base+n > locals {
		s.shift = max(s.shift, base+n-locals)
	}
}

// inlinable reports whether calls of a closure with the function g may be inlined.
func (u *unit) inlinable(g int) bool {
	f := &u.p.Functions[g]
	return u.o.ready[g] && len(f.Listens) == 0 && f.OnUnknown == "" && !f.Body && len(f.Code) <= closureCode
}

// room reports whether the registers of a callee fit into the caller's frame. A call that would
// make the frame larger than the VM reserves is not inlined, unless the frame already is that
// large.
func (u *unit) room(in ir.Instr, s site) bool {
	need := int(in.A) + s.callee.Registers + s.shift
	return need <= max(frameRoom, u.f.Registers) && need <= ir.MaxRegisters
}

// inlineClosures inlines the calls of known closures. It returns false if there are none.
func (u *unit) inlineClosures() bool {
	if !slices.ContainsFunc(u.code, func(in ir.Instr) bool { return in.Op == ir.OpCallClosure }) {
		return false
	}
	sites := map[int]site{}
	size := len(u.code)
	visit := func(pc int, closure closureFinder) {
		in := u.code[pc]
		if in.Op != ir.OpCallClosure {
			return
		}
		g, base, ok := closure(int(in.A))
		if !ok || !u.inlinable(g) || len(u.p.Functions[g].Params) != int(in.B) {
			return
		}
		s := site{callee: &u.p.Functions[g], number: g, captured: base}
		s.moveRegisters(base, s.callee.Captures, int(in.A)+1+len(s.callee.Params))
		if size+len(s.callee.Code) <= mostCode && u.room(in, s) {
			size += len(s.callee.Code)
			sites[pc] = s
		}
	}
	if u.closureCallsNear() {
		for pc := range u.code {
			visit(pc, func(r int) (int, int, bool) { return u.nearClosure(pc, r) })
		}
	} else {
		u.eachWithClosures(visit)
	}
	u.closures = u.closures[:0] // the code has moved, so the recorded ranges are invalid
	if len(sites) > 0 {
		u.splice(sites)
	}
	return len(sites) > 0
}

// splice replaces calls with the code of their callees.
func (u *unit) splice(sites map[int]site) {
	var regions []ir.Region
	var inlined []ir.Inlined
	var calls []int
	u.rewrite(func(pc int, in ir.Instr, b *buffer) {
		s, ok := sites[pc]
		if !ok {
			b.add(in, u.places[pc])
			return
		}
		from := len(b.code)
		a := u.body(in, s, u.places[pc], b)
		for _, r := range s.callee.Regions {
			moved := s.moved(int(in.A))
			regions = append(regions, ir.Region{From: from + int(b.start[r.From]), To: from + int(b.start[r.To]), Target: from + int(b.start[r.Target]), Register: moved(r.Register)})
		}
		for i, x := range s.callee.Inlined {
			x.From, x.To, x.Locals = from+int(b.start[x.From]), from+int(b.start[x.To]), nil
			inlined, calls = append(inlined, x), append(calls, a.call(i))
		}
		for _, k := range s.closures {
			k.from, k.to = from, len(b.code)
			u.closures = append(u.closures, k)
		}
		inlined = append(inlined, ir.Inlined{From: from, To: len(b.code), Function: s.number, Line: int(u.places[pc].line), Column: int(u.places[pc].column)})
		calls = append(calls, a.calls[0])
	})
	u.regions = append(regions, u.regions...)
	u.inlined = append(inlined, u.inlined...)
	u.names.calls = append(calls, u.names.calls...)
	u.changed = true
}

// moved returns a function that maps the callee's registers to those of the caller.
func (s site) moved(w int) func(r int) int {
	params := len(s.callee.Params)
	return func(r int) int {
		if r > params {
			return w + r + s.shift
		}
		return w + r
	}
}

// body adds the code of a callee. It sets b.start to the new index of each of the callee's
// instructions, relative to the first.
func (u *unit) body(call ir.Instr, s site, called place, b *buffer) *adopted {
	f, w := s.callee, int(call.A)
	moved := s.moved(w)
	u.f.Registers = max(u.f.Registers, w+f.Registers+s.shift)
	from := len(b.code)
	b.start = b.start[:0]
	places, callee := u.named(f, s.number)
	a := u.adopt(callee)
	u.takeArguments(w, a, b)
	u.moveScalarArguments(f, w, b, places[0].here())
	var ends, jumps []int
	for pc, in := range f.Code {
		b.start = append(b.start, int32(len(b.code)-from))
		at := a.place(u, places[pc])
		switch in.Op {
		case ir.OpReturn, ir.OpReturnInt, ir.OpReturnFloat, ir.OpReturnBool, ir.OpReturnNil:
			argsAt := at
			argsAt.defs = u.names.both(at.defs, called.defs)
			b.addLocal(result(in, w, moved), argsAt)
			if pc < len(f.Code)-1 {
				ends = append(ends, len(b.code))
				b.addLocal(ir.Instr{Op: ir.OpJump}, at.here())
			}
			continue
		case ir.OpCaptured:
			if call.Op == ir.OpCallClosure {
				b.addLocal(ir.Instr{Op: ir.OpMove, A: uint8(moved(int(in.A))), B: uint8(s.captured + int(in.B))}, at)
				continue
			}
		}
		for _, o := range ir.Table[in.Op].Operands {
			switch o.Role {
			case ir.RoleRead, ir.RoleWrite, ir.RoleModify, ir.RoleWindow, ir.RoleFrame:
				in.Set(o.Field, int64(moved(in.Get(o.Field))))
			case ir.RoleTarget, ir.RoleBack:
				jumps = append(jumps, len(b.code))
			}
		}
		b.addLocal(in, at)
	}
	b.start = append(b.start, int32(len(b.code)-from))
	for _, pc := range jumps {
		b.code[pc].Imm = int32(from) + b.start[b.code[pc].Imm]
	}
	for _, pc := range ends {
		b.code[pc].Imm = int32(len(b.code))
	}
	a.scopes(u, from, b.start)
	return a
}

// moveScalarArguments moves arguments to scalar registers if the callee changes the scalar
// parameter. The argument may be in a Full register, and a register must have one class where paths
// meet.
func (u *unit) moveScalarArguments(f *ir.Function, w int, b *buffer, at place) {
	for p, c := range f.Params {
		if c != ir.Full && slices.ContainsFunc(f.Code, func(in ir.Instr) bool { return ir.ShapeOf(in).Writes != ir.Unset && int(in.A) == 1+p }) {
			r := uint8(w + 1 + p)
			b.addLocal(ir.Instr{Op: moveOf[c], A: r, B: r}, at)
		}
	}
}

// result converts a return to a move into the link.
func result(in ir.Instr, w int, moved func(int) int) ir.Instr {
	out := ir.Instr{A: uint8(w), B: uint8(moved(int(in.A)))}
	switch in.Op {
	case ir.OpReturn:
		out.Op = ir.OpMove
	case ir.OpReturnInt:
		out.Op = ir.OpMoveInt
	case ir.OpReturnFloat:
		out.Op = ir.OpMoveFloat
	case ir.OpReturnBool:
		out.Op = ir.OpMoveBool
	case ir.OpReturnNil:
		out = ir.Instr{Op: ir.OpLoadNil, A: uint8(w)}
	}
	return out
}
