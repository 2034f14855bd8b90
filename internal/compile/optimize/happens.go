package optimize

import "github.com/concerto-lang/concerto/ir"

// The functions in this file report whether an instruction does something at which a debugger may
// inspect a run: it performs an effect, or it calls a function that performs one. Calls of closures
// and of native functions with effects do not count. Closures are inlined more often than they are
// inspected, and few native functions have effects.

// happens reports whether an instruction performs an effect or calls a function that does.
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

// acts returns for each function whether its code performs an effect before optimisation.
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
	for _, in := range f.Code { // a listen is an effect, so its handlers need not be checked
		if in.Op != ir.OpCallMethod && o.happens(in) {
			return true
		}
	}
	return false
}

// anyMethodActs reports whether a method that is looked up by name at run time may perform an
// effect.
func (o *optimizer) anyMethodActs() bool {
	for _, m := range o.p.Methods {
		if o.acts()[m.Function] {
			return true
		}
	}
	return false
}
