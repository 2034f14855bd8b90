package optimize

import "github.com/concerto-lang/concerto/ir"

// Whether an instruction does something at which a run may be looked at: an effect, or the call of a
// function that has one. Closures are looked at less than they are inlined, and natives that do
// something are few: neither counts.

// happens says it of an instruction.
func (o *optimizer) happens(in ir.Instr) bool {
	switch {
	case in == nop || !has(in.Op, ir.Acts):
		return false
	case in.Op == ir.OpCallClosure || in.Op == ir.OpCallNative:
		return false
	case in.Op == ir.OpCall:
		return o.acts()[in.Imm]
	case in.Op == ir.OpCallMethod:
		return o.anyMethodActs()
	}
	return true
}

// acts says of each function whether something happens in it, before it was optimised.
func (o *optimizer) acts() []bool {
	if o.acting != nil {
		return o.acting
	}
	o.acting = make([]bool, len(o.p.Functions))
	for again := true; again; {
		again = false
		for n := range o.p.Functions {
			if !o.acting[n] && o.functionActs(&o.p.Functions[n]) {
				o.acting[n], again = true, true
			}
		}
	}
	return o.acting
}

func (o *optimizer) functionActs(f *ir.Function) bool {
	for _, in := range f.Code { // a listen happens, so its handlers need no look
		if in.Op != ir.OpCallMethod && o.happens(in) {
			return true
		}
	}
	return false
}

// anyMethodActs says it of what is called by a name that is looked up when the program runs.
func (o *optimizer) anyMethodActs() bool {
	for _, m := range o.p.Methods {
		if o.acts()[m.Function] {
			return true
		}
	}
	return false
}
