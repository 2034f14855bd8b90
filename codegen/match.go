package codegen

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
)

// matchStmt generates a match whose value is not used.
func (f *builder) matchStmt(e *ast.MatchExpr) {
	f.arms(e, func(body ast.Expr) { f.discard(body) })
}

func (f *builder) matchValue(e *ast.MatchExpr, hint int) val {
	t := f.info.TypeOf(e)
	if t == types.Nil {
		f.matchStmt(e)
		return f.nilValue(hint)
	}
	c := class(t)
	d := f.scratch(hint)
	top := f.top
	f.arms(e, func(body ast.Expr) { f.into(body, d, c, true) })
	f.free(top)
	return val{reg: d, class: c, owned: true}
}

// arms generates code that tries the arms in order. body generates the body of an arm. The checker
// guarantees that one arm matches.
func (f *builder) arms(e *ast.MatchExpr, body func(ast.Expr)) {
	defer f.free(f.top)
	var guards []ast.Expr
	for _, a := range e.Arms {
		if a.Guard != nil {
			guards = append(guards, a.Guard)
		}
	}
	var arms scope
	for _, a := range e.Arms {
		arms.nodes = append(arms.nodes, a.Body)
		if a.Guard != nil {
			arms.nodes = append(arms.nodes, a.Guard)
		}
	}
	match := f.subject(e, guards, arms)
	var from *claim
	if guards == nil {
		from = f.claimFrom(e.Subject)
	}
	end := &label{}
	for _, a := range e.Arms {
		next := &label{}
		top := f.top
		f.declarePattern(a.Pattern)
		if from.isValid(a.Pattern, a.Body) {
			f.matchClaimed(e.Subject, a.Pattern.(*ast.VariantPat), match, next)
		} else {
			match(a.Pattern, next)
		}
		if a.Guard != nil {
			f.cond(a.Guard, next, false)
		}
		body(a.Body)
		f.free(top)
		f.jump(ir.OpJump, 0, 0, end)
		f.bindLabel(next)
	}
	f.emit(ir.OpFault, 0, 0, 0, f.g.stringConst("no arm of this match takes the value"))
	f.bindLabel(end)
}

// subject generates the matched value, and returns a function that generates the match of a pattern
// against this value.
func (f *builder) subject(e *ast.MatchExpr, guards []ast.Expr, scope scope) func(ast.Pattern, *label) {
	var patterns []ast.Pattern
	for _, a := range e.Arms {
		patterns = append(patterns, a.Pattern)
	}
	if tuple := f.tupleFor(e.Subject, patterns...); tuple != nil {
		return f.parts(tuple, guards, scope)
	}
	v, t := f.heldValue(e.Subject, guards, scope), f.resultType(e.Subject)
	return func(p ast.Pattern, fail *label) { f.match(p, v, t, fail) }
}

// heldValue generates the value of x, which is matched against patterns. The expressions in later
// run while the value is in use.
func (f *builder) heldValue(x ast.Expr, later []ast.Expr, scope scope) val {
	v := f.markBorrowed(x, f.operand(x, later...), scope)
	if len(later) > 0 {
		v.fresh = false // an arm may have stored a part of the value before its guard failed
	}
	return v
}

// tupleFor returns the tuple literal x if the patterns match only its elements, so that the tuple
// itself need not be created. Otherwise it returns nil.
func (f *builder) tupleFor(x ast.Expr, patterns ...ast.Pattern) *ast.TupleLit {
	tuple, ok := unparen(f.info, x).(*ast.TupleLit)
	if !ok || f.info.Conv(tuple) != nil || slices.ContainsFunc(patterns, needsTuple) {
		return nil
	}
	return tuple
}

// parts generates the elements of a tuple without the tuple. It returns a function that generates
// the match of a tuple pattern against the elements.
func (f *builder) parts(tuple *ast.TupleLit, guards []ast.Expr, scope scope) func(ast.Pattern, *label) {
	var parts []val
	for i, x := range tuple.Elems {
		parts = append(parts, f.heldValue(x, append(slices.Clone(tuple.Elems[i+1:]), guards...), scope))
	}
	return func(p ast.Pattern, fail *label) { f.matchParts(p, tuple.Elems, parts, fail) }
}

// needsTuple reports whether a pattern needs the tuple itself, not only its elements.
func needsTuple(p ast.Pattern) bool {
	switch p := p.(type) {
	case *ast.WildPat, *ast.TuplePat:
		return false
	case *ast.OrPat:
		return slices.ContainsFunc(p.Alts, needsTuple)
	default: // the others match the whole tuple
	}
	return true
}

// matchParts generates the match of a pattern against the elements of a tuple that is not created.
func (f *builder) matchParts(p ast.Pattern, elems []ast.Expr, parts []val, fail *label) {
	defer f.at(p.Span().Start)()
	switch p := p.(type) {
	case *ast.OrPat:
		reused := make([]val, len(parts))
		for i, v := range parts {
			reused[i] = v.forPatterns()
		}
		f.alternatives(p, fail, func(alt ast.Pattern, fail *label) { f.matchParts(alt, elems, reused, fail) })
	case *ast.TuplePat:
		for i, q := range p.Elems {
			f.match(q, parts[i], f.resultType(elems[i]), fail)
		}
	default: // a pattern `_` matches all parts; needsTuple excludes the others
	}
}
