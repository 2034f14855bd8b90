package surface

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Loss describes source text that the tree does not contain because of syntax errors. The text may
// declare names. Declarations in a body are visible from a position on, other declarations
// everywhere in the file.
type Loss struct {
	Names      []string
	Within     source.Span
	Everywhere bool
}

// LossOf returns the Loss of a flaw. any is false if the lost text contains no names.
func LossOf(f *ast.File, flaw *ast.Flaw) (l Loss, any bool) {
	if len(flaw.Names) == 0 {
		return l, false
	}
	l.Everywhere = true
	for _, n := range Around(f, flaw.Span) {
		if isScope(n) {
			l.Within, l.Everywhere = n.Span(), false
		}
	}
	for _, id := range flaw.Names {
		l.Names = append(l.Names, id.Name)
	}
	return l, true
}

// Around returns the nodes of a file that contain the span at. The outermost node is first.
func Around(f *ast.File, at source.Span) (nodes []ast.Node) {
	ast.InspectFile(f, func(n ast.Node) bool {
		if !n.Span().Contains(at) {
			return false
		}
		nodes = append(nodes, n)
		return true
	})
	return nodes
}

// isScope reports whether variables that a node declares are visible only inside the node.
func isScope(n ast.Node) bool {
	switch n.(type) {
	case *ast.Block, *ast.FnDecl, *ast.Closure, *ast.Arm, *ast.ForExpr, *ast.ParallelFor, *ast.IfExpr, *ast.WhileExpr, *ast.Catch, *ast.Stage:
		return true
	}
	return false
}
