package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// ifExpr checks an if; want is what its value is wanted as, nil to join the
// branches.
func (b *body) ifExpr(e *ast.IfExpr, want types.Type, why reason) types.Type {
	defer b.asReached()()
	b.enterScope()
	b.branchCondition(e.Cond)
	atElse := b.flow.clone()
	if e.Else == nil {
		out := types.Type(types.Nil)
		if want != nil && !acceptsNil(want) {
			b.noElse(e, want, why)
			out = types.Bad
		}
		b.blockValue(e.Then, types.Nil, reason{})
		b.leaveScope()
		b.flow = joinFlow(b.flow, atElse)
		return out
	}
	then := b.blockValue(e.Then, want, why)
	b.leaveScope()
	afterThen := b.flow
	b.flow = atElse
	var other types.Type
	if want != nil {
		other = b.branch(e.Else, want, why)
	} else {
		other = b.expr(e.Else, nil)
	}
	b.flow = joinFlow(afterThen, b.flow)
	if b.flow.dead {
		return types.Never
	}
	if want != nil {
		return want
	}
	return b.joinBranches([]branchValue{{e.Then, nil, then}, {nil, e.Else, other}})
}

// branch checks an else or arm body against a wanted type. The conversion, if
// any, stands on the innermost value.
func (b *body) branch(e ast.Expr, want types.Type, why reason) types.Type {
	if types.Resolve(want) == types.Nil {
		b.discard(e)
		return b.info.types[e.ID()]
	}
	got := b.exprFor(e, want, why)
	if types.Resolve(got) != types.Never {
		b.coerce(e, got, want, why)
	}
	return got
}

func acceptsNil(t types.Type) bool {
	t = types.Resolve(t)
	return t == types.Nil || types.IsAny(t) || optional(t) || t == types.Bad
}

func (b *body) noElse(e *ast.IfExpr, want types.Type, why reason) {
	d := diag.MissingElse.At(e.Sp, "expected `%s`, but without `else` an `if` gives Nil", types.Full(want))
	b.because(d, why)
	b.report(d.Repair(diag.Offer(diag.Insert(e.Sp.End, " else { "+edits.Placeholder(want)+" }"), "Add an `else`"), "add `else { … }` with a value"))
}

// branchValue is one branch of an if or match whose type is the branches'
// join: a block or an expression.
type branchValue struct {
	block *ast.Block
	x     ast.Expr
	t     types.Type
}

func (v branchValue) span() source.Span {
	if v.block != nil {
		if v.block.Tail != nil {
			return v.block.Tail.Span()
		}
		return v.block.Sp
	}
	return v.x.Span()
}

// value is the expression that gives a branch's value; nil when there is none.
func (v branchValue) value() ast.Expr {
	if v.block != nil {
		return v.block.Tail
	}
	return v.x
}

// joinBranches is the join of what branches give; each is coerced to it.
func (b *body) joinBranches(vs []branchValue) types.Type {
	return b.joinValues(vs, "branch", "make the branches agree, or end each with `;` when no value is meant")
}

// joinValues joins the types of branches, which messages call what. repair is
// the hint when there is no join.
func (b *body) joinValues(vs []branchValue, what, repair string) types.Type {
	var joined types.Type = types.Never
	first := -1
	for i, v := range vs {
		t, ok := types.Join(joined, v.t)
		if !ok {
			d := diag.NoJoin.At(v.span(), "this %s gives `%s`, another `%s`", what, types.Full(v.t), types.Full(joined))
			if first >= 0 {
				d.Label(vs[first].span(), "this one gives `%s`", types.Full(vs[first].t))
			}
			advice := diag.Say(repair)
			if a := b.agree(v.value(), v.t, vs[max(first, 0)].value(), vs[max(first, 0)].t); a.Is() {
				advice = a
			}
			b.report(d.Advise(advice))
			return types.Bad
		}
		if first < 0 && types.Resolve(v.t) != types.Never {
			first = i
		}
		joined = t
	}
	for _, v := range vs {
		b.coerceBranch(v, joined)
	}
	return joined
}

// coerceBranch puts the conversion to t on the value at a branch's end.
func (b *body) coerceBranch(v branchValue, t types.Type) {
	if types.Resolve(v.t) == types.Never {
		return
	}
	x := v.value()
	if x == nil {
		return
	}
	b.coerce(x, b.info.types[x.ID()], t, reason{})
}

// branchCondition checks the condition of if or while, binding what `let` and
// `&&` chains of them bind.
func (b *body) branchCondition(e ast.Expr) {
	let, ok := unparen(e).(*ast.LetCond)
	if !ok {
		b.condition(e)
		return
	}
	t := b.expr(let.X, nil)
	b.info.types[let.Id] = types.Bool
	b.pattern(let.Pattern, t, false)
	b.given("the condition")
}

// match checks a match; want is what its value is wanted as, nil to join the
// arms.
func (b *body) match(e *ast.MatchExpr, want types.Type, why reason) types.Type {
	defer b.asReached()()
	subject := b.expr(e.Subject, nil)
	entry := b.flow.clone()
	out := flow{dead: true}
	var values []branchValue
	misfits := false
	for _, arm := range e.Arms {
		b.flow = entry.clone()
		b.enterScope()
		errors := b.errors
		b.subject = e.Subject
		b.pattern(arm.Pattern, subject, false)
		b.given("the `match`")
		b.subject = nil
		misfits = misfits || b.errors > errors
		if arm.Guard != nil {
			b.condition(arm.Guard)
		}
		var t types.Type
		if want != nil {
			t = b.branch(arm.Body, want, why)
		} else {
			t = b.expr(arm.Body, nil)
		}
		b.leaveScope()
		values = append(values, branchValue{nil, arm.Body, t})
		out = joinFlow(out, b.flow)
	}
	if !misfits { // else what is not covered follows from it
		b.exhaustive(e, subject)
	}
	if len(e.Arms) == 0 {
		out = entry
	}
	b.flow = out
	if b.flow.dead {
		return types.Never
	}
	if want != nil {
		return want
	}
	return b.joinBranches(values)
}
