package codegen

import "github.com/concerto-lang/concerto/ast"

// inspect calls visit for n and, if visit returns true, for the statements and expressions that run
// when n does, in source order. It skips names, types, patterns and functions declared in n. For a
// handler it visits the body of the closure, which runs in the listen, instead of the closure.
func inspect(n ast.Node, visit func(ast.Node) bool) { newInspector(visit).inspect(n) }

// inspector calls visit as inspect does. It can be reused.
type inspector struct {
	visit func(ast.Node) bool
	next  func(ast.Node) // below, created once
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
	for _, f := range s.Fields { // without its path: a type's name
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
