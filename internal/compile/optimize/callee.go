package optimize

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// callee contains the properties of a called function that decide about inlining. A call is inlined
// only if the callee is small, or if an argument for a parameter in applies is a known closure.
type callee struct {
	analyzed bool // the other fields are set
	small    bool // the function is inlined at every call
	loops    bool
	// applies contains a bit for each parameter that the function calls; the first bit is for
	// parameter 1. The function is inlined if the argument for one of these parameters is a known
	// closure. Parameters after the 63rd are not included.
	applies uint64
}

// callee returns the properties of function n, whose code no longer changes.
func (o *optimizer) callee(n int) *callee {
	c := &o.callees[n]
	if c.analyzed || !o.ready[n] {
		return c
	}
	c.analyzed = true
	f := &o.p.Functions[n]
	if len(f.Listens) > 0 || f.OnUnknown != "" || f.Body || f.Captures > 0 || len(f.Code) > closureCode || callsItself(f, n) {
		return c
	}
	c.small = len(f.Code) <= smallCode
	c.loops = slices.ContainsFunc(f.Code, loops)
	if slices.ContainsFunc(f.Code, func(in ir.Instr) bool { return in.Op == ir.OpCallClosure }) {
		for r := 1; r <= min(len(f.Params), 63); r++ {
			if callsParam(f, r) {
				c.applies |= 1 << r
			}
		}
	}
	return c
}

func callsItself(f *ir.Function, n int) bool {
	return slices.ContainsFunc(f.Code, func(in ir.Instr) bool { return in.Op == ir.OpCall && int(in.Imm) == n })
}

// callsParam reports whether a function calls the unchanged value of its parameter r.
func callsParam(f *ir.Function, r int) bool {
	calls := false
	for pc, in := range f.Code {
		if ir.ShapeOf(in).Writes != ir.Unset && int(in.A) == r {
			return false
		}
		if in.Op == ir.OpCallClosure {
			calls = calls || int(in.A) == r
			for at := pc - 1; at >= 0 && !calls; at-- {
				if x := f.Code[at]; x.Op == ir.OpMove && x.A == in.A {
					calls = int(x.B) == r
					break
				}
			}
		}
	}
	return calls
}
