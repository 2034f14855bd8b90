package surface

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Loss is text that is not in the tree: its names, and the position from which names that it may
// declare are visible. Text outside of bodies is visible everywhere.
type Loss struct {
	Names      []string
	Within     source.Span
	Everywhere bool
}

// LossOf returns the names in the text that a flaw left out of the tree; any is false if there are
// none.
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

// Around returns the nodes of a file that contain a span, the outermost first.
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

// isScope reports whether variables that are declared in a node are visible only in it.
func isScope(n ast.Node) bool {
	switch n.(type) {
	case *ast.Block, *ast.FnDecl, *ast.Closure, *ast.Arm, *ast.ForExpr, *ast.ParallelFor, *ast.IfExpr, *ast.WhileExpr, *ast.Catch, *ast.Stage:
		return true
	}
	return false
}
