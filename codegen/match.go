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

// arms tries each arm in turn. The checker guarantees that one always matches.
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
	end := &label{}
	for _, a := range e.Arms {
		next := &label{}
		top := f.top
		f.declarePattern(a.Pattern)
		match(a.Pattern, next)
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

// subject generates the matched value, and returns a function that matches a pattern against it.
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

// heldValue returns the value of x for patterns, after which later runs.
func (f *builder) heldValue(x ast.Expr, later []ast.Expr, scope scope) val {
	v := f.markBorrowed(x, f.operand(x, later...), scope)
	if len(later) > 0 {
		v.fresh = false // a guard may have stored a variable of an arm
	}
	return v
}

// tupleFor returns the tuple literal x if no pattern needs it as a whole, so that the tuple need
// not be created.
func (f *builder) tupleFor(x ast.Expr, patterns ...ast.Pattern) *ast.TupleLit {
	tuple, ok := unparen(f.info, x).(*ast.TupleLit)
	if !ok || f.info.Conv(tuple) != nil || slices.ContainsFunc(patterns, needsTuple) {
		return nil
	}
	return tuple
}

// parts generates the elements of a tuple, and returns a function that matches a tuple pattern
// against them.
func (f *builder) parts(tuple *ast.TupleLit, guards []ast.Expr, scope scope) func(ast.Pattern, *label) {
	var parts []val
	for i, x := range tuple.Elems {
		parts = append(parts, f.heldValue(x, append(slices.Clone(tuple.Elems[i+1:]), guards...), scope))
	}
	return func(p ast.Pattern, fail *label) { f.matchParts(p, tuple.Elems, parts, fail) }
}

// needsTuple reports whether a pattern needs a tuple as a whole.
func needsTuple(p ast.Pattern) bool {
	switch p := p.(type) {
	case *ast.WildPat, *ast.TuplePat:
		return false
	case *ast.OrPat:
		return slices.ContainsFunc(p.Alts, needsTuple)
	}
	return true
}

// matchParts is match for a tuple whose elements are separate.
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
	}
}
