package codegen

import "github.com/concerto-lang/concerto/ast"

// inspect calls visit for n and, where visit says so, for the statements and
// expressions that run when n does, in the order in which they are written:
// no names, types, patterns or functions declared in it, and of a handler not
// the closure but its body, which runs within the listen.
func inspect(n ast.Node, visit func(ast.Node) bool) {
	var below func(ast.Node)
	look := func(n ast.Node) {
		if !visit(n) {
			return
		}
		s, ok := n.(*ast.StructLit)
		if !ok {
			ast.Children(n, below)
			return
		}
		for _, f := range s.Fields { // not its path: a type's name
			below(f)
		}
		if s.Rest != nil {
			below(s.Rest)
		}
	}
	below = func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Block, *ast.Arg, *ast.MapEntry, *ast.FieldInit, *ast.Arm, *ast.Catch, *ast.ConfigField:
			ast.Children(n, below)
		case *ast.Handler:
			if cl, ok := n.Value.(*ast.Closure); ok {
				look(cl.Body)
			} else {
				ast.Children(n, below)
			}
		case *ast.DeclStmt:
		case ast.Stmt, ast.Expr:
			look(n)
		}
	}
	look(n)
}
