package optimize

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// callee is what inlining needs to know of a called function. A call stays a
// call when its callee is not small and no bit of applies fits.
type callee struct {
	analyzed bool // the rest has been filled in
	small    bool // it is inlined wherever it is called
	loops    bool
	// applies has a bit for each parameter that the function calls, from
	// parameter 1 on. The function is inlined where one of these arguments is a
	// known closure. Parameters after the 63rd are left out.
	applies uint64
}

// callee analyses a function that no longer changes.
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

// callsParam reports whether a function calls its parameter r as it came.
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
