package codegen

import "github.com/concerto-lang/concerto/ast"

// inspect calls visit for n and, where visit says so, for the expressions,
// statements and blocks in it, in the order in which they are written.
func inspect(n ast.Node, visit func(ast.Node) bool) {
	if !visit(n) {
		return
	}
	in := inspector{visit}
	switch n := n.(type) {
	case *ast.Block:
		in.block(n)
	case *ast.LetStmt:
		in.expr(n.Value)
		in.block(n.Else)
	case *ast.ExprStmt:
		in.expr(n.X)
	case *ast.MockStmt:
		for _, f := range n.Fields {
			in.expr(f.Value)
		}
	case ast.Expr:
		in.parts(n)
	}
}

type inspector struct{ visit func(ast.Node) bool }

func (in inspector) expr(e ast.Expr) {
	if e != nil {
		inspect(e, in.visit)
	}
}

func (in inspector) exprs(es []ast.Expr) {
	for _, e := range es {
		in.expr(e)
	}
}

func (in inspector) args(as []*ast.Arg) {
	for _, a := range as {
		in.expr(a.Value)
	}
}

func (in inspector) block(b *ast.Block) {
	if b == nil {
		return
	}
	for _, s := range b.Stmts {
		inspect(s, in.visit)
	}
	in.expr(b.Tail)
}

// parts visits what stands directly in an expression.
func (in inspector) parts(e ast.Expr) {
	switch e := e.(type) {
	case *ast.InterpLit:
		in.exprs(e.Exprs)
	case *ast.ParenExpr:
		in.expr(e.X)
	case *ast.ArrayLit:
		in.exprs(e.Elems)
	case *ast.MapLit:
		for _, en := range e.Entries {
			in.expr(en.Key)
			in.expr(en.Value)
		}
	case *ast.TupleLit:
		in.exprs(e.Elems)
	case *ast.StructLit:
		for _, i := range e.Fields {
			in.expr(i.Value)
		}
		in.expr(e.Rest)
	case *ast.Unary:
		in.expr(e.X)
	case *ast.Binary:
		in.expr(e.X)
		in.expr(e.Y)
	case *ast.Assign:
		in.expr(e.Target)
		in.expr(e.Value)
	case *ast.Pipe:
		in.expr(e.X)
		in.expr(e.Right)
	case *ast.RangeExpr:
		in.expr(e.Lo)
		in.expr(e.Hi)
	case *ast.Cast:
		in.expr(e.X)
	case *ast.Call:
		in.expr(e.Fn)
		in.args(e.Args)
	case *ast.MethodCall:
		in.expr(e.Recv)
		in.args(e.Args)
	case *ast.FieldExpr:
		in.expr(e.X)
	case *ast.TupleIndex:
		in.expr(e.X)
	case *ast.IndexExpr:
		in.expr(e.X)
		in.expr(e.Index)
	case *ast.Question:
		in.expr(e.X)
	default:
		in.control(e)
	}
}

// control visits what steers the program or has effects.
func (in inspector) control(e ast.Expr) {
	switch e := e.(type) {
	case *ast.Await:
		in.expr(e.X)
	case *ast.AwaitAll:
		in.exprs(e.Elems)
	case *ast.Race:
		in.exprs(e.Elems)
	case *ast.ParallelFor:
		in.expr(e.Limit)
		in.expr(e.Iter)
		in.block(e.Body)
	case *ast.IfExpr:
		in.expr(e.Cond)
		in.block(e.Then)
		in.expr(e.Else)
	case *ast.LetCond:
		in.expr(e.X)
	case *ast.MatchExpr:
		in.expr(e.Subject)
		for _, a := range e.Arms {
			in.expr(a.Guard)
			in.expr(a.Body)
		}
	case *ast.ForExpr:
		in.expr(e.Iter)
		in.block(e.Body)
	case *ast.WhileExpr:
		in.expr(e.Cond)
		in.block(e.Body)
	case *ast.LoopExpr:
		in.block(e.Body)
	case *ast.BlockExpr:
		in.block(e.Block)
	case *ast.TryExpr:
		in.block(e.Body)
		for _, c := range e.Catches {
			in.block(c.Body)
		}
	case *ast.Closure:
		in.expr(e.Body)
	case *ast.EmitExpr:
		in.expr(e.Channel)
		in.expr(e.Payload)
	case *ast.ListenExpr:
		in.expr(e.Call)
		for _, h := range e.Handlers {
			if c, ok := h.Value.(*ast.Closure); ok {
				in.expr(c.Body) // a handler runs within the listen
			} else {
				in.expr(h.Value)
			}
		}
	case *ast.ReturnExpr:
		in.expr(e.X)
	case *ast.ThrowExpr:
		in.expr(e.X)
	}
}
