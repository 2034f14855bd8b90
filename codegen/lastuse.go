package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/sema"
)

// used gives what of the nodes behind a let runs while its variable is still
// wanted: up to the last one that names it, or that names a variable which was
// bound to a part of it. What comes later may change what it was lent from.
func (f *builder) used(s *ast.LetStmt, behind []ast.Node) []ast.Node {
	p, ok := s.Pattern.(*ast.NamePat)
	if !ok {
		return behind
	}
	l, ok := f.info.Object(p).(*sema.Local)
	if !ok {
		return behind
	}
	holders := map[*sema.Local]bool{l: true}
	last := 0
	for i, n := range behind {
		if !f.names(n, holders) {
			continue
		}
		last = i + 1
		let, ok := n.(*ast.LetStmt)
		if !ok || let.Value == nil || !holders[f.rootOf(let.Value)] || !mayShare(f.resultType(let.Value)) {
			continue
		}
		part, ok := let.Pattern.(*ast.NamePat)
		if !ok {
			return behind
		}
		if l, ok := f.info.Object(part).(*sema.Local); ok {
			holders[l] = true
		}
	}
	return behind[:last]
}

// names says whether a node holds a use of one of some variables.
func (f *builder) names(n ast.Node, of map[*sema.Local]bool) bool {
	found := false
	inspect(n, func(n ast.Node) bool {
		if p, ok := n.(*ast.PathExpr); ok {
			if l, ok := f.info.Object(p).(*sema.Local); ok && of[l] {
				found = true
			}
		}
		return !found
	})
	return found
}
