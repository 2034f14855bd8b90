package codegen

import (
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
)

// convert generates the steps of a conversion from one type to another. Info.Conv describes the
// conversions.
func (f *builder) convert(v val, from, to types.Type, hint int) val {
	from, to = types.Resolve(from), types.Resolve(to)
	switch {
	case from == types.Never || from == to:
		return v
	case types.IsAny(to):
		return f.toAny(f.boxed(v, hint), types.Loose(from))
	case types.IsAny(from):
		return f.fromAny(v, to, hint)
	case types.IsTrait(to):
		return f.boxed(v, hint)
	case to == types.Float && from == types.Int:
		d := f.target(hint)
		f.emit(ir.OpIntToFloat, d, v.reg, 0, 0)
		return val{reg: d, class: ir.Float, owned: true}
	}
	if o, ok := to.(*types.Option); ok && from != types.Nil && optionDepth(to) > optionDepth(from) {
		return f.some(f.convert(v, from, o.Elem, hint), o.Elem, hint)
	}
	return v
}

func optionDepth(t types.Type) int {
	n := 0
	for {
		o, ok := types.Resolve(t).(*types.Option)
		if !ok {
			return n
		}
		n, t = n+1, o.Elem
	}
}

// some returns Some(v), where v has type t. If a value of type t cannot be nil, Some(v) is v
// itself.
func (f *builder) some(v val, t types.Type, hint int) val {
	v = f.boxed(v, hint)
	if !boxable(t) {
		return v
	}
	f.markShared(v, t)
	d := f.target(hint)
	f.emit(ir.OpWrapSome, d, v.reg, 0, 0)
	return val{reg: d, class: ir.Full, owned: true}
}

// toAny unwraps nested Options, because an Any never contains the box of a Some.
func (f *builder) toAny(v val, from types.Type) val {
	o, ok := from.(*types.Option)
	if !ok {
		return v
	}
	for t := o.Elem; boxable(t); {
		d := f.alloc()
		end := &label{}
		f.emit(ir.OpMove, d, v.reg, 0, 0)
		f.jump(ir.OpJumpNil, d, 0, end)
		f.emit(ir.OpUnwrap, d, d, 0, 0)
		f.bindLabel(end)
		v.reg = d
		inner, ok := types.Resolve(t).(*types.Option)
		if !ok {
			break
		}
		t = inner.Elem
	}
	return v
}

// fromAny checks at run time that v, whose static type is Any, has the type to.
func (f *builder) fromAny(v val, to types.Type, hint int) val {
	switch to.(type) {
	case *types.Param:
		return v
	}
	d := f.target(hint)
	if to == types.Bool {
		f.emit(ir.OpAnyBool, d, v.reg, 0, 0)
		return val{reg: d, class: ir.Bool, owned: true}
	}
	f.emit(ir.OpCheck, d, v.reg, 0, int32(f.g.typeIndex(to)))
	return v.inRegister(d)
}

// flat unwraps a Some that the callee created as an Option of a specific type. The caller uses the
// value as an Any or an Option<Any>.
func (f *builder) flat(v val, t types.Type) val {
	if !types.IsAny(t) || v.class != ir.Full {
		return v
	}
	end := &label{}
	f.jump(ir.OpJumpNil, v.reg, 0, end)
	f.emit(ir.OpUnwrap, v.reg, v.reg, 0, 0)
	f.bindLabel(end)
	return v
}
