package codegen

import "github.com/concerto-lang/concerto/ast"

// inspect calls visit for n. If visit returns true, inspect does the same for the statements and
// expressions that run when n runs, in source order. It skips names, types, patterns and functions
// that n declares. The closure of a handler runs as a part of the listen, so inspect visits the
// closure's body instead of the closure.
func inspect(n ast.Node, visit func(ast.Node) bool) { newInspector(visit).inspect(n) }

// inspector visits nodes as inspect does. It can be reused.
type inspector struct {
	visit func(ast.Node) bool
	next  func(ast.Node) // method value i.below, created once
}

func newInspector(visit func(ast.Node) bool) *inspector {
	i := &inspector{visit: visit}
	i.next = i.below
	return i
}

func (i *inspector) inspect(n ast.Node) {
	if !i.visit(n) {
		return
	}
	s, ok := n.(*ast.StructLit)
	if !ok {
		ast.Children(n, i.next)
		return
	}
	for _, f := range s.Fields { // skip the path, which names a type
		i.below(f)
	}
	if s.Rest != nil {
		i.below(s.Rest)
	}
}

func (i *inspector) below(n ast.Node) {
	switch n := n.(type) {
	case *ast.Block, *ast.Arg, *ast.MapEntry, *ast.FieldInit, *ast.Arm, *ast.Catch, *ast.ConfigField:
		ast.Children(n, i.next)
	case *ast.Handler:
		if cl, ok := n.Value.(*ast.Closure); ok {
			i.inspect(cl.Body)
		} else {
			ast.Children(n, i.next)
		}
	case *ast.DeclStmt:
	case ast.Stmt, ast.Expr:
		i.inspect(n)
	}
}
