package codegen

import "github.com/concerto-lang/concerto/ast"

// inspect calls visit for n and, where visit says so, for the statements and
// expressions that run when n does, in the order in which they are written:
// no names, types, patterns or functions declared in it, and of a handler not
// the closure but its body, which runs within the listen.
func inspect(n ast.Node, visit func(ast.Node) bool) {
	if visit(n) {
		inspectIn(n, visit)
	}
}

func inspectIn(n ast.Node, visit func(ast.Node) bool) {
	ast.Children(n, func(c ast.Node) {
		switch c := c.(type) {
		case *ast.Block, *ast.Arg, *ast.MapEntry, *ast.FieldInit, *ast.Arm, *ast.Catch, *ast.ConfigField:
			inspectIn(c, visit)
		case *ast.Handler:
			if cl, ok := c.Value.(*ast.Closure); ok {
				inspect(cl.Body, visit)
			} else {
				inspectIn(c, visit)
			}
		case *ast.DeclStmt:
		case ast.Stmt:
			inspect(c, visit)
		case ast.Expr:
			if s, ok := n.(*ast.StructLit); ok && c == ast.Expr(s.Path) {
				return // a type's name
			}
			inspect(c, visit)
		}
	})
}
