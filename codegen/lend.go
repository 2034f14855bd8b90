package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// Lending and moving: where a value need not be marked although a second place
// comes to hold it, because the first one cannot change it meanwhile, or is
// overwritten without having been read again. When in doubt a value is marked.

// lendFor says of v, the value of e, that it can be lent to the variables now
// being bound: its variable keeps it as it is while scope runs, where they
// live.
func (f *builder) lendFor(e ast.Expr, v val, scope scope) val {
	if v.lent || v.owned || v.volatile || v.class != ir.Full || !mayShare(f.resultType(e)) {
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
	v.lent = true
	return v
}

// borrows says whether a variable can hold v unmarked: one that is never
// changed and stands in a register.
func (x *variable) borrows(l *sema.Local, v val) bool {
	return v.lent && !v.owned && !l.Mut && !l.Late && !x.cell && !x.spill
}

// consumed finds the use of a variable within an assignment to it that may
// take its value along: `x = f(x)`. It must be the only one, an argument or a
// part of what is built, and nothing may leave the assignment with the
// variable still to be read: neither an error that is caught where the
// variable lives, nor a jump.
func (f *builder) consumed(e *ast.Assign, x *variable) *ast.PathExpr {
	l, ok := f.info.Object(rootPath(e.Target)).(*sema.Local)
	if !ok || x.cell || x.spill || x.captured || x.depth != f.depth || f.keepsSelf && x.reg == 1 {
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
	return f.consumedIn(e.Value, l)
}

// rootPath is the name that a place begins with.
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

// consumedIn walks down through calls and literals, which run their parts
// once.
func (f *builder) consumedIn(e ast.Expr, l *sema.Local) *ast.PathExpr {
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
		if use := f.consumedIn(p, l); use != nil {
			return use
		}
	}
	return nil
}
