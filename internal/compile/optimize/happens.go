package optimize

import "github.com/concerto-lang/concerto/ir"

// Whether an instruction does something at which a debugger may inspect a run: an effect, or the
// call of a function that has one. Closures are inspected less often than they are inlined, and
// there are few natives with effects: neither counts.

// happens reports this for an instruction.
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

// acts returns for each function whether something happens in it, before it was optimised.
func (o *optimizer) acts() []bool {
	if o.acting != nil {
		return o.acting
	}
	o.acting = make([]bool, len(o.p.Functions))
	for changed := true; changed; {
		changed = false
		for n := range o.p.Functions {
			if !o.acting[n] && o.functionActs(&o.p.Functions[n]) {
				o.acting[n], changed = true, true
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

// anyMethodActs reports this for methods that are looked up by name at run time.
func (o *optimizer) anyMethodActs() bool {
	for _, m := range o.p.Methods {
		if o.acts()[m.Function] {
			return true
		}
	}
	return false
}
