package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// If two holders (variables or containers) hold the same value, the value must be marked as shared,
// so that a change through one holder copies the value first. There are two exceptions. Borrowing:
// the first holder cannot change the value as long as the second one holds it. Moving: the first
// holder is overwritten before it is read again. If the analysis cannot decide, the value is
// marked.

// markBorrowed marks v, the value of e, as borrowed if no code in scope changes the variable that e
// reads. The variables that are bound to v live in scope, and may hold a borrowed value without a
// mark.
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

// borrows reports whether the variable l at location x may hold v without a mark. This is the case
// if v is borrowed, and l is in a register and never changes.
func (x *variable) borrows(l *sema.Local, v val) bool {
	return v.borrowed && !v.owned && !l.Mut && !l.Late && !x.cell && !x.spill
}

// movedUse finds the use of a variable from which an assignment such as `x = f(x)` can move the
// variable's value. The use must be the only one in the assigned expression, and must be an
// argument or a part of a literal. The assignment must not be left by a jump, or by an error that
// is caught where the variable is still alive, because the program could then read the variable
// after its value was moved. movedUse returns nil if there is no such use.
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

// rootPath returns the variable's name at the start of a place expression, or nil.
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

// movedUseIn searches the use of l in calls and literals, which evaluate each part exactly once.
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
