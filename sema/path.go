package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/sema/edits"
)

// pathExpr types a name used as a value.
func (b *body) pathExpr(e *ast.PathExpr, hint types.Type) types.Type {
	if len(e.Segments) == 1 {
		return b.name(e, hint)
	}
	obj, _ := b.associated(e)
	return b.objectValue(e, obj, hint)
}

func (b *body) name(e *ast.PathExpr, hint types.Type) types.Type {
	name := e.Segments[0].Name
	if l := b.local(name); l != nil {
		return b.readLocal(e, l)
	}
	if name == "None" {
		return b.none(e, hint)
	}
	if v := builtinVariant(name); v != nil {
		b.info.objects[e.Id] = v
		return b.constructor(e, v, hint)
	}
	en := b.c.lookupValue(b.m, name)
	if en == nil {
		b.unknownValue(e, use{hint: hint})
		return types.Bad
	}
	if en.refused {
		return types.Bad
	}
	if en.module != nil || en.trait != nil {
		what := map[bool]string{true: "module", false: "trait"}[en.module != nil]
		b.report(diag.NotAValue.At(e.Sp, "`%s` is a %s, not a value", name, what).Hint("name something in it"))
		return types.Bad
	}
	if en.obj == nil {
		b.report(diag.NotAValue.At(e.Sp, "`%s` is a type, not a value", name).Advise(b.madeOf(e, en)))
		return types.Bad
	}
	return b.objectValue(e, en.obj, hint)
}

// valueOfType is how a value of the type is made that stands where one should.
func (b *body) valueOfType(e *ast.PathExpr, en *entity) string {
	name := e.Segments[0].Name
	if b.receiver == ast.Expr(e) && b.method != "" {
		if t := b.entityOwner(en); t != nil && b.c.method(t, b.method) != nil {
			return "what the type has is named by `::`: `" + name + "::" + b.method + "(…)`"
		}
	}
	switch {
	case en.typ != nil && en.typ.Kind == types.Enum && len(en.typ.Variants) > 0:
		return "name one of its variants, such as `" + edits.VariantExample(en.typ, en.typ.Variants[0]) + "`"
	case en.typ != nil && en.typ.Kind == types.ErrorStruct:
		return "make one: `" + name + "::new(\"…\")`"
	case en.typ != nil:
		return "make one: `" + edits.StructExample(en.typ) + "`"
	case en.builtin != nil:
		return edits.Sample(en.builtin)
	}
	return "name a value of it"
}

func (b *body) readLocal(e *ast.PathExpr, l *Local) types.Type {
	b.info.objects[e.Id] = l
	l.used = true
	if s := b.flow.stateOf(l); s != nil && s.state&mayUnset != 0 && b.comes() {
		b.report(diag.Unassigned.At(e.Sp, "`%s` may not have a value here", l.Name).
			Label(l.At, "declared without a value").Hint("assign it on every path before this"))
		s.state = maySet
	}
	return l.Type
}

// none is None: an Option whose element a use must fix.
func (b *body) none(e *ast.PathExpr, hint types.Type) types.Type {
	b.info.objects[e.Id] = noneRef
	if hint != nil {
		switch h := types.Resolve(hint).(type) {
		case *types.Option:
			return h
		case *types.Basic:
			if h == types.Any || h == types.Nil {
				return types.Nil
			}
		}
	}
	return &types.Option{Elem: b.c.newVar()}
}

// objectValue is the type of an object used as a value.
func (b *body) objectValue(e *ast.PathExpr, obj Object, hint types.Type) types.Type {
	if obj == nil {
		return types.Bad
	}
	b.info.objects[e.Id] = obj
	switch o := obj.(type) {
	case *Function:
		return b.functionValue(e, o, hint)
	case *Const:
		b.c.constantByName(b.m, o)
		return o.Type
	case *Agent:
		return o.Type
	case *Host:
		return o.Type
	case *Tool:
		b.c.useTool(o)
		return o.Type
	case *Store:
		return o.Type
	case *Pipeline:
		if b.receiver != ast.Expr(e) {
			b.report(diag.NotAValue.At(e.Sp, "pipeline `%s` is no value to pass around", o.Name).Hint("run it: `%s.run(…)`", o.Name))
			return types.Bad
		}
		return o.Type
	case *VariantRef:
		if len(o.Variant.Fields) > 0 || o.Variant.Named {
			return b.constructor(e, o, hint)
		}
		return b.unitVariant(e, o, hint)
	case *ErrorNew:
		return &types.Func{Params: []types.Type{types.String}, Result: o.Type}
	}
	return types.Bad
}

// functionValue is a function passed as a value. A generic one takes its type
// arguments from the place it goes to.
func (b *body) functionValue(e *ast.PathExpr, fn *Function, hint types.Type) types.Type {
	b.c.use(fn)
	b.testCalled(fn, e.Sp)
	if fn.Shape || fn.variadic() || fn.Effect != "" {
		b.report(diag.NotAValue.At(e.Sp, "`%s` cannot be passed as a value", fn.Name).Hint("wrap it in a closure"))
		return types.Bad
	}
	in := newInstance(fn.Generics)
	if len(e.TypeArgs) > 0 {
		b.typeArguments(in, fn, b.c.resolveAll(b.ts, e.TypeArgs), e.Sp, true)
	}
	t := types.Type(fn.Type())
	if hint != nil {
		in.matchHint(t, hint)
	}
	b.inferFromBounds(in)
	b.checkBounds(in, e.Sp)
	t = in.apply(b, t, e.Sp)
	b.generic(e.Id, fn, in.arguments(), e.Sp)
	return t
}

func (b *body) unitVariant(e *ast.PathExpr, v *VariantRef, hint types.Type) types.Type {
	in := newInstance(v.Type.(*types.Named).Decl.Params)
	if len(e.TypeArgs) > 0 {
		in.given(b.c.resolveAll(b.ts, e.TypeArgs))
	}
	if hint != nil {
		in.matchHint(v.Type, hint)
	}
	return b.variantType(v, in, e.Sp)
}
