package sema

import (
	"strconv"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

func (b *body) unary(e *ast.Unary, hint types.Type) types.Type {
	if e.Op == ast.OpNot {
		b.condition(e.X)
		return types.Bool
	}
	if lit, ok := e.X.(*ast.IntLit); ok {
		t := b.intLit(lit, true)
		b.info.types[lit.Id] = t
		return t
	}
	t := types.Loose(b.expr(e.X, hint))
	if !b.isTypeKnown(e.X, t) {
		return types.Bad
	}
	if types.IsNumeric(t) || types.IsAny(t) || t == types.Bad || t == types.Never {
		return t
	}
	b.report(diag.Operand.At(e.X.Span(), "`-` cannot be applied to `%s`", types.Full(t)).Hint("only Int and Float can be negated"))
	return types.Bad
}

// condition checks an expression that must be a Bool. A value of type Any is checked at run time.
func (b *body) condition(e ast.Expr) {
	t := types.Resolve(b.expr(e, types.Bool))
	switch {
	case t == types.Bool || t == types.Bad || t == types.Never:
	case types.IsAny(t):
		b.info.conv[e.ID()] = types.Bool
	default:
		if v, ok := t.(*types.Var); ok {
			types.Subtype(v, types.Bool)
			return
		}
		b.report(diag.Mismatch.At(e.Span(), "expected `Bool`, found `%s`", types.Full(t)).Advise(b.boolAdvice(e, types.Full(t))))
	}
}

func (b *body) binary(e *ast.Binary, hint types.Type) types.Type {
	switch e.Op {
	case ast.OpAnd, ast.OpOr:
		b.condition(e.X)
		after := b.flow.clone()
		b.condition(e.Y)
		b.flow = joinFlow(after, b.flow)
		return types.Bool
	case ast.OpCoalesce:
		return b.coalesce(e, hint)
	case ast.OpEq, ast.OpNe:
		b.checkEquality(e)
		return types.Bool
	}
	var operandHint types.Type
	if hint != nil && e.Op == ast.OpAdd {
		if _, isArray := types.Resolve(hint).(*types.Array); isArray {
			operandHint = hint
		}
	}
	x := types.Resolve(b.expr(e.X, operandHint))
	if a, ok := x.(*types.Array); ok && operandHint == nil && !types.HasVar(a) {
		operandHint = a
	}
	y := types.Resolve(b.expr(e.Y, operandHint))
	if xKnown := b.isTypeKnown(e.X, x); !b.isTypeKnown(e.Y, y) || !xKnown || x == types.Bad || y == types.Bad {
		if e.Op.IsOrdering() {
			return types.Bool
		}
		return types.Bad
	}
	return b.checkOperator(e, x, y)
}

// checkOperator checks an arithmetic or ordering operator whose operands have the types x and y.
func (b *body) checkOperator(e *ast.Binary, x, y types.Type) types.Type {
	compare := e.Op.IsOrdering()
	t := operatorType(e.Op, x, y)
	if t == nil {
		b.reportBadOperands(e, x, y)
		if compare {
			return types.Bool
		}
		return types.Bad
	}
	b.convertOperand(e.X, x, t)
	b.convertOperand(e.Y, y, t)
	if compare && !types.IsAny(t) {
		return types.Bool
	}
	return t
}

// operatorType returns the type to which an operator converts its operands of types x and y. It
// returns nil if the operator does not support these types.
func operatorType(op ast.Op, x, y types.Type) types.Type {
	switch {
	case x == types.Never || y == types.Never:
		if x == types.Never {
			return y
		}
		return x
	case types.IsAny(x) || types.IsAny(y):
		return types.Any
	case types.IsNumeric(x) && types.IsNumeric(y):
		if x == types.Float || y == types.Float {
			return types.Float
		}
		return types.Int
	}
	compare := op.IsOrdering()
	if p, ok := x.(*types.Param); ok && compare && p.Ordered && x == y {
		return types.Any // compared at run time, by the type of the values
	}
	if types.IsString(x) && types.IsString(y) && (op == ast.OpAdd || compare) {
		return types.String
	}
	if op != ast.OpAdd {
		return nil
	}
	if _, ok := x.(*types.Array); ok {
		if _, ok := y.(*types.Array); ok {
			if t, ok := types.Join(x, y); ok {
				return t
			}
		}
	}
	return nil
}

func (b *body) convertOperand(e ast.Expr, t, want types.Type) {
	if want == types.Float && t == types.Int || types.IsAny(want) && !types.IsAny(t) {
		b.info.conv[e.ID()] = want
	}
}

func isOrdering(e ast.Expr) bool {
	x, ok := unparen(e).(*ast.Binary)
	return ok && x.Op.IsOrdering()
}

func isOption(t types.Type) bool { _, ok := t.(*types.Option); return ok }

// coalesce checks `a ?? b`. The value is the element of the Option a, or b if a is None.
func (b *body) coalesce(e *ast.Binary, hint types.Type) types.Type {
	x := types.Resolve(b.expr(e.X, nil))
	before := b.flow.clone()
	var out types.Type
	switch t := x.(type) {
	case *types.Option:
		if hint != nil && types.IsAny(hint) {
			b.checkAs(e.Y, types.Any, reason{})
			out = types.Any
			break
		}
		y := b.expr(e.Y, t.Elem)
		j, ok := types.Join(t.Elem, y)
		if !ok {
			b.reportMismatch(e.Y, y, t.Elem, reason{b.m, e.X.Span(), "the left side is `" + types.Full(x).String() + "`"})
			j = types.Bad
		} else {
			b.coerce(e.Y, y, j, reason{})
			if ok, convert := types.Conversion(t.Elem, j); ok && convert {
				b.info.details[e.Id] = &Coalesce{From: t.Elem, To: j}
			}
		}
		out = j
	case *types.Basic:
		switch t {
		case types.Any:
			b.checkAs(e.Y, types.Any, reason{})
			out = types.Any
		case types.Nil:
			out = b.expr(e.Y, hint)
		default:
			out = b.warnNeverNone(e, x)
		}
	default:
		out = b.warnNeverNone(e, x)
	}
	b.flow = joinFlow(before, b.flow)
	return out
}

// Coalesce is the detail of a `??` that converts the element of its left operand.
type Coalesce struct{ From, To types.Type }

// Coalesce returns the conversion of the element of a `??`'s left operand, or nil without a
// conversion.
func (i *Info) Coalesce(e *ast.Binary) *Coalesce { d, _ := i.details[e.Id].(*Coalesce); return d }

func (b *body) warnNeverNone(e *ast.Binary, x types.Type) types.Type {
	pending := len(b.vars)
	b.expr(e.Y, nil)
	b.vars = b.vars[:pending] // the left operand determines types that the right operand leaves open
	if x == types.Bad || x == types.Never {
		return types.Bad
	}
	if isVar(x) {
		b.isTypeKnown(e.X, x)
		return types.Bad
	}
	d := diag.NotOptional.At(e.X.Span(), "`%s` is never None, so `??` has no effect", types.Full(x))
	if _, ok := x.(*types.Result); ok {
		b.report(d.Hint("use `.unwrap_or(…)` for a Result"))
		return types.Bad
	}
	if q := questionIn(e.X); q != nil {
		b.report(d.Advise(b.defaultAdvice(e, q)))
		return x
	}
	b.report(d.Repair(diag.SafeFix(diag.Remove(source.Span{Start: e.X.Span().End, End: e.Y.Span().End}), "Remove `?? …`"), "remove `?? …`"))
	return x
}

// questionIn returns the last `?` of a chain such as `u.address?.len()`, or nil. In another
// language the chain would end there, with the value of `??`.
func questionIn(e ast.Expr) *ast.Question {
	for {
		switch x := unparen(e).(type) {
		case *ast.Question:
			return x
		case *ast.MethodCall:
			e = x.Recv
		case *ast.FieldExpr:
			e = x.X
		case *ast.TupleIndex:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// defaultAdvice returns the advice for a `??` whose left side contains the `?` q, which leaves the
// function before `??` is reached. It never removes the default.
func (b *body) defaultAdvice(e *ast.Binary, q *ast.Question) diag.Advice {
	f := b.info.File.Source
	_, isOption := types.Resolve(b.info.types[q.X.ID()]).(*types.Option)
	rest := f.Slice(source.Span{Start: q.Sp.End, End: e.X.Span().End})
	inner := b.sourceText(q.X)
	switch {
	case isOption && rest == "":
		return diag.HintAdvice("remove the `?`, which leaves the function: `" + inner + " ?? …`").
			WithFix(diag.UnsafeFix(diag.Remove(source.Span{Start: q.X.Span().End, End: q.Sp.End}), "Remove the `?`"))
	case isOption && q.Sp.Start == e.X.Span().Start:
		name := "value"
		for n := 2; b.local(name) != nil; n++ {
			name = "value" + strconv.Itoa(n)
		}
		mapped := ".map(|" + name + "| " + name + rest + ")"
		return diag.HintAdvice("`?` leaves the function if " + b.quotedText(q.X) + " is None; to continue with the default, write `" + inner + ".map(|" + name + "| " + name + b.c.shortSlice(f, source.Span{Start: q.Sp.End, End: e.X.Span().End}) + ") ?? …`").
			WithFix(diag.UnsafeFix(diag.Replace(source.Span{Start: q.X.Span().End, End: e.X.Span().End}, mapped), "Change to `.map`"))
	case rest == "":
		return diag.HintAdvice("`?` returns the error to the caller; to continue with a default, write `" + inner + ".unwrap_or(…)`")
	}
	return diag.HintAdvice("`?` leaves the function before `??` is reached: use `match` or `if let` to continue with a default")
}

// isTypeKnown reports whether the type of an operand is known. If it is not, isTypeKnown reports an
// error and makes the type the error type, so that the error is reported only once.
func (b *body) isTypeKnown(e ast.Expr, t types.Type) bool {
	v, ok := types.Resolve(t).(*types.Var)
	if !ok {
		return true
	}
	v.Bound = types.Bad
	for i, p := range b.vars {
		if p.v == v {
			b.vars = append(b.vars[:i:i], b.vars[i+1:]...)
			b.report(diag.CannotInfer.At(p.at, "cannot infer %s", p.what).Label(e.Span(), "the type must be known here").Hint("%s", p.hint))
			return false
		}
	}
	b.report(diag.CannotInfer.At(e.Span(), "cannot infer the type of this expression").Hint("annotate its declaration"))
	return false
}

func (b *body) rangeExpr(e *ast.RangeExpr) types.Type {
	for _, x := range []ast.Expr{e.Lo, e.Hi} {
		if x == nil {
			continue // a missing element is a syntax error
		}
		b.checkAs(x, types.Int, reason{})
	}
	return types.Range
}

// cast checks `x as T`.
func (b *body) cast(e *ast.Cast) types.Type {
	want := b.c.resolve(b.ts, e.Type)
	got := types.Resolve(b.expr(e.X, nil))
	if got == types.Bad || want == types.Bad {
		return want
	}
	_, union := want.(*types.Union)
	switch {
	case types.IsNumeric(got) && types.IsNumeric(want):
	case types.IsAny(got):
		b.checkDecodable(want, e.Type.Span())
	case union && types.IsString(got):
	case types.Subtype(got, want):
	default:
		d := diag.BadCast.At(e.Sp, "`%s` cannot be cast to `%s`", types.Full(got), types.Full(want))
		castable := func(t types.Type) bool {
			return t == types.Any || types.IsNumeric(t) && types.IsNumeric(want) || types.Subtype(t, want)
		}
		b.report(d.Advise(firstAdvice(
			func() diag.Advice { return b.takeOutAdvice(e.X, got, castable) },
			func() diag.Advice { return b.textAdvice(e.X, got, want) },
			func() diag.Advice { return b.convertPlain(e.X, got, want) },
			func() diag.Advice {
				return diag.HintAdvice("`as` converts between Int and Float, checks an Any, and checks a String against a union")
			},
		)))
	}
	return want
}

// checkDecodable checks that the type t can be checked at run time: it must not contain functions,
// references or type parameters.
func (b *body) checkDecodable(t types.Type, at source.Span) {
	bad := undecodable(t, map[*types.Decl]bool{})
	if bad == nil {
		return
	}
	if n, ok := bad.(*types.Named); ok && n.Decl.Members && b.info.Library {
		return // the library itself creates values of the type
	}
	if isParam(bad) && !types.IsTrait(bad) {
		b.report(diag.Undecodable.At(at, "type parameter `%s` is not known at run time", bad).Hint("use a concrete type"))
		return
	}
	b.report(diag.Undecodable.At(at, "values of type `%s` cannot be decoded from data", types.Full(bad)).
		Hint("use scalars, arrays, maps with String keys, options, tuples, unions, schemas, structs and enums"))
}

// undecodable returns a type within t whose values cannot be decoded from data, or nil.
func undecodable(t types.Type, seen map[*types.Decl]bool) types.Type {
	t = types.Resolve(t)
	switch x := t.(type) {
	case *types.Param, *types.Func, *types.Task, *types.Result, *types.HashMap, *types.Queue, *types.Declared:
		return t
	case *types.Map:
		if k := types.Resolve(x.Key); !types.IsString(k) && k != types.Bad && !types.IsAny(k) {
			return t
		}
	case *types.Basic:
		switch x {
		case types.Never, types.Error, types.Range, types.Agent, types.Host, types.Tool, types.Memory, types.Ledger, types.Shape:
			return t
		}
	case *types.Named:
		if x.Decl.Elements || x.Decl.Members {
			return t
		}
		if seen[x.Decl] {
			return nil
		}
		seen[x.Decl] = true
		m := types.Bindings(x.Decl.Params, x.Args)
		for _, fs := range namedFields(x.Decl) {
			for _, f := range fs {
				if bad := undecodable(types.Substitute(f.Type, m), seen); bad != nil {
					return bad
				}
			}
		}
		return nil
	}
	for _, p := range types.Parts(t) {
		if bad := undecodable(p, seen); bad != nil {
			return bad
		}
	}
	return nil
}

// namedFields returns the fields of a declaration. For an enum it returns the fields of each
// variant.
func namedFields(d *types.Decl) [][]*types.Field {
	if d.Kind != types.Enum {
		return [][]*types.Field{d.Fields}
	}
	var out [][]*types.Field
	for _, v := range d.Variants {
		out = append(out, v.Fields)
	}
	return out
}

// checkEquality checks `==` and `!=`. The operands must have a common type. An Option can be
// compared with its element type and with nil.
func (b *body) checkEquality(e *ast.Binary) {
	x := types.Resolve(b.expr(e.X, nil))
	y := types.Resolve(b.expr(e.Y, x))
	if x == types.Bad || y == types.Bad {
		return
	}
	if t, ok := comparedType(x, y); ok {
		b.convertOperand(e.X, x, t)
		b.convertOperand(e.Y, y, t)
		return
	}
	if b.reportBareVariant(e.X, x) || b.reportBareVariant(e.Y, y) {
		return
	}
	d := diag.NeverEqual.At(e.OpSpan, "`%s` and `%s` are never equal", types.Full(x), types.Full(y)).
		Label(e.X.Span(), "this has type `%s`", types.Full(x)).Label(e.Y.Span(), "this has type `%s`", types.Full(y))
	fits := func(other types.Type) func(types.Type) bool {
		return func(t types.Type) bool { _, ok := comparedType(t, other); return ok }
	}
	d.Advise(b.takeOutAdvice(e.X, x, fits(y)), b.takeOutAdvice(e.Y, y, fits(x)))
	if len(d.Hints) == 0 {
		d.Hint("%s", b.comparisonHint(e, x, y))
	}
	b.report(d)
}

// comparisonHint returns a hint about comparing two values of different types.
func (b *body) comparisonHint(e *ast.Binary, x, y types.Type) string {
	for _, side := range [2]struct {
		e, other ast.Expr
		t, want  types.Type
	}{{e.X, e.Y, x, y}, {e.Y, e.X, y, x}} {
		switch {
		case side.t == types.Nil:
			return "only an Option or an Any can be nil: `" + b.sourceText(side.other) + "` always has a value"
		case types.IsString(side.t) && types.IsNumeric(side.want):
			if lit, ok := unparen(side.e).(*ast.StringLit); ok && side.want == numberType(lit.Value) {
				return "remove the quotes of the number: `" + lit.Value + "`"
			}
			return "convert the number to text: `" + b.operandText(side.other) + ".to_string()`"
		}
		if n, ok := side.t.(*types.Named); ok && n.Decl.Kind != types.Enum {
			for _, f := range n.Decl.Fields {
				if _, ok := comparedType(types.Resolve(f.Type), side.want); ok {
					return "compare its field: `" + b.operandText(side.e) + "." + f.Name + "`"
				}
			}
		}
	}
	return "convert one of them to the type of the other"
}

// comparedType returns the common type in which values of the types x and y are compared.
func comparedType(x, y types.Type) (types.Type, bool) {
	if u, ok := x.(*types.Union); ok {
		if v, ok := y.(*types.Union); ok {
			for _, s := range u.Values {
				if v.Has(s) {
					return types.String, true
				}
			}
			return nil, false
		}
	}
	if x == types.Nil || y == types.Nil {
		other := x
		if x == types.Nil {
			other = y
		}
		return other, other == types.Nil || types.IsAny(other) || isOption(other)
	}
	return types.Join(x, y)
}
