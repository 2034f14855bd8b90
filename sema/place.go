package sema

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// rootName returns the variable at the start of a place expression, or nil.
func rootName(e ast.Expr) *ast.PathExpr {
	for {
		switch x := e.(type) {
		case *ast.PathExpr:
			if len(x.Segments) == 1 {
				return x
			}
			return nil
		case *ast.ParenExpr:
			e = x.X
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

// assign checks `place = value` and compound assignments.
func (b *body) assign(e *ast.Assign) types.Type {
	if path, ok := unparen(e.Target).(*ast.PathExpr); ok && len(path.Segments) == 1 {
		if l := b.local(path.Segments[0].Name); l != nil {
			b.assignLocal(e, path, l)
			return types.Nil
		}
	}
	t := types.Resolve(b.expr(e.Target, nil))
	if errors := b.errors; t != types.Bad {
		b.reportNotAssignable(e.Target)
		if b.errors == errors {
			b.checkMutable(e.Target, "the assignment changes it")
		}
	}
	b.assignValue(e, t, reason{})
	return types.Nil
}

// reportNotAssignable reports the target of an assignment that can be read but not assigned.
func (b *body) reportNotAssignable(target ast.Expr) {
	x, ok := unparen(target).(*ast.IndexExpr)
	if !ok {
		return
	}
	_, isRange := x.Index.(*ast.RangeExpr)
	if isRange || types.IsString(b.info.types[x.X.ID()]) {
		b.report(diag.NotAPlace.At(x.Sp, "cannot assign to a part of a %s", map[bool]string{true: "slice", false: "String"}[isRange]).
			Hint("create a new value and assign it to the variable"))
	}
}

func (b *body) assignLocal(e *ast.Assign, path *ast.PathExpr, l *Local) {
	b.info.objects[path.Id] = l
	b.info.types[path.Id] = l.Type
	if e.Op != ast.OpNone {
		b.readLocal(path, l)
	}
	if types.Resolve(l.Type) == types.Nil && e.Op == ast.OpNone {
		b.assignNil(e, l)
	} else {
		b.assignValue(e, l.Type, reason{b.m, l.At, "`" + l.Name + "` is `" + types.Full(l.Type).String() + "`"})
	}
	state := b.flow.stateOf(l)
	switch {
	case b.reportConcurrentAssignment(l, path.Sp):
	case l.Late && !l.Mut:
		b.assignLate(path, l, state)
	case !l.Mut:
		b.reportImmutable(path.Sp, l, "the assignment changes it")
	}
	if state != nil {
		state.state = maySet
	}
	l.assigned = true
	if l.frame != b.frame.home {
		l.used = true
	}
}

// assignNil reports an assignment to a variable whose type is Nil, because only nil was assigned at
// its declaration. Any type converts to Nil, so the value would be lost.
func (b *body) assignNil(e *ast.Assign, l *Local) {
	t := types.Resolve(b.expr(e.Value, nil))
	if t == types.Nil || t == types.Bad || t == types.Never {
		return
	}
	b.report(diag.Mismatch.At(e.Value.Span(), "`%s` can only hold nil, but this has type `%s`", l.Name, types.Full(t)).
		Label(l.At, "declared here without a type").Hint("declare its type: `let mut %s: %s = nil`", l.Name, types.NewOption(t)))
}

// assignLate checks an assignment to an immutable variable that was declared without a value. Only
// one assignment is allowed.
func (b *body) assignLate(path *ast.PathExpr, l *Local, state *lateState) {
	repeated := false
	for _, lp := range b.loops {
		if lp.home.home == b.frame.home && lp.depth > l.depth {
			repeated = true
		}
	}
	// The code in a closure or a handler may run several times.
	repeated = repeated || l.frame != b.frame.home || b.frame.handler && l.depth <= b.frame.depth
	if state == nil || state.state&maySet != 0 && b.isReachable() || repeated {
		b.report(diag.AssignedTwice.At(path.Sp, "`%s` may already be assigned here", l.Name).
			Label(l.At, "declared here").Repair(diag.UnsafeFix(diag.Insert(l.let, " mut"), "Declare `%s` with `let mut`", l.Name), "declare it with `let mut`, or assign it only once on every path"))
	}
}

// recordAssigned records the construct that assigns the variables of the current scope. Messages
// mention it.
func (b *body) recordAssigned(by string) {
	for _, l := range b.scope.locals {
		l.assigner = by
	}
}

func (b *body) reportImmutable(at source.Span, l *Local, what string) {
	d := diag.Immutable.At(at, "`%s` is not mutable", l.Name).Label(l.At, "declared here")
	switch {
	case l.Name == "self":
		d.Repair(diag.UnsafeFix(diag.Insert(l.At.Start, "mut "), "Declare `self` as `mut self`"), "declare the method with `mut self`")
	case l.Param:
		d.Repair(diag.UnsafeFix(diag.Insert(l.At.Start, "mut "), "Declare `%s` as `mut %[1]s`", l.Name), "declare the parameter as `mut %s`", l.Name)
	case l.assigner == "for":
		d.Hint("the loop assigns it in each iteration: change a copy, `let mut %s = %s;`, or use a `while` loop", l.Name, l.Name)
	case l.assigner != "":
		d.Hint("%s assigns it: change a copy, `let mut %s = %s;`", l.assigner, l.Name, l.Name)
	case l.let == 0:
		d.Hint("declare it with `let mut %s`", l.Name)
	default:
		d.Repair(diag.SafeFix(diag.Insert(l.let, " mut"), "Declare `%s` with `let mut`", l.Name), "declare it with `let mut %s`", l.Name)
	}
	b.report(d)
}

func (b *body) assignValue(e *ast.Assign, t types.Type, why reason) {
	if e.Op == ast.OpNone {
		b.checkAs(e.Value, t, why)
		return
	}
	target := types.Loose(t)
	v := types.Resolve(b.expr(e.Value, t))
	if target == types.Bad || v == types.Bad {
		return
	}
	if opt, ok := target.(*types.Option); ok {
		b.report(diag.Operand.At(e.OpSpan, "`%s=` cannot be applied to `%s`", e.Op, types.Full(opt)).
			Hint("it may be None: use a default, such as `%s = (%s ?? 0) %s %s`", b.sourceText(e.Target), b.sourceText(e.Target), e.Op, b.sourceText(e.Value)))
		return
	}
	out := operatorType(e.Op, target, v)
	if out == nil {
		b.report(diag.Operand.At(e.OpSpan, "`%s=` cannot be applied to `%s` and `%s`", e.Op, types.Full(target), types.Full(v)).
			Label(e.Target.Span(), "this has type `%s`", types.Full(target)).Label(e.Value.Span(), "this has type `%s`", types.Full(v)).
			Advise(b.compoundAdvice(e, target, v)))
		return
	}
	if !types.IsAny(out) {
		if ok, _ := types.Conversion(out, target); !ok || out == types.Float && target == types.Int {
			b.reportMismatch(e.Value, v, target, why)
			return
		}
	}
	b.convertOperand(e.Value, v, out)
}

// compoundAdvice returns the advice for a compound assignment whose operands have incompatible
// types.
func (b *body) compoundAdvice(e *ast.Assign, target, v types.Type) diag.Advice {
	text := e.Op == ast.OpAdd && types.IsString(target)
	if a := b.takeOutAdvice(e.Value, v, func(t types.Type) bool { return text || operatorType(e.Op, target, t) != nil }); a.Is() {
		return a
	}
	switch a, isArray := target.(*types.Array); {
	case text:
		return diag.HintAdvice("convert it to text: `" + b.sourceText(e.Target) + " += \"${" + b.sourceText(e.Value) + "}\"`").
			WithFix(edits.Surround(e.Value, "\"${", "}\"", "Convert it to text"))
	case isArray && e.Op == ast.OpAdd:
		if ok, _ := types.Conversion(v, a.Elem); ok {
			push := diag.Replace(source.Span{Start: e.Target.Span().End, End: e.Value.Span().Start}, ".push(")
			return diag.HintAdvice("add an element with `" + b.sourceText(e.Target) + ".push(" + b.sourceText(e.Value) + ")`").
				WithFix(diag.Fix{Title: "Change to `push`", Edits: []diag.Edit{push, diag.Insert(e.Value.Span().End, ")")}})
		}
		return diag.HintAdvice("`+=` needs two arrays with the same element type")
	case e.Op == ast.OpAdd:
		return diag.HintAdvice("`+=` needs two numbers, two Strings or two arrays")
	}
	return diag.HintAdvice("`" + e.Op.String() + "=` needs two numbers")
}

// checkMutable checks that a place can be changed. The place is a variable that is declared with
// mut, or a field or an element of such a variable.
func (b *body) checkMutable(place ast.Expr, what string) {
	switch x := unparen(place).(type) {
	case *ast.PathExpr:
		b.checkMutableName(x, what)
	case *ast.FieldExpr:
		b.checkMutableField(x, what)
	case *ast.TupleIndex:
		b.checkMutable(x.X, what)
	case *ast.IndexExpr:
		b.checkMutable(x.X, what)
	default:
		b.report(diag.NotAPlace.At(place.Span(), "this is a temporary value, but %s", what).
			WithFixes(b.variableFix(place)...).Hint("assign it to a `let mut` variable first"))
	}
}

func (b *body) checkMutableField(x *ast.FieldExpr, what string) {
	s := b.info.Select(x)
	if s == nil {
		return
	}
	switch s.Kind {
	case SelectMap:
		b.report(diag.NotAPlace.At(x.Sp, "`.%s` on a Map returns a copy, but %s", x.Name.Name, what).Hint("write `[%q]`", x.Name.Name))
	case SelectError:
		b.report(diag.NotAPlace.At(x.Sp, "an error's `%s` cannot be changed", x.Name.Name).Hint("create a new error"))
	case SelectTool:
		if root := rootName(x); root != nil && root.Segments[0].Name == "self" {
			if l, ok := b.info.objects[root.Id].(*Local); ok && !l.Mut {
				b.reportImmutable(root.Sp, l, what)
			}
			return
		}
		b.report(diag.NotAPlace.At(x.Sp, "only the functions of a tool can change its state").Hint("add a function to the tool"))
	default:
		b.checkMutable(x.X, what)
	}
}

func (b *body) checkMutableName(x *ast.PathExpr, what string) {
	l, ok := b.info.objects[x.Id].(*Local)
	if !ok {
		if b.info.types[x.Id] != types.Bad {
			b.report(diag.NotAPlace.At(x.Sp, "`%s` cannot be changed", x.Segments[len(x.Segments)-1].Name).
				Hint("change a copy: `let mut %s = %s;`", strings.ToLower(x.Segments[len(x.Segments)-1].Name), b.sourceText(x)))
		}
		return
	}
	switch {
	case isReference(l.Type):
	case b.reportConcurrentAssignment(l, x.Sp):
	case !l.Mut:
		b.reportImmutable(x.Sp, l, what)
	}
	l.assigned = true
}
