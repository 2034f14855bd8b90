package codegen

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/types"
)

// matchStmt generates a match whose value nobody takes.
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

// arms tries each arm in turn. The checker has seen that one always matches.
func (f *builder) arms(e *ast.MatchExpr, body func(ast.Expr)) {
	defer f.free(f.top)
	var guards []ast.Expr
	for _, a := range e.Arms {
		if a.Guard != nil {
			guards = append(guards, a.Guard)
		}
	}
	var scope []ast.Node
	for _, a := range e.Arms {
		scope = append(scope, a.Body)
		if a.Guard != nil {
			scope = append(scope, a.Guard)
		}
	}
	match := f.subject(e, guards, scope)
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
		f.land(next)
	}
	f.emit(ir.OpFault, 0, 0, 0, f.g.stringConst("no arm of this match takes the value"))
	f.land(end)
}

// subject generates what a match is about, and gives what holds a pattern
// against it. A tuple that only exists to be taken apart is never made.
func (f *builder) subject(e *ast.MatchExpr, guards []ast.Expr, scope []ast.Node) func(ast.Pattern, *label) {
	one := func(x ast.Expr, later ...ast.Expr) val {
		v := f.lendFor(x, f.operand(x, append(later, guards...)...), scope)
		if len(guards) > 0 {
			v.fresh = false // a guard may have kept what an arm has bound
		}
		return v
	}
	tuple, ok := unparen(f.info, e.Subject).(*ast.TupleLit)
	if !ok || f.info.Conv(tuple) != nil || !takenApart(e.Arms) {
		v, t := one(e.Subject), f.resultType(e.Subject)
		return func(p ast.Pattern, fail *label) { f.match(p, v, t, fail) }
	}
	var parts []val
	for i, x := range tuple.Elems {
		parts = append(parts, one(x, slices.Clone(tuple.Elems[i+1:])...))
	}
	return func(p ast.Pattern, fail *label) { f.matchParts(p, tuple.Elems, parts, fail) }
}

// takenApart says whether no arm wants a tuple as a whole.
func takenApart(arms []*ast.Arm) bool {
	for _, a := range arms {
		if !ofParts(a.Pattern) {
			return false
		}
	}
	return true
}

func ofParts(p ast.Pattern) bool {
	switch p := p.(type) {
	case *ast.WildPat, *ast.TuplePat:
		return true
	case *ast.OrPat:
		for _, alt := range p.Alts {
			if !ofParts(alt) {
				return false
			}
		}
		return true
	}
	return false
}

// matchParts is match for a tuple whose elements stand alone.
func (f *builder) matchParts(p ast.Pattern, elems []ast.Expr, parts []val, fail *label) {
	defer f.at(p.Span().Start)()
	switch p := p.(type) {
	case *ast.OrPat:
		lent := make([]val, len(parts))
		for i, v := range parts {
			lent[i] = v.again()
		}
		f.alternatives(p, fail, func(alt ast.Pattern, fail *label) { f.matchParts(alt, elems, lent, fail) })
	case *ast.TuplePat:
		for i, q := range p.Elems {
			f.match(q, parts[i], f.resultType(elems[i]), fail)
		}
	}
}
