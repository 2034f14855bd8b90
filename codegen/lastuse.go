package codegen

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/ir"
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

// moveFinder finds the moves in a function: the last uses of variables that store or pass on the
// variable's value. The value needs no mark, because no code reads it through the variable
// afterwards.
type moveFinder struct {
	f      *builder
	uses   map[*sema.Local][]use
	moving map[*ast.PathExpr]bool // uses that store or pass on the value of their variable
	fixed  map[*sema.Local]bool   // variables that code names which may run later or repeatedly
	in     *region
	inner  int // number of enclosing closures, handlers and concurrent bodies
	guards int // number of enclosing guards
}

// use is a name of a variable. The uses of a variable are in the order of evaluation.
type use struct {
	path *ast.PathExpr
	in   *region
}

// region is a part of a function's tree.
type region struct {
	up    *region
	kind  regionKind
	node  ast.Node
	depth int
}

type regionKind uint8

const (
	regionBranch regionKind = iota // of the branches of one node at most one runs
	regionLoop                     // may run several times
	regionReturn                   // the code after the node does not run after this region
	regionTry                      // an error in the region leads to the code after it
)

// maxUses is the maximum number of uses of a variable that are compared with each other.
const maxUses = 100

// isMove reports whether e is the last use of a variable, and stores or passes on its value.
func (f *builder) isMove(e *ast.PathExpr) bool {
	if f.seen.moves == nil || !f.seen.moves[e] {
		return false
	}
	l := f.info.Object(e).(*sema.Local)
	x := f.vars[l]
	return x == nil || !x.cell && !x.spill && !x.captured && !x.borrowed && x.class == ir.Full && !(f.returnsSelf && x.reg == 1)
}

// findMoves finds the moves in the body of a function.
func (f *builder) findMoves(body *ast.Block) {
	if f.g.manifest.Debugged {
		return // a debugger shows variables also after their last use
	}
	m := &moveFinder{f: f, uses: map[*sema.Local][]use{}, moving: map[*ast.PathExpr]bool{}, fixed: map[*sema.Local]bool{}, in: &region{}}
	m.block(body)
	for l, uses := range m.uses {
		if m.fixed[l] || len(uses) > maxUses {
			for _, u := range uses {
				delete(m.moving, u.path)
			}
			continue
		}
		for i, u := range uses {
			if m.moving[u.path] && !isLast(l, u, uses[i+1:]) {
				delete(m.moving, u.path)
			}
		}
	}
	f.seen.moves = m.moving
}

// isLast reports whether none of the later uses, and not u itself, runs after u.
func isLast(l *sema.Local, u use, later []use) bool {
	var leaves ast.Node
	for r := u.in; r != nil; r = r.up {
		switch r.kind {
		case regionLoop:
			if leaves == nil && !r.node.Span().Contains(l.At) {
				return false
			}
		case regionReturn:
			leaves = r.node
		case regionTry:
			leaves = nil
		}
	}
	for _, v := range later {
		if (leaves == nil || leaves.Span().Contains(v.path.Sp)) && !exclusive(u.in, v.in) {
			return false
		}
	}
	return true
}

// exclusive reports whether a and b are in different branches of one node.
func exclusive(a, b *region) bool {
	for a.depth > b.depth {
		a = a.up
	}
	for b.depth > a.depth {
		b = b.up
	}
	for a != b {
		if a.node == b.node && a.kind == regionBranch && b.kind == regionBranch {
			return true
		}
		a, b = a.up, b.up
	}
	return false
}

// within visits nodes in a new region.
func (m *moveFinder) within(kind regionKind, n ast.Node, visit func()) {
	outer := m.in
	m.in = &region{outer, kind, n, outer.depth + 1}
	visit()
	m.in = outer
}

func (m *moveFinder) block(b *ast.Block) {
	for _, s := range b.Stmts {
		m.node(s)
	}
	if b.Tail != nil {
		m.stored(b.Tail)
	}
}

// stored visits an expression whose value is stored or passed on.
func (m *moveFinder) stored(e ast.Expr) {
	if p, ok := unparen(m.f.info, e).(*ast.PathExpr); ok && m.inner == 0 && m.guards == 0 && m.f.info.Conv(p) == nil {
		if l, ok := m.f.info.Object(p).(*sema.Local); ok && mayShare(l.Type) {
			m.moving[p] = true
		}
	}
	m.node(e)
}

func (m *moveFinder) node(n ast.Node) {
	switch x := n.(type) {
	case *ast.PathExpr:
		if l, ok := m.f.info.Object(x).(*sema.Local); ok && mayShare(l.Type) {
			m.uses[l] = append(m.uses[l], use{x, m.in})
			m.fixed[l] = m.fixed[l] || m.inner > 0
		}
	case *ast.LetStmt:
		if x.Value != nil {
			m.stored(x.Value)
		}
		if x.Else != nil {
			m.block(x.Else)
		}
	case *ast.Assign:
		m.node(x.Target)
		if x.Op == ast.OpNone {
			m.stored(x.Value)
		} else {
			m.node(x.Value)
		}
		m.node(x.Target) // its variable is read again when the value is stored
	case *ast.ArrayLit:
		m.all(x.Elems)
	case *ast.TupleLit:
		m.all(x.Elems)
	case *ast.MapLit:
		for _, e := range x.Entries {
			m.stored(e.Key)
			m.stored(e.Value)
		}
	case *ast.StructLit:
		for _, i := range x.Fields {
			m.stored(i.Value)
		}
		if x.Rest != nil {
			m.node(x.Rest)
		}
	case *ast.Call:
		m.node(x.Fn)
		m.call(m.f.info.Call(x), nil, x.Args)
	case *ast.MethodCall:
		m.call(m.f.info.Call(x), x.Recv, x.Args)
	default:
		m.control(n)
	}
}

func (m *moveFinder) all(es []ast.Expr) {
	for _, e := range es {
		m.stored(e)
	}
}

// control visits a node that affects the control flow, and all other nodes.
func (m *moveFinder) control(n ast.Node) {
	switch x := n.(type) {
	case *ast.Block:
		m.block(x)
	case *ast.BlockExpr:
		m.block(x.Block)
	case *ast.IfExpr:
		m.node(x.Cond)
		m.within(regionBranch, x, func() { m.block(x.Then) })
		if x.Else != nil {
			m.within(regionBranch, x, func() { m.stored(x.Else) })
		}
	case *ast.LetCond:
		m.stored(x.X)
	case *ast.MatchExpr:
		if slices.ContainsFunc(x.Arms, func(a *ast.Arm) bool { return a.Guard != nil }) {
			m.node(x.Subject)
		} else {
			m.stored(x.Subject)
		}
		for _, a := range x.Arms {
			if a.Guard != nil { // other arms run if the guard fails
				m.guards++
				m.node(a.Guard)
				m.guards--
			}
			m.within(regionBranch, x, func() { m.stored(a.Body) })
		}
	case *ast.ForExpr:
		m.node(x.Iter)
		m.within(regionLoop, x, func() { m.block(x.Body) })
	case *ast.WhileExpr:
		m.within(regionLoop, x, func() {
			m.node(x.Cond)
			m.block(x.Body)
		})
	case *ast.LoopExpr:
		m.within(regionLoop, x, func() { m.block(x.Body) })
	case *ast.ReturnExpr:
		if x.X != nil {
			m.within(regionReturn, x, func() { m.stored(x.X) })
		}
	case *ast.TryExpr:
		m.within(regionTry, x, func() { m.block(x.Body) })
		for _, c := range x.Catches {
			m.within(regionBranch, x, func() { m.block(c.Body) })
		}
	case *ast.Closure, *ast.ListenExpr, *ast.AwaitAll, *ast.Race, *ast.ParallelFor:
		m.inner++
		m.children(n)
		m.inner--
	case *ast.DeclStmt:
	default:
		m.children(n)
	}
}

func (m *moveFinder) children(n ast.Node) {
	inspect(n, func(c ast.Node) bool {
		if c == n {
			return true
		}
		m.node(c)
		return false
	})
}

// call visits the receiver and the arguments of a call. A method that changes its receiver reads it
// after its arguments.
func (m *moveFinder) call(c *sema.Call, recv ast.Expr, args []*ast.Arg) {
	changes := c == nil || c.Kind == sema.CallAnyMethod || c.Fn != nil && c.Fn.MutSelf
	keeps := func(sema.ArgKind, int) bool { return false }
	if c != nil && c.Fn != nil && !c.Fn.MutSelf && (c.Kind == sema.CallFunction || c.Kind == sema.CallTool) {
		how := m.f.g.passing(c.Fn)
		keeps = func(kind sema.ArgKind, index int) bool {
			for k, a := range c.Args {
				if a.Kind == kind && (kind == sema.ArgReceiver || a.Index == index) {
					return how(k) != argOwned
				}
			}
			return false
		}
	}
	switch {
	case recv == nil:
	case changes || keeps(sema.ArgReceiver, 0):
		m.node(recv)
	default:
		m.stored(recv)
	}
	for i, a := range args {
		if keeps(sema.ArgWritten, i) {
			m.node(a.Value)
		} else {
			m.stored(a.Value)
		}
	}
	if recv != nil && changes {
		m.node(recv)
	}
}
