package codegen

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// callVariant creates an enum value from the arguments of a call.
func (f *builder) callVariant(in arguments, t types.Type, hint int) val {
	v := in.call.Variant
	base := f.top
	f.arguments(in, base-1, allFull(len(in.call.Args)), allOwned)
	return f.makeVariant(v, t, base, hint)
}

// makeVariant creates a variant of the enum t. The payload is in the registers from base on.
func (f *builder) makeVariant(v *sema.VariantRef, t types.Type, base, hint int) val {
	d := f.target(hint)
	switch {
	case v.Variant != nil:
		f.emit(ir.OpNewVariant, d, base, v.Index, int32(f.g.typeIndex(t)))
	case v.Name == "Ok":
		f.emit(ir.OpNewOk, d, base, 0, 0)
	case v.Name == "Err":
		f.emit(ir.OpNewErr, d, base, 0, 0)
	default: // Some: the payload itself if it needs no box, as in an Any
		op := ir.OpWrapSome
		if types.IsAny(t) {
			op = ir.OpMove
		}
		f.emit(op, d, base, 0, 0)
		return val{reg: d, class: ir.Full, owned: true}
	}
	return val{reg: d, class: ir.Full, owned: true, fresh: true}
}

// variantValue generates the name of a variant as a value: a unit variant, or a function that
// creates a value of the variant.
func (f *builder) variantValue(v *sema.VariantRef, t types.Type, hint int) val {
	if fn, ok := types.Resolve(t).(*types.Func); ok {
		return f.loadFunction(f.g.variantAdapter(v, fn, f.home, f.pos), hint)
	}
	if v.Variant == nil {
		return f.nilValue(hint) // the variant None
	}
	return f.makeVariant(v, t, f.top, hint)
}

// callErrorNew creates a built-in error from the message in a call of `T::new`.
func (f *builder) callErrorNew(in arguments, hint int) val {
	t := types.Resolve(in.call.Error).(*types.Named)
	base := f.top
	for range t.Decl.Fields {
		f.alloc()
	}
	for i, s := range in.sources() {
		if i == 0 {
			f.argument(in, s, base, ir.Full, argOwned, nil)
		}
	}
	return f.newError(t, base, hint)
}

// newError creates a built-in error. The message is in register base, and the other fields are in
// the registers after it.
func (f *builder) newError(t *types.Named, base, hint int) val {
	for i, fd := range t.Decl.Fields {
		if i == 0 {
			continue
		}
		switch types.Resolve(fd.Type) {
		case types.String:
			f.stringValue("", base+i)
		case types.Int:
			f.move(base+i, ir.Full, f.intValue(0, base+i))
		case types.Float:
			f.move(base+i, ir.Full, f.floatValue(0, base+i))
		case types.Bool:
			f.move(base+i, ir.Full, f.boolValue(false, base+i))
		default:
			f.emit(ir.OpLoadNil, base+i, 0, 0, 0)
		}
	}
	d := f.target(hint)
	f.emit(ir.OpNewStruct, d, base, 0, int32(f.g.typeIndex(t)))
	return val{reg: d, class: ir.Full, owned: true}
}

// variantAdapter returns the index of a function of type t that creates a value of an enum variant,
// or an Ok, Err or Some.
func (g *generator) variantAdapter(v *sema.VariantRef, t *types.Func, info *sema.Info, at source.Pos) int {
	key := fmt.Sprintf("%s %s", g.typeKey(t.Result), v.Name)
	return g.constructor(key, v.Name, t.Params, info, at, func(f *builder) val { return f.makeVariant(v, t.Result, 1, -1) })
}

// errorAdapter returns the index of the function `T::new` of a built-in error type.
func (g *generator) errorAdapter(t *types.Named, info *sema.Info, at source.Pos) int {
	return g.constructor(g.typeKey(t)+" new", t.Decl.Name+"::new", []types.Type{types.String}, info, at, func(f *builder) val {
		base := f.top
		for range t.Decl.Fields {
			f.alloc()
		}
		f.emit(ir.OpMove, base, 1, 0, 0)
		return f.newError(t, base, -1)
	})
}

// constructor returns the index of a function with the full ABI that creates a value from its
// parameters, which are in the registers from 1 on. If callers may be untyped, the function checks
// its arguments against params.
func (g *generator) constructor(key, name string, params []types.Type, info *sema.Info, at source.Pos, make func(*builder) val) int {
	if n, ok := g.adapters[key]; ok {
		return n
	}
	n := g.reserve()
	g.adapters[key] = n
	s := signature{result: ir.Full, abi: ir.FullABI, params: allFull(len(params))}
	g.enqueue(func() {
		g.build(n, func(bool) *builder {
			f := g.newFn(info, name, at, s)
			if g.p.CallsUntyped {
				for i, t := range params {
					f.checkParam(1+i, t)
				}
			}
			f.emit(ir.OpReturn, make(f).reg, 0, 0, 0)
			return f.finishFunction()
		})
	})
	return n
}
