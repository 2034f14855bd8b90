package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// chunk is the number of registers that a literal uses at a time. Longer arrays, maps and
// interpolations are created in pieces, so that their length is not limited.
const chunk = 24

// interpolation generates a string that joins the parts of e. The parts are only read.
func (f *builder) interpolation(e *ast.InterpLit, hint int) val {
	d := f.scratch(hint)
	base, n := f.top, 0
	flush := func() {
		f.emit(ir.OpInterpolate, base, base, n, 0)
		f.free(base + 1)
		n = 1
	}
	for i, text := range e.Texts {
		if text != "" {
			f.stringValue(text, f.alloc())
			n++
		}
		if i < len(e.Exprs) {
			r := f.alloc()
			f.borrowInto(e.Exprs[i], r, argRead, e.Exprs[i+1:]...)
			n++
		}
		if n > chunk {
			flush()
		}
	}
	f.emit(ir.OpInterpolate, d, base, n, 0)
	return val{reg: d, class: ir.Full, owned: true}
}

// borrowInto generates e into register r, as a Full value that the receiver only reads. It copies
// the value if an expression in later could change it. It also copies a value from a cell if the
// receiver may run code that changes the cell.
func (f *builder) borrowInto(e ast.Expr, r int, how passing, later ...ast.Expr) {
	if f.boxedLiteral(e, r) {
		return
	}
	top := f.top
	v := f.value(e, r)
	if !v.owned && (how == argBorrowed && v.volatile || f.isDisturbed(e, v, later)) {
		f.markShared(v, f.resultType(e))
	}
	f.move(r, ir.Full, v)
	f.free(top)
}

// ownInto generates e into register r as a value that the receiver owns.
func (f *builder) ownInto(e ast.Expr, r int) { f.into(e, r, ir.Full, true) }

func (f *builder) arrayLit(e *ast.ArrayLit, hint int) val {
	d := f.scratch(hint)
	base := f.top
	first := min(len(e.Elems), chunk)
	for _, x := range e.Elems[:first] {
		f.ownInto(x, f.alloc())
	}
	f.emit(ir.OpNewArray, d, base, first, 0)
	f.free(base)
	for _, x := range e.Elems[first:] {
		r := f.alloc()
		f.ownInto(x, r)
		f.emit(ir.OpArrayPush, d, r, 0, 0)
		f.free(base)
	}
	return val{reg: d, class: ir.Full, owned: true, fresh: true}
}

func (f *builder) mapLit(e *ast.MapLit, hint int) val {
	d := f.scratch(hint)
	base := f.top
	first := min(len(e.Entries), chunk/2)
	for _, en := range e.Entries[:first] {
		f.ownInto(en.Key, f.alloc())
		f.ownInto(en.Value, f.alloc())
	}
	f.emit(ir.OpNewMap, d, base, first, 0)
	f.free(base)
	for _, en := range e.Entries[first:] {
		k, v := f.alloc(), f.alloc()
		f.ownInto(en.Key, k)
		f.ownInto(en.Value, v)
		f.emit(ir.OpMapSet, d, k, v, 0)
		f.free(base)
	}
	return val{reg: d, class: ir.Full, owned: true, fresh: true}
}

func (f *builder) tupleLit(e *ast.TupleLit, hint int) val {
	d := f.target(hint)
	base := f.top
	for _, x := range e.Elems {
		f.ownInto(x, f.alloc())
	}
	f.emit(ir.OpNewTuple, d, base, len(e.Elems), 0)
	return val{reg: d, class: ir.Full, owned: true, fresh: true}
}

// structLit creates a struct, a schema value or a variant with named fields. It evaluates the
// written fields in their written order, then the expression after `..`, then the defaults.
func (f *builder) structLit(e *ast.StructLit, hint int) val {
	s := f.info.Struct(e)
	base := f.top
	for range s.Fields {
		f.alloc()
	}
	for i, init := range e.Fields {
		for n, src := range s.Fields {
			if src.Index == i {
				f.ownInto(init.Value, base+n)
			}
		}
	}
	var rest val
	if e.Rest != nil {
		rest = f.value(e.Rest, -1)
	}
	for n, src := range s.Fields {
		switch {
		case src.Index >= 0:
		case src.Rest:
			f.markShared(f.readField(rest, n, ir.Full, base+n), types.Any)
		case src.Default != nil:
			f.inFile(src.Info, func() { f.ownInto(src.Default, base+n) })
		default:
			f.emit(ir.OpLoadNil, base+n, 0, 0, 0)
		}
	}
	d := f.target(hint)
	if s.Variant != nil {
		f.emit(ir.OpNewVariant, d, base, s.Variant.Index, int32(f.g.typeIndex(s.Type)))
	} else {
		f.emit(ir.OpNewStruct, d, base, 0, int32(f.g.typeIndex(s.Type)))
	}
	return val{reg: d, class: ir.Full, owned: true, fresh: true}
}

// inFile calls gen to generate an expression that is in another file.
func (f *builder) inFile(info *sema.Info, gen func()) {
	if info == nil || info == f.info {
		gen()
		return
	}
	old := f.info
	f.info = info
	f.foreign++
	gen()
	f.foreign--
	f.info = old
}

// constant generates the compile-time constant v in the representation of type t.
func (f *builder) constant(v any, t types.Type, hint int) val {
	t = types.Resolve(t)
	if o, ok := t.(*types.Option); ok && v != nil {
		return f.some(f.constant(v, o.Elem, -1), o.Elem, hint)
	}
	switch v := v.(type) {
	case nil:
		return f.nilValue(hint)
	case int64:
		if t == types.Float {
			return f.floatValue(float64(v), hint)
		}
		return f.intValue(v, hint)
	case float64:
		return f.floatValue(v, hint)
	case bool:
		return f.boolValue(v, hint)
	case string:
		return f.stringValue(v, hint)
	case []any:
		return f.constArray(v, t, hint)
	case *sema.ConstMap:
		return f.constMap(v, t, hint)
	case *sema.Function:
		return f.loadFunction(f.g.adapter(v), hint)
	case *sema.VariantRef:
		return f.variantValue(v, t, hint)
	case sema.Object:
		return f.loadDeclaration(v, hint)
	}
	panic("codegen: constant of unknown form")
}

func (f *builder) constArray(xs []any, t types.Type, hint int) val {
	d := f.scratch(hint)
	base := f.top
	elem := func(i int) types.Type {
		switch t := t.(type) {
		case *types.Array:
			return t.Elem
		case *types.Tuple:
			return t.Elems[i]
		}
		return types.Any
	}
	tuple, isTuple := t.(*types.Tuple)
	first := min(len(xs), chunk)
	if isTuple {
		first = len(tuple.Elems)
	}
	for i, x := range xs[:first] {
		r := f.alloc()
		f.move(r, ir.Full, f.constant(x, elem(i), r))
		f.free(r + 1)
	}
	if isTuple {
		f.emit(ir.OpNewTuple, d, base, first, 0)
	} else {
		f.emit(ir.OpNewArray, d, base, first, 0)
	}
	f.free(base)
	for _, x := range xs[first:] {
		v := f.boxed(f.constant(x, elem(first), -1), -1)
		f.emit(ir.OpArrayPush, d, v.reg, 0, 0)
		f.free(base)
	}
	return val{reg: d, class: ir.Full, owned: true}
}

func (f *builder) constMap(m *sema.ConstMap, t types.Type, hint int) val {
	d := f.scratch(hint)
	base := f.top
	elem := types.Type(types.Any)
	if mt, ok := t.(*types.Map); ok {
		elem = mt.Value
	}
	f.emit(ir.OpNewMap, d, base, 0, 0)
	for i, k := range m.Keys {
		key := f.stringValue(k, -1)
		v := f.boxed(f.constant(m.Values[i], elem, -1), -1)
		f.emit(ir.OpMapSet, d, key.reg, v.reg, 0)
		f.free(base)
	}
	return val{reg: d, class: ir.Full, owned: true}
}
