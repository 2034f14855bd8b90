package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/sema"
)

// Borrowing parameters. One that a function only reads is lent: the caller
// neither marks nor gives away what it passes, so that `more(xs)` in a loop
// that pushes to xs costs no copy. Any other is the function's own: the caller
// marks it, or moves what nobody else holds.
//
// What stands here decides only the cost. A function marks what it keeps of a
// borrowed parameter like what it keeps of any variable that is not its own.

// borrow finds the parameters that are only read, in the function itself and
// in those that it hands them to.
func (g *generator) borrow() {
	handed := map[*sema.Param][]*sema.Param{}
	var all []*sema.Param
	for _, fn := range g.p.Functions {
		if _, ok := g.functions[fn]; !ok || fn.Async { // a task keeps its arguments
			continue
		}
		for _, p := range fn.Params {
			l := p.Local
			if l == nil || l.Mut || l.Cell || !mayShare(p.Type) {
				continue
			}
			r := &reading{info: fn.Info, l: l}
			r.block(fn.Decl.Body)
			if !r.keeps {
				g.borrowed[p] = true
				handed[p] = r.handed
				all = append(all, p)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, p := range all {
			if !g.borrowed[p] {
				continue
			}
			for _, q := range handed[p] {
				if !g.borrowed[q] {
					g.borrowed[p], changed = false, true
					break
				}
			}
		}
	}
}

// reading looks for uses of a variable that keep its value.
type reading struct {
	info   *sema.Info
	l      *sema.Local
	keeps  bool
	handed []*sema.Param // parameters of other functions that get it
}

// is says whether e is the variable itself.
func (r *reading) is(e ast.Expr) bool {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.PathExpr:
			return r.info.Object(x) == sema.Object(r.l)
		default:
			return false
		}
	}
}

// look passes over a use that only reads; whatever else e is is walked.
func (r *reading) look(es ...ast.Expr) {
	for _, e := range es {
		if e != nil && !r.is(e) {
			r.walk(e)
		}
	}
}

func (r *reading) block(b *ast.Block) {
	for _, s := range b.Stmts {
		if x, ok := s.(*ast.ExprStmt); ok {
			r.look(x.X)
		} else {
			r.walk(s)
		}
	}
	if b.Tail != nil {
		r.walk(b.Tail)
	}
}

// walk visits a node and what is in it. A use of the variable that no case
// below passes over keeps it.
func (r *reading) walk(n ast.Node) {
	inspect(n, func(n ast.Node) bool {
		if r.keeps {
			return false
		}
		switch x := n.(type) {
		case *ast.PathExpr:
			r.keeps = r.is(x)
		case *ast.FieldExpr:
			r.look(x.X)
			return false
		case *ast.TupleIndex:
			r.look(x.X)
			return false
		case *ast.IndexExpr:
			r.look(x.X, x.Index)
			return false
		case *ast.Question:
			r.look(x.X)
			return false
		case *ast.Binary:
			if x.Op != ast.OpCoalesce {
				r.look(x.X, x.Y)
				return false
			}
		case *ast.InterpLit:
			r.look(x.Exprs...)
			return false
		case *ast.EmitExpr:
			r.look(x.Channel, x.Payload)
			return false
		case *ast.LetCond:
			r.look(x.X)
			return false
		case *ast.MatchExpr:
			r.match(x)
			return false
		case *ast.ForExpr:
			r.look(x.Iter)
			r.block(x.Body)
			return false
		case *ast.Call:
			return r.call(x, nil, x.Args)
		case *ast.MethodCall:
			return r.call(x, x.Recv, x.Args)
		}
		return true
	})
}

func (r *reading) match(x *ast.MatchExpr) {
	r.look(x.Subject)
	for _, a := range x.Arms {
		if a.Guard != nil {
			r.walk(a.Guard)
		}
		r.walk(a.Body)
	}
}

// call looks at the arguments of a call; it says whether they are yet to be
// walked like any expression.
func (r *reading) call(e ast.Expr, recv ast.Expr, args []*ast.Arg) bool {
	c := r.info.Call(e)
	if c == nil || c.Fn == nil || c.Kind != sema.CallFunction && c.Kind != sema.CallTool || c.Fn.MutSelf {
		return true
	}
	leaf := c.Fn.Native != "" || c.Fn.Effect != ""
	seen := map[ast.Expr]bool{}
	for k, a := range c.Args {
		var x ast.Expr
		switch a.Kind {
		case sema.ArgReceiver:
			x = recv
		case sema.ArgWritten:
			x = args[a.Index].Value
		default:
			continue
		}
		seen[x] = true
		if !r.is(x) {
			r.walk(x)
		} else if !leaf {
			r.handed = append(r.handed, c.Fn.Params[k])
		}
	}
	for _, a := range args { // of a variadic function
		if !seen[a.Value] {
			r.walk(a.Value)
		}
	}
	return false
}
