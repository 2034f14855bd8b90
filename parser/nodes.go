package parser

import "github.com/concerto-lang/concerto/ast"

// nodes allocates ids, and blocks of nodes of small and frequent types.
type nodes struct {
	ids      ast.ID
	idents   []ast.Ident // unused nodes for this file and the next
	paths    []ast.PathExpr
	segments []*ast.Ident
}

// chunk is the number of small nodes in one allocation.
const chunk = 64

// remaining returns the unused nodes, which the parser uses for the next file.
func (n *nodes) remaining() nodes {
	return nodes{idents: n.idents, paths: n.paths, segments: n.segments}
}

func (n *nodes) id() ast.ID {
	id := n.ids
	n.ids++
	return id
}

func (n *nodes) newIdent() *ast.Ident {
	if len(n.idents) == 0 {
		n.idents = make([]ast.Ident, chunk)
	}
	id := &n.idents[0]
	n.idents = n.idents[1:]
	return id
}

func (n *nodes) newPath() *ast.PathExpr {
	if len(n.paths) == 0 {
		n.paths = make([]ast.PathExpr, chunk)
	}
	p := &n.paths[0]
	n.paths = n.paths[1:]
	return p
}

// sliceOf returns a slice that contains only id. It takes the slice from a larger allocation,
// because most paths are a single name.
func (n *nodes) sliceOf(id *ast.Ident) []*ast.Ident {
	if len(n.segments) == 0 {
		n.segments = make([]*ast.Ident, chunk)
	}
	s := n.segments[:1:1]
	n.segments = n.segments[1:]
	s[0] = id
	return s
}
