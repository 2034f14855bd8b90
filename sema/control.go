package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// ifExpr checks an if. want is the expected type. If want is nil, the type is the join of the
// branches.
func (b *body) ifExpr(e *ast.IfExpr, want types.Type, why reason) types.Type {
	defer b.asReached()()
	b.enterScope()
	b.branchCondition(e.Cond)
	atElse := b.flow.clone()
	if e.Else == nil {
		out := types.Type(types.Nil)
		if want != nil && !acceptsNil(want) {
			b.reportMissingElse(e, want, why)
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

// branch checks the body of an else or an arm against the expected type want. The conversion is
// recorded for the innermost expression that is the value.
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
	return t == types.Nil || types.IsAny(t) || isOption(t) || t == types.Bad
}

func (b *body) reportMissingElse(e *ast.IfExpr, want types.Type, why reason) {
	d := diag.MissingElse.At(e.Sp, "expected `%s`, but an `if` without `else` returns Nil", types.Full(want))
	b.explainType(d, why)
	b.report(d.Repair(diag.UnsafeFix(diag.Insert(e.Sp.End, " else { "+edits.Placeholder(want)+" }"), "Add an `else`"), "add `else { … }` with a value"))
}

// branchValue is one branch of an if or match: a block or an expression, with its type. The type of
// the whole expression is the join of its branches.
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

// value returns the expression that is the branch's value, or nil if the branch has no value.
func (v branchValue) value() ast.Expr {
	if v.block != nil {
		return v.block.Tail
	}
	return v.x
}

// joinBranches returns the join of the branches' types, and records the conversion of each branch.
func (b *body) joinBranches(vs []branchValue) types.Type {
	return b.joinValues(vs, "branch", "make the types of the branches agree, or end each branch with `;` if no value is needed")
}

// joinValues joins the types of branches. what is the word for a branch in messages. repair is the
// hint if the types have no join.
func (b *body) joinValues(vs []branchValue, what, repair string) types.Type {
	var joined types.Type = types.Never
	first := -1
	for i, v := range vs {
		t, ok := types.Join(joined, v.t)
		if !ok {
			d := diag.NoJoin.At(v.span(), "this %s has type `%s`, but another has type `%s`", what, types.Full(v.t), types.Full(joined))
			if first >= 0 {
				d.Label(vs[first].span(), "this has type `%s`", types.Full(vs[first].t))
			}
			advice := diag.HintAdvice(repair)
			if a := b.unifyAdvice(v.value(), v.t, vs[max(first, 0)].value(), vs[max(first, 0)].t); a.Is() {
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

// coerceBranch records the conversion of a branch's value to type t.
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

// branchCondition checks the condition of an if or while. It binds the variables of `let p = e`.
func (b *body) branchCondition(e ast.Expr) {
	let, ok := unparen(e).(*ast.LetCond)
	if !ok {
		b.condition(e)
		return
	}
	t := b.expr(let.X, nil)
	b.info.types[let.Id] = types.Bool
	b.pattern(let.Pattern, t, false)
	b.recordAssigned("the condition")
}

// match checks a match. want is the expected type. If want is nil, the type is the join of the
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
		b.recordAssigned("the `match`")
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
	if !misfits { // an error in a pattern would cause a wrong result
		b.checkExhaustive(e, subject)
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

// loop is an enclosing loop to which break and continue can refer.
type loop struct {
	at    source.Pos
	label string
	home  *frame
	depth int
	broke bool
	exits []flow // states of the control flow at the breaks
	// value collects the values of the breaks in a `loop`. It is nil for other loops.
	value *loopValue
}

func (b *body) forExpr(e *ast.ForExpr) types.Type {
	b.enterScope()
	elem := b.iterated(e.Iter, true)
	entry := b.flow.clone()
	lp := b.enterLoop(e.Label, e.Sp.Start)
	b.bindIrrefutable(e.Pattern, elem, false, "`for`", diag.HintAdvice("use `let … else` inside the loop to skip the other values"))
	b.recordAssigned("for")
	b.blockValue(e.Body, types.Nil, reason{})
	b.leaveLoopBody(lp)
	b.flow = joinFlow(entry, b.flow)
	b.flow.dead = entry.dead
	b.leaveScope()
	return types.Nil
}

// iterated returns the type of the elements over which a `for` iterates. If lazily is set, x may be
// a source, which produces its elements one by one.
func (b *body) iterated(x ast.Expr, lazily bool) types.Type {
	t := types.Loose(b.expr(x, nil))
	switch s := t.(type) {
	case *types.Array:
		return s.Elem
	case *types.Map:
		return &types.Tuple{Elems: []types.Type{s.Key, s.Value}}
	case *types.HashMap:
		return &types.Tuple{Elems: []types.Type{s.Key, s.Value}}
	case *types.Basic:
		switch s {
		case types.Range:
			return types.Int
		case types.Any, types.Bad:
			return s
		}
	case *types.Named:
		if fn := b.c.method(t, "to_array"); fn != nil && s.Decl.Library {
			if a, ok := types.Resolve(fn.Result).(*types.Array); ok {
				b.c.lib.use(fn)
				b.info.iterators[x.ID()] = fn
				in := newInstance(fn.Generics)
				in.solve(fn.Recv, t)
				return types.Substitute(a.Elem, in.solved)
			}
		}
	}
	if elem := b.elementSource(x, t); elem != nil && lazily {
		return elem
	}
	d := diag.NotIterable.At(x.Span(), "`for` cannot iterate over `%s`", types.Full(t))
	if a := b.takeOutAdvice(x, t, b.isIterable); a.Is() {
		b.report(d.Advise(a))
		return types.Bad
	}
	switch {
	case types.IsString(t):
		d.Hint("iterate over its characters: `%s.chars()`", b.operandText(x))
	case t == types.Int:
		d.Hint("iterate over a range: `0..%s`", b.sourceText(x))
	case t == types.Ledger:
		d.Hint("iterate over its entries: `.entries()`")
	case methodFile(t) == "Queue":
		d.Hint("iterate over its items: `.list()`")
	case b.elementSource(x, t) != nil:
		d.Hint("use a `for` without `parallel` to read its elements one by one")
	default:
		d.Hint("`for` iterates over arrays, maps, ranges, hashmaps and the types of std::collections")
	}
	b.report(d)
	return types.Bad
}

// isIterable reports whether `for` can iterate over a value of type t.
func (b *body) isIterable(t types.Type) bool {
	switch x := types.Resolve(t).(type) {
	case *types.Array, *types.Map, *types.HashMap:
		return true
	case *types.Basic:
		return x == types.Range || x == types.Any
	case *types.Named:
		return x.Decl.Library && b.c.method(t, "to_array") != nil
	}
	return false
}

// elementSource returns the type of the elements that a source produces, or nil if x is no source.
// A source is a value of the library with the methods `next` and `close`. It may also have
// `__close_on_error`, which is called if an error leaves the loop.
func (b *body) elementSource(x ast.Expr, t types.Type) types.Type {
	if n, ok := t.(*types.Named); !ok || !n.Decl.Library {
		return nil
	}
	next, end := b.c.method(t, "next"), b.c.method(t, "close")
	if next == nil || end == nil {
		return nil
	}
	elem, ok := types.Resolve(next.Result).(*types.Option)
	if !ok {
		return nil
	}
	b.c.lib.use(next)
	b.c.lib.use(end)
	in := newInstance(next.Generics)
	in.solve(next.Recv, t)
	leave := b.c.method(t, "__close_on_error")
	if leave != nil {
		b.c.lib.use(leave)
	}
	s := &Source{Next: next, Close: end, Leave: leave, Elem: types.Substitute(elem.Elem, in.solved)}
	b.info.sources[x.ID()] = s
	return s.Elem
}

func (b *body) whileExpr(e *ast.WhileExpr) types.Type {
	b.enterScope()
	before := b.flow.clone()
	b.branchCondition(e.Cond)
	after := b.flow.clone()
	lp := b.enterLoop(e.Label, e.Sp.Start)
	b.blockValue(e.Body, types.Nil, reason{})
	b.leaveLoopBody(lp)
	b.flow = joinFlow(after, b.flow)
	b.flow.dead = before.dead
	b.leaveScope()
	return types.Nil
}

// loopValue collects the value of a `loop`. want is the expected type. If want is nil, the type is
// the join of the breaks.
type loopValue struct {
	want   types.Type
	why    reason
	breaks []branchValue
}

// loopExpr checks a `loop`. want is the expected type. If want is nil, the type is the join of the
// breaks.
func (b *body) loopExpr(e *ast.LoopExpr, want types.Type, why reason) types.Type {
	lp := b.enterLoop(e.Label, e.Sp.Start)
	lp.value = &loopValue{want: want, why: why}
	b.blockValue(e.Body, types.Nil, reason{})
	b.loops = b.loops[:len(b.loops)-1]
	if !lp.broke {
		return types.Never
	}
	b.flow = flow{dead: true}
	for _, f := range lp.exits {
		b.flow = joinFlow(b.flow, f)
	}
	if b.flow.dead {
		return types.Never
	}
	if want != nil {
		return want
	}
	return b.joinValues(lp.value.breaks, "`break`", "make the types agree, or annotate the result: `let x: Any = loop { … };`")
}

// breakExpr checks `break` and `break x`.
func (b *body) breakExpr(e *ast.BreakExpr) types.Type {
	lp := b.leaveLoop(e.Label, e.Sp, "break")
	switch {
	case lp != nil && lp.value != nil:
		b.breakValue(e, lp.value)
	case e.X != nil:
		b.expr(e.X, nil)
		if lp != nil {
			b.report(diag.BreakValue.At(e.X.Span(), "`break` with a value is only allowed in a `loop`").
				Hint("assign the value to a `let mut` variable before the `break`, or use `loop`"))
		}
	}
	if lp != nil {
		lp.broke = true
		lp.exits = append(lp.exits, b.flow.clone())
	}
	return types.Never
}

// breakValue checks the value x of `break x`.
func (b *body) breakValue(e *ast.BreakExpr, v *loopValue) {
	switch {
	case v.want == nil && e.X == nil:
		v.breaks = append(v.breaks, branchValue{x: e, t: types.Nil})
	case v.want == nil:
		v.breaks = append(v.breaks, branchValue{x: e.X, t: b.expr(e.X, nil)})
	case e.X != nil:
		b.branch(e.X, v.want, v.why)
	default:
		if ok, _ := types.Conversion(types.Nil, v.want); !ok {
			d := diag.Mismatch.At(e.Sp, "expected `%s`, found `break` without a value", types.Full(v.want))
			b.explainType(d, v.why)
			b.report(d.Hint("add a value: `break …`"))
		}
	}
}

func (b *body) enterLoop(label *ast.Ident, at source.Pos) *loop {
	lp := &loop{at: at, home: b.frame, depth: b.scopeDepth()}
	if label != nil {
		lp.label = label.Name
	}
	b.loops = append(b.loops, lp)
	return lp
}

// leaveLoopBody sets the state of the control flow after a loop that also ends when its condition
// is false.
func (b *body) leaveLoopBody(lp *loop) {
	b.loops = b.loops[:len(b.loops)-1]
	for _, f := range lp.exits {
		b.flow = joinFlow(b.flow, f)
	}
}

// scopeDepth returns the number of scopes that enclose the current position.
func (b *body) scopeDepth() int {
	n := 0
	for s := b.scope; s != nil; s = s.parent {
		n++
	}
	return n
}

// leaveLoop returns the loop to which a break or continue refers. If there is no such loop, it
// reports an error and returns nil.
func (b *body) leaveLoop(label *ast.Ident, at source.Span, word string) *loop {
	lp, outside := b.findLoop(label)
	switch {
	case lp != nil:
	case outside && b.frame.concurrent != nil:
		b.report(diag.ConcurrentLeave.At(at, "`%s` cannot leave a concurrent body", word).
			Hint("return a value from the body, and check it outside"))
	case outside:
		b.report(diag.LoopOutside.At(at, "`%s` cannot leave the enclosing handler or closure", word).
			Hint("`return` a value, and check it outside"))
	case label != nil:
		b.report(diag.UnknownLabel.At(label.Sp, "no loop has the label `'%s`", label.Name).WithFixes(b.labelLoopFix(label.Name)...).
			Hint("add the label to the loop: `'%s: for …`", label.Name))
	default:
		b.report(diag.LoopOutside.At(at, "`%s` outside a loop", word).Advise(b.noLoopAdvice(at, word)))
	}
	return lp
}

// findLoop returns the loop with the given label, or the innermost loop if label is nil. outside
// reports that the loop is outside the current closure, handler or function.
func (b *body) findLoop(label *ast.Ident) (lp *loop, outside bool) {
	for i := len(b.loops) - 1; i >= 0; i-- {
		l := b.loops[i]
		if label != nil && l.label != label.Name {
			continue
		}
		if l.home != b.frame {
			return nil, true
		}
		return l, false
	}
	return nil, false
}
