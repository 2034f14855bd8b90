package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/sema"
)

// scope is the code that runs while the variables of a pattern live: either nodes, or the
// statements after a let in its block. The method runs computes these statements. It is called only
// if a value could be borrowed, which is rare.
type scope struct {
	nodes []ast.Node
	let   *ast.LetStmt
	block *ast.Block
	index int // index of let in the block
}

// runs returns the nodes of a scope. After a let, these are the nodes up to the last one that names
// the let's variable, or a variable that holds a part of its value. A node after them may change
// the variable from which the value was borrowed.
func (f *builder) runs(s scope) []ast.Node {
	if s.let == nil {
		return s.nodes
	}
	u := f.usesIn(s.block)
	later := u.nodes[s.index+1:]
	p, ok := s.let.Pattern.(*ast.NamePat)
	if !ok {
		return later
	}
	l, ok := f.info.Object(p).(*sema.Local)
	if !ok {
		return later
	}
	holders := map[*sema.Local]bool{l: true}
	last := s.index
	for work := []*sema.Local{l}; len(work) > 0; {
		l, work = work[len(work)-1], work[:len(work)-1]
		for _, i := range u.at[l] {
			last = max(last, i)
			let, ok := u.nodes[i].(*ast.LetStmt)
			if !ok || let.Value == nil || !holders[f.rootOf(let.Value)] || !mayShare(f.resultType(let.Value)) {
				continue
			}
			part, ok := let.Pattern.(*ast.NamePat)
			if !ok {
				return later
			}
			if l, ok := f.info.Object(part).(*sema.Local); ok && !holders[l] {
				holders[l] = true
				work = append(work, l)
			}
		}
	}
	return later[:last-s.index]
}

// uses contains the nodes of a block. For each variable, at contains the indices of the nodes that
// name it, in order.
type uses struct {
	nodes []ast.Node // statements of the block, and its tail
	at    map[*sema.Local][]int
}

// usesIn analyses a block and caches the result.
func (f *builder) usesIn(b *ast.Block) *uses {
	if u := f.seen.uses[b]; u != nil {
		return u
	}
	u := &uses{at: map[*sema.Local][]int{}}
	for _, s := range b.Stmts {
		u.nodes = append(u.nodes, s)
	}
	if b.Tail != nil {
		u.nodes = append(u.nodes, b.Tail)
	}
	for i, n := range u.nodes {
		inspect(n, func(n ast.Node) bool {
			if p, ok := n.(*ast.PathExpr); ok {
				if l, ok := f.info.Object(p).(*sema.Local); ok {
					if at := u.at[l]; len(at) == 0 || at[len(at)-1] != i {
						u.at[l] = append(at, i)
					}
				}
			}
			return true
		})
	}
	if f.seen.uses == nil {
		f.seen.uses = map[*ast.Block]*uses{}
	}
	f.seen.uses[b] = u
	return u
}
