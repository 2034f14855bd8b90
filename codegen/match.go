package codegen

import (
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
	v := f.lendFor(e.Subject, f.operand(e.Subject, guards...), scope)
	if len(guards) > 0 {
		v.fresh = false // a guard may have kept what an arm has bound
	}
	t := f.resultType(e.Subject)
	end := &label{}
	for _, a := range e.Arms {
		next := &label{}
		top := f.top
		f.declarePattern(a.Pattern)
		f.match(a.Pattern, v, t, next)
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
