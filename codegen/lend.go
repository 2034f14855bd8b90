package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// A value with two holders must be marked as shared, so that a change through one of them copies it
// first. There are two cases without the mark. Borrowing: the first holder cannot change the value
// as long as the second one holds it. Moving: the first holder is overwritten before it is read
// again. When in doubt a value is marked.

// markBorrowed marks v, the value of e, as borrowed if the variables that are being bound to it may
// hold it without a mark: nothing in scope, in which these variables live, changes the variable
// that e reads.
func (f *builder) markBorrowed(e ast.Expr, v val, scope scope) val {
	if v.borrowed || v.owned || v.volatile || v.class != ir.Full || !mayShare(f.resultType(e)) {
		return v
	}
	root := f.rootOf(e)
	if root == nil || f.vars[root] == nil || f.vars[root].cell {
		return v
	}
	for _, n := range f.runs(scope) {
		if f.touches(n).changes(root) {
			return v
		}
	}
	v.borrowed = true
	return v
}

// borrows reports whether variable x may hold v without a mark: v is borrowed, and x is never
// changed and is in a register.
func (x *variable) borrows(l *sema.Local, v val) bool {
	return v.borrowed && !v.owned && !l.Mut && !l.Late && !x.cell && !x.spill
}

// movedUse finds, in an assignment to a variable such as `x = f(x)`, the use of that variable from
// which its value can be moved. It must be the only use, and an argument or a part of a literal.
// Nothing may leave the assignment while the variable can still be read afterwards: no error that
// is caught where the variable lives, and no jump.
func (f *builder) movedUse(e *ast.Assign, x *variable) *ast.PathExpr {
	l, ok := f.info.Object(rootPath(e.Target)).(*sema.Local)
	if !ok || x.cell || x.spill || x.captured || x.depth != f.depth || f.returnsSelf && x.reg == 1 {
		return nil
	}
	uses, jumps := 0, false
	inspect(e.Value, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.PathExpr:
			if f.info.Object(n) == sema.Object(l) {
				uses++
			}
		case *ast.BreakExpr, *ast.ContinueExpr, *ast.ListenExpr:
			jumps = true
		}
		return true
	})
	if uses != 1 || jumps {
		return nil
	}
	return f.movedUseIn(e.Value, l)
}

// rootPath returns the name at the start of a place.
func rootPath(e ast.Expr) *ast.PathExpr {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.PathExpr:
			return x
		default:
			panic("codegen: no variable is assigned")
		}
	}
}

// movedUseIn walks down through calls and literals, which run their parts once.
func (f *builder) movedUseIn(e ast.Expr, l *sema.Local) *ast.PathExpr {
	var parts []ast.Expr
	switch x := e.(type) {
	case *ast.PathExpr:
		if f.info.Object(x) == sema.Object(l) && f.info.Conv(x) == nil {
			return x
		}
	case *ast.ParenExpr:
		parts = []ast.Expr{x.X}
	case *ast.Question:
		parts = []ast.Expr{x.X}
	case *ast.Call:
		for _, a := range x.Args {
			parts = append(parts, a.Value)
		}
	case *ast.MethodCall:
		if c := f.info.Call(x); c == nil || c.Fn == nil || !c.Fn.MutSelf {
			parts = append(parts, x.Recv)
		}
		for _, a := range x.Args {
			parts = append(parts, a.Value)
		}
	case *ast.ArrayLit:
		parts = x.Elems
	case *ast.TupleLit:
		parts = x.Elems
	case *ast.StructLit:
		for _, i := range x.Fields {
			parts = append(parts, i.Value)
		}
	case *ast.MapLit:
		for _, en := range x.Entries {
			parts = append(parts, en.Value)
		}
	}
	for _, p := range parts {
		if use := f.movedUseIn(p, l); use != nil {
			return use
		}
	}
	return nil
}
