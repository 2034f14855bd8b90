package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// equality checks `==` and `!=`: both sides must have a common type; an Option
// compares with its element and with nil.
func (b *body) equality(e *ast.Binary) {
	x := types.Resolve(b.expr(e.X, nil))
	y := types.Resolve(b.expr(e.Y, x))
	if x == types.Bad || y == types.Bad {
		return
	}
	if t, ok := comparable(x, y); ok {
		b.convertOperand(e.X, x, t)
		b.convertOperand(e.Y, y, t)
		return
	}
	if b.bareVariant(e.X, x) || b.bareVariant(e.Y, y) {
		return
	}
	d := diag.NeverEqual.At(e.OpSpan, "`%s` and `%s` are never equal", types.Full(x), types.Full(y)).
		Label(e.X.Span(), "this is `%s`", types.Full(x)).Label(e.Y.Span(), "this is `%s`", types.Full(y))
	fits := func(other types.Type) func(types.Type) bool {
		return func(t types.Type) bool { _, ok := comparable(t, other); return ok }
	}
	d.Advise(b.takeOut(e.X, x, fits(y)), b.takeOut(e.Y, y, fits(x)))
	if len(d.Hints) == 0 {
		d.Hint("%s", b.comparison(e, x, y))
	}
	b.report(d)
}

// comparison is how two values of different types are compared.
func (b *body) comparison(e *ast.Binary, x, y types.Type) string {
	for _, side := range [2]struct {
		e, other ast.Expr
		t, want  types.Type
	}{{e.X, e.Y, x, y}, {e.Y, e.X, y, x}} {
		switch {
		case side.t == types.Nil:
			return "only an Option, or an Any, may be nil: `" + b.text(side.other) + "` always has a value"
		case types.IsString(side.t) && types.IsNumeric(side.want):
			if lit, ok := unparen(side.e).(*ast.StringLit); ok && side.want == numberType(lit.Value) {
				return "write the number without quotes: `" + lit.Value + "`"
			}
			return "turn the number into text: `" + b.operand(side.other) + ".to_string()`"
		}
		if n, ok := side.t.(*types.Named); ok && n.Decl.Kind != types.Enum {
			for _, f := range n.Decl.Fields {
				if _, ok := comparable(types.Resolve(f.Type), side.want); ok {
					return "compare what it holds: `" + b.operand(side.e) + "." + f.Name + "`"
				}
			}
		}
	}
	return "convert one of them, so that both have one type"
}

// comparable is the type in which x and y are compared.
func comparable(x, y types.Type) (types.Type, bool) {
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
		return other, other == types.Nil || types.IsAny(other) || optional(other)
	}
	return types.Join(x, y)
}
