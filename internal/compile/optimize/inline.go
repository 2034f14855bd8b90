package optimize

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// Inlining. A call's window is the callee's frame: the callee's registers are in the caller's frame
// from the link on. So the callee's code can replace the call, with each register number moved by
// that of the window. A return becomes a move into the link and a jump to the end.
//
// Functions are processed callees first. A small function is inlined into its callers. A larger
// one, such as the library's loops, is inlined only if a closure is passed to it that is known at
// the call. Then the calls of that closure can be replaced too, and its captured values are read
// where they were captured.

const (
	smallCode   = 14  // instructions of a function that is inlined wherever it is called
	closureCode = 80  // of a function that is given a known closure, and of the closure
	mostCode    = 600 // of a function that others are inlined into
)

// inlineCalls replaces those calls of a function that can be replaced, calls of
// known closures last.
func (u *unit) inlineCalls() {
	u.inlineDirect()
	for range 3 {
		if !u.inlineClosures() {
			return
		}
	}
}

// site is a call to be replaced.
type site struct {
	callee *ir.Function
	number int
	// shift moves those of the callee's registers that follow its parameters further up, past the
	// captured values of closures.
	shift int
	// captured is the first register of a closure's captured values.
	captured int
	closures []knownClosure // that it is given
}

// inlineDirect replaces calls of functions. In a function that runs once, a call is worth it if it
// is in a loop, or if its callee has a loop and a closure is passed to it.
func (u *unit) inlineDirect() {
	calls := u.s.calls[:0]
	far := false // a closure that is given to a call may have been made elsewhere
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

// worthInlining reports whether a call can run often enough.
func (u *unit) worthInlining(pc int, c *callee) bool {
	return u.often || c.applies != 0 && c.loops || u.inLoop(pc)
}

// directSite reports whether a call is worth replacing.
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
		if n := u.p.Functions[g].Captures; n == 0 || base >= locals || base+n <= int(in.A) { // else the callee could set them
			s.closures = append(s.closures, knownClosure{register: int(in.A) + trailing(rest), function: g, base: base})
		}
	}
	return s, worth
}

// moveRegisters moves the callee's registers, which would begin at locals, after the n captured
// values from base on.
func (s *site) moveRegisters(base, n, locals int) {
	if n > 0 && base+n > locals {
		s.shift = max(s.shift, base+n-locals)
	}
}

// inlinable reports whether a closure's function may replace its calls.
func (u *unit) inlinable(g int) bool {
	f := &u.p.Functions[g]
	return u.o.ready[g] && len(f.Listens) == 0 && f.OnUnknown == "" && !f.Body && len(f.Code) <= closureCode
}

// room reports whether a callee's registers fit into the frame. A call that would need a larger
// frame than the VM reserves is not inlined, unless the frame is that large already.
func (u *unit) room(in ir.Instr, s site) bool {
	need := int(in.A) + s.callee.Registers + s.shift
	return need <= max(frameRoom, u.f.Registers) && need <= ir.MaxRegisters
}

// inlineClosures replaces the calls of closures that are known.
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
	u.closures = u.closures[:0] // their places change
	if len(sites) > 0 {
		u.splice(sites)
	}
	return len(sites) > 0
}

// splice puts the callees' code in place of their calls.
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

// moved returns the caller's register for one of the callee.
func (s site) moved(w int) func(r int) int {
	params := len(s.callee.Params)
	return func(r int) int {
		if r > params {
			return w + r + s.shift
		}
		return w + r
	}
}

// body adds a callee's code. b.start then returns the new index of each of its
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

// moveScalarArguments moves to scalar class the arguments of those scalar parameters that
// the callee sets again. The argument may have come in a Full register, and
// where paths meet a register must have one class.
func (u *unit) moveScalarArguments(f *ir.Function, w int, b *buffer, at place) {
	for p, c := range f.Params {
		if c != ir.Full && slices.ContainsFunc(f.Code, func(in ir.Instr) bool { return ir.ShapeOf(in).Writes != ir.Unset && int(in.A) == 1+p }) {
			r := uint8(w + 1 + p)
			b.addLocal(ir.Instr{Op: moveOf[c], A: r, B: r}, at)
		}
	}
}

// result is a return as a move into the link.
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
