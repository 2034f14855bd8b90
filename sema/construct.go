package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// callVariant checks a call that creates an enum value: a variant of the program, or Ok, Err or
// Some.
func (b *body) callVariant(e *ast.Call, v *VariantRef, path *ast.PathExpr, hint types.Type, p *piped) types.Type {
	d := &Call{Kind: CallVariant, Variant: v, Name: v.Name, Piped: p != nil}
	params, fields := variantParams(v)
	in := newInstance(params)
	if len(path.TypeArgs) > 0 {
		in.setAll(b.c.resolveAll(b.ts, path.TypeArgs))
	}
	if hint != nil {
		if h := hintedVariant(v, hint); h != nil {
			in.matchHint(v.Type, h)
		}
	}
	if v.Variant != nil && v.Variant.Named {
		d := diag.NotAStruct.At(e.Sp, "variant `%s` has named fields", v.Name)
		if literal, ok := b.structLiteralText(v.Variant.Fields, e.Args); ok && p == nil {
			at := source.Span{Start: e.Fn.Span().End, End: e.Sp.End}
			d.WithFixes(diag.UnsafeFix(diag.Replace(at, literal), "Name the fields"))
		}
		b.report(d.Hint("write `%s`", edits.VariantExample(v.Type.(*types.Named).Decl, v.Variant)))
		return types.Bad
	}
	n := len(e.Args)
	if p != nil {
		n++
	}
	if len(fields) == 0 && v.Variant != nil {
		b.checkUnboundArguments(e.Args)
		b.report(diag.ArgumentCount.At(e.Sp, "variant `%s` has no values", v.Name).Hint("write only `%s`", b.m.info.File.Source.Slice(path.Sp)))
		return types.Bad
	}
	if n != len(fields) {
		b.checkUnboundArguments(e.Args)
		b.report(diag.ArgumentCount.At(e.Sp, "`%s` takes %s, but got %d", v.Name, count(len(fields), "argument"), n).
			Hint("pass one value for each part of the variant"))
		return types.Bad
	}
	if p != nil {
		b.pipedArgument(d, in, fields[0], p)
		d.Args = append(d.Args, Arg{Kind: ArgPiped, Conv: d.pipedConv})
		fields = fields[1:]
	}
	for i, a := range e.Args {
		if a.Name != nil {
			b.report(diag.UnknownParameter.At(a.Name.Sp, "the values of `%s` have no names", v.Name).Hint("write only the value"))
		}
		d.Args = append(d.Args, Arg{Kind: ArgWritten, Index: i})
		in.argument(b, a.Value, fields[i], reason{})
	}
	in.finishArguments(b)
	t := b.variantType(v, in, e.Sp)
	d.Variant = &VariantRef{Type: t, Name: v.Name, Index: v.Index, Variant: v.Variant}
	b.info.details[e.Id] = d
	return t
}

// hintedVariant returns the expected type if it can determine the type of a variant, else nil.
func hintedVariant(v *VariantRef, hint types.Type) types.Type {
	h := types.Resolve(hint)
	if types.IsAny(h) || h == types.Nil {
		return nil
	}
	return h
}

// variantParams returns the type parameters of a variant's enum, and the types of the variant's
// values.
func variantParams(v *VariantRef) ([]*types.Param, []types.Type) {
	if v.Variant == nil {
		switch v.Name {
		case "Some":
			return []*types.Param{paramT}, []types.Type{paramT}
		case "Ok":
			return []*types.Param{paramT, paramE}, []types.Type{paramT}
		default:
			return []*types.Param{paramT, paramE}, []types.Type{paramE}
		}
	}
	var fields []types.Type
	for _, f := range v.Variant.Fields {
		fields = append(fields, f.Type)
	}
	return v.Type.(*types.Named).Decl.Params, fields
}

// The type parameters and the variants of the built-in enums.
var (
	paramT = &types.Param{Name: "T"}
	paramE = &types.Param{Name: "E"}

	optionT = &types.Option{Elem: paramT}
	resultT = &types.Result{Ok: paramT, Err: paramE}

	someRef = &VariantRef{Type: optionT, Name: "Some", Index: 0}
	noneRef = &VariantRef{Type: optionT, Name: "None", Index: 1}
	okRef   = &VariantRef{Type: resultT, Name: "Ok", Index: 0}
	errRef  = &VariantRef{Type: resultT, Name: "Err", Index: 1}
)

// builtinVariant returns the variant Some, Ok or Err, or nil for another name. None is not called
// and therefore not included.
func builtinVariant(name string) *VariantRef {
	switch name {
	case "Some":
		return someRef
	case "Ok":
		return okRef
	case "Err":
		return errRef
	}
	return nil
}

// variantType returns the type of a variant's value. A type parameter that is not determined, such
// as one side of a Result, becomes a new inference variable, and later code need not determine it.
func (b *body) variantType(v *VariantRef, in *instance, at source.Span) types.Type {
	for _, p := range in.params {
		if in.solved[p] == nil && in.hints[p] == nil {
			in.solved[p] = b.c.newVar()
		}
	}
	return in.apply(b, v.Type, at)
}

// constructor checks the name of a variant that has values and is not called. The name is the
// function that creates the variant, if a function may be expected.
func (b *body) constructor(e *ast.PathExpr, v *VariantRef, hint types.Type) types.Type {
	if named := v.Variant != nil && v.Variant.Named; named || hint != nil && !mayBeFunc(hint) {
		b.reportMissingValues(e, v)
		return types.Bad
	}
	params, fields := variantParams(v)
	in := newInstance(params)
	if len(e.TypeArgs) > 0 {
		in.setAll(b.c.resolveAll(b.ts, e.TypeArgs))
	}
	if f, ok := hinted(hint).(*types.Func); ok {
		in.addHint(fields, f.Params)
		in.matchHint(v.Type, f.Result)
	}
	result := b.variantType(v, in, e.Sp)
	f := &types.Func{Result: result}
	for _, t := range fields {
		f.Params = append(f.Params, types.Substitute(t, in.solved))
	}
	return f
}

// mayBeFunc reports whether the expected type t is a function or an inference variable. An Any does
// not count.
func mayBeFunc(t types.Type) bool { return isFunc(hinted(t)) || isVar(types.Resolve(t)) }

// reportBareVariant reports e if it is the name of a variant that has values, but no function is
// expected. It returns false if e is no such name.
func (b *body) reportBareVariant(e ast.Expr, t types.Type) bool {
	path, ok := unparen(e).(*ast.PathExpr)
	if !ok || !isFunc(t) {
		return false
	}
	v, ok := b.info.objects[path.Id].(*VariantRef)
	if ok {
		b.reportMissingValues(path, v)
	}
	return ok
}

// reportMissingValues reports a variant whose values are missing.
func (b *body) reportMissingValues(e *ast.PathExpr, v *VariantRef) {
	if v.Variant == nil {
		b.report(diag.VariantValue.At(e.Sp, "`%s` needs a value", v.Name).Hint("write `%s(…)`", v.Name))
		return
	}
	d := diag.VariantValue.At(e.Sp, "variant `%s` needs values", v.Name).WithFixes(addValuesFix(e, v.Variant))
	example := edits.VariantExample(v.Type.(*types.Named).Decl, v.Variant)
	if v.Variant.Named {
		d.Hint("write `%s`; a variant with named fields is not a function", example)
	} else {
		d.Hint("write `%s`", example)
	}
	b.report(d)
}

func (b *body) callErrorNew(e *ast.Call, o *ErrorNew, p *piped) types.Type {
	d := &Call{Kind: CallErrorNew, Error: o.Type, Name: o.Type.Decl.Name + "::new", Piped: p != nil}
	n := len(e.Args)
	if p != nil {
		n++
		in := newInstance(nil)
		b.pipedArgument(d, in, types.String, p)
		d.Args = append(d.Args, Arg{Kind: ArgPiped, Conv: d.pipedConv})
	}
	b.info.details[e.Id] = d
	if n != 1 {
		b.checkUnboundArguments(e.Args)
		b.report(diag.ArgumentCount.At(e.Sp, "`%s` takes 1 argument, but got %d", d.Name, n).Hint("pass the message: `%s(\"…\")`", d.Name))
		return o.Type
	}
	for i, a := range e.Args {
		b.checkAs(a.Value, types.String, reason{})
		d.Args = append(d.Args, Arg{Kind: ArgWritten, Index: i})
	}
	return o.Type
}

// pathExpr checks a name or path that is used as a value.
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
		return b.noneValue(e, hint)
	}
	if v := builtinVariant(name); v != nil {
		b.info.objects[e.Id] = v
		return b.constructor(e, v, hint)
	}
	en := b.c.lookupValue(b.m, name)
	if en == nil {
		b.reportUnknownValue(e, use{hint: hint})
		return types.Bad
	}
	if en.refused {
		return types.Bad
	}
	if en.module != nil || en.trait != nil {
		what := map[bool]string{true: "module", false: "trait"}[en.module != nil]
		b.report(diag.NotAValue.At(e.Sp, "`%s` is a %s, not a value", name, what).Hint("write the name of an item of it"))
		return types.Bad
	}
	if en.obj == nil {
		b.report(diag.NotAValue.At(e.Sp, "`%s` is a type, not a value", name).Advise(b.typeAsValueAdvice(e, en)))
		return types.Bad
	}
	return b.objectValue(e, en.obj, hint)
}

// valueOfType returns a hint that shows how to create a value of the type en.
func (b *body) valueOfType(e *ast.PathExpr, en *entity) string {
	name := e.Segments[0].Name
	if b.receiver == ast.Expr(e) && b.method != "" {
		if t := b.entityOwner(en); t != nil && b.c.method(t, b.method) != nil {
			return "write `::` to access an item of a type: `" + name + "::" + b.method + "(…)`"
		}
		if hint := foreign.Function.Hint(name + "::" + b.method); hint != "" {
			return hint
		}
	}
	switch {
	case en.typ != nil && en.typ.Kind == types.Enum && len(en.typ.Variants) > 0:
		return "use one of its variants, such as `" + edits.VariantExample(en.typ, en.typ.Variants[0]) + "`"
	case en.typ != nil && en.typ.Kind == types.ErrorStruct:
		return "create one: `" + name + "::new(\"…\")`"
	case en.typ != nil:
		return "create one: `" + edits.StructExample(en.typ) + "`"
	case en.builtin != nil:
		return edits.Sample(en.builtin)
	}
	return "use a value of this type"
}

func (b *body) readLocal(e *ast.PathExpr, l *Local) types.Type {
	b.info.objects[e.Id] = l
	l.used = true
	if s := b.flow.stateOf(l); s != nil && s.state&mayUnset != 0 && b.isReachable() {
		b.report(diag.Unassigned.At(e.Sp, "`%s` may be unassigned here", l.Name).
			Label(l.At, "declared without a value").Hint("assign it on every path before this use"))
		s.state = maySet
	}
	return l.Type
}

// noneValue checks None. Its type is an Option, whose element type must be inferred.
func (b *body) noneValue(e *ast.PathExpr, hint types.Type) types.Type {
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

// objectValue returns the type of the declaration obj when its name is used as a value.
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
			b.report(diag.NotAValue.At(e.Sp, "pipeline `%s` is not a value", o.Name).Hint("run it with `%s.run(…)`", o.Name))
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

// functionValue checks the name of a function that is used as a value. The expected type determines
// the type arguments of a generic function.
func (b *body) functionValue(e *ast.PathExpr, fn *Function, hint types.Type) types.Type {
	b.c.lib.use(fn)
	b.testCalled(fn, e.Sp)
	if fn.Shape || fn.isVariadic() || fn.Effect != "" {
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
	b.recordGeneric(e.Id, fn, in.arguments(), e.Sp)
	return t
}

func (b *body) unitVariant(e *ast.PathExpr, v *VariantRef, hint types.Type) types.Type {
	in := newInstance(v.Type.(*types.Named).Decl.Params)
	if len(e.TypeArgs) > 0 {
		in.setAll(b.c.resolveAll(b.ts, e.TypeArgs))
	}
	if hint != nil {
		in.matchHint(v.Type, hint)
	}
	return b.variantType(v, in, e.Sp)
}
