package refactor

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/sema"
)

// effects describes the side effects of an expression and the state that the expression depends on.
type effects struct {
	acts     bool // calls, jumps or waits
	reads    bool // reads state that a call may change
	writes   bool // assigns a variable
	readsMut bool // reads a variable that may be assigned
}

func (x effects) isEmpty() bool { return x == effects{} }

// areIndependent reports whether two expressions can be evaluated in either order with the same
// result.
func areIndependent(a, b effects) bool {
	return !(a.acts && (b.acts || b.reads)) && !(b.acts && a.reads) && !(a.writes && (b.readsMut || b.writes)) && !(b.writes && a.readsMut)
}

// effectsOf returns the combined effects of expressions.
func (in *Input) effectsOf(all ...ast.Expr) (x effects) {
	for _, e := range all {
		ast.Inspect(e, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Closure:
				d := in.Info.Closure(n)
				if d == nil || len(d.Captures) > 0 {
					x.reads, x.readsMut = true, true
				}
				return false
			case *ast.PathExpr:
				in.addReads(n, &x)
			case *ast.Call:
				if c := in.Info.Call(n); c == nil || c.Variant == nil && c.Error == nil {
					x.acts = true
				}
			case *ast.MethodCall:
				x.acts = true
				if c := in.Info.Call(n); c == nil || c.Fn == nil || c.Fn.MutSelf {
					x.writes = true
				}
			case *ast.Assign:
				x.acts, x.writes = true, true
			case *ast.Pipe, *ast.Question, *ast.Await, *ast.AwaitAll, *ast.Race, *ast.ParallelFor, *ast.IfExpr, *ast.MatchExpr, *ast.ForExpr, *ast.WhileExpr,
				*ast.LoopExpr, *ast.BlockExpr, *ast.TryExpr, *ast.EmitExpr, *ast.ListenExpr, *ast.ReturnExpr, *ast.BreakExpr, *ast.ContinueExpr, *ast.ThrowExpr, *ast.BadExpr:
				x.acts = true
			}
			return true
		})
	}
	return x
}

func (in *Input) addReads(n *ast.PathExpr, x *effects) {
	switch o := in.Info.Object(n).(type) {
	case *sema.Local:
		x.reads = x.reads || o.Cell || o.Name == "self" // `self` reads the state of a tool
		x.readsMut = x.readsMut || o.Mut || o.Late
	case *sema.Store:
		x.reads = true
	}
}

// insertionPoint is a position at which statements can be inserted so that they run before an
// expression.
type insertionPoint struct {
	// block whose statement or tail contains the expression; nil if body is set
	block *ast.Block
	stmt  ast.Node
	body  ast.Expr   // body of a match arm or closure, which must become a block
	first []ast.Expr // expressions evaluated between the insertion point and the expression
}

// findInsertionPoint returns the insertion point for the last of nodes, an expression. The other
// nodes contain it. ok is false if the expression may be evaluated conditionally or repeatedly
// after the insertion point.
func (in *Input) findInsertionPoint(nodes []ast.Node) (s insertionPoint, ok bool) {
	for i := len(nodes) - 1; i > 0; i-- {
		child := nodes[i]
		switch p := nodes[i-1].(type) {
		case *ast.Block:
			return insertionPoint{block: p, stmt: child, first: s.first}, true
		case *ast.Arm:
			if child != ast.Node(p.Body) {
				return s, false
			}
			return insertionPoint{body: p.Body, first: s.first}, true
		case *ast.Closure:
			if child != ast.Node(p.Body) {
				return s, false
			}
			return insertionPoint{body: p.Body, first: s.first}, true
		default:
			before, once := in.evaluatedBefore(p, child)
			if !once {
				return s, false
			}
			s.first = append(s.first, before...)
		}
	}
	return s, false
}

// evaluatedBefore returns the parts of the node p that are evaluated before its part child. once
// reports whether each evaluation of p evaluates child exactly once.
func (in *Input) evaluatedBefore(p, child ast.Node) (before []ast.Expr, once bool) {
	switch p := p.(type) {
	case *ast.ExprStmt, *ast.ParenExpr, *ast.Unary, *ast.Cast, *ast.Question, *ast.FieldExpr, *ast.TupleIndex, *ast.Await, *ast.ReturnExpr,
		*ast.ThrowExpr, *ast.BreakExpr, *ast.LetCond, *ast.Arg, *ast.FieldInit:
		return nil, true
	case *ast.LetStmt:
		return nil, child == ast.Node(p.Value)
	case *ast.Binary:
		if child == ast.Node(p.X) {
			return nil, true
		}
		return []ast.Expr{p.X}, p.Op != ast.OpAnd && p.Op != ast.OpOr && p.Op != ast.OpCoalesce
	case *ast.Call:
		return append([]ast.Expr{p.Fn}, argsBefore(p.Args, child)...), child != ast.Node(p.Fn)
	case *ast.MethodCall:
		if child == ast.Node(p.Recv) {
			c := in.Info.Call(p)
			return nil, c != nil && c.Fn != nil && !c.Fn.MutSelf
		}
		return append([]ast.Expr{p.Recv}, argsBefore(p.Args, child)...), true
	case *ast.ArrayLit:
		return exprsBefore(p.Elems, child), true
	case *ast.TupleLit:
		return exprsBefore(p.Elems, child), true
	case *ast.InterpLit:
		return exprsBefore(p.Exprs, child), true
	case *ast.MapLit, *ast.MapEntry, *ast.StructLit:
		return partsBefore(p, child), true
	case *ast.IndexExpr:
		return exprsBefore([]ast.Expr{p.X, p.Index}, child), true
	case *ast.EmitExpr:
		return exprsBefore([]ast.Expr{p.Channel, p.Payload}, child), true
	case *ast.Assign:
		return []ast.Expr{p.Target}, child == ast.Node(p.Value)
	case *ast.Pipe:
		if child == ast.Node(p.X) {
			return nil, true
		}
		return []ast.Expr{p.X}, true
	case *ast.IfExpr:
		return nil, child == ast.Node(p.Cond)
	case *ast.MatchExpr:
		return nil, child == ast.Node(p.Subject)
	case *ast.ForExpr:
		return nil, child == ast.Node(p.Iter)
	case *ast.ListenExpr:
		return nil, child == ast.Node(p.Call)
	}
	return nil, false
}

func argsBefore(args []*ast.Arg, child ast.Node) (before []ast.Expr) {
	for _, a := range args {
		if ast.Node(a) == child {
			break
		}
		before = append(before, a.Value)
	}
	return before
}

func exprsBefore(all []ast.Expr, child ast.Node) []ast.Expr {
	i := slices.IndexFunc(all, func(e ast.Expr) bool { return ast.Node(e) == child })
	return all[:max(i, 0)]
}

// partsBefore returns the expressions of a literal that come before its part child.
func partsBefore(p, child ast.Node) (before []ast.Expr) {
	ast.Children(p, func(n ast.Node) {
		if n.Span().Start >= child.Span().Start {
			return
		}
		switch n := n.(type) {
		case *ast.MapEntry:
			before = append(before, n.Key, n.Value)
		case *ast.FieldInit:
			before = append(before, n.Value)
		case ast.Expr:
			if _, name := n.(*ast.PathExpr); !name {
				before = append(before, n)
			}
		}
	})
	return before
}
