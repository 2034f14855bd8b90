package refactor

import (
	"cmp"
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/sema"
)

// wrapResult changes a function to return a Result. The function's results are wrapped in `Ok`, and
// its callers propagate the error with `?`.
func wrapResult(in *Input) []diag.Edit {
	fn, ok := nearest[*ast.FnDecl](in)
	if !ok || !in.isComplete() || fn.Body == nil || fn.Name == nil || in.At.Start > fn.Signature.End || in.At.End > fn.Signature.End && in.At != fn.Sp {
		return nil
	}
	for _, n := range in.nodesAround(fn.Sp) {
		switch n := n.(type) {
		case *ast.ImplDecl:
			if n.Trait != nil {
				return nil
			}
		case *ast.TraitDecl, *ast.ToolDecl, *ast.McpDecl:
			return nil
		}
	}
	edits, ok := in.propagateInCallers(fn)
	if !ok || in.hasErrorReturn(fn.Body) {
		return nil
	}
	if fn.Result == nil {
		edits = append(edits, diag.Insert(fn.Signature.End, " -> Result<Nil, Error>"))
	} else {
		if r, named := fn.Result.(*ast.NamedType); named && r.Segments[len(r.Segments)-1].Name == "Result" {
			return nil
		}
		edits = append(edits, diag.Replace(fn.Result.Span(), "Result<"+in.text(fn.Result)+", Error>"))
	}
	w := okWrapper{in: in, edits: edits}
	w.wrapReturns(fn.Body)
	if fn.Result == nil {
		w.wrapEmpty(fn.Body)
	} else {
		w.wrapBlock(fn.Body)
	}
	slices.SortStableFunc(w.edits, func(a, b diag.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return w.edits
}

// hasErrorReturn reports whether a `?` in a body returns None from the function.
func (in *Input) hasErrorReturn(b *ast.Block) (found bool) {
	ast.Inspect(b, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Closure, *ast.FnDecl:
			return false
		case *ast.Question:
			l := in.Info.Question(n)
			for ; l != nil && l.Kind == sema.LeaveTry; l = l.Next {
			}
			found = found || l != nil && l.Kind == sema.LeaveReturn
		}
		return !found
	})
	return found
}

// propagateInCallers adds a `?` after each call of a function in the file. ok is false if the
// function is used in any other way.
func (in *Input) propagateInCallers(fn *ast.FnDecl) (edits []diag.Edit, ok bool) {
	for _, r := range in.Refs() {
		if r.Decl || r.Def.At != fn.Name.Sp || r.Def.Info != in.Info {
			continue
		}
		nodes := in.nodesAround(r.At)
		i := len(nodes) - 1
		for ; i >= 0; i-- {
			if c, isCall := nodes[i].(*ast.Call); isCall && c.Fn.Span().Contains(r.At) {
				break
			}
			if c, isCall := nodes[i].(*ast.MethodCall); isCall && c.Name.Sp == r.At {
				break
			}
			if _, isPath := nodes[i].(*ast.PathExpr); !isPath {
				if _, isName := nodes[i].(*ast.Ident); !isName {
					return nil, false
				}
			}
		}
		if i < 1 {
			return nil, false
		}
		call := nodes[i]
		if p, piped := nodes[i-1].(*ast.Pipe); piped && ast.Node(p.Right) == call {
			return nil, false
		}
		if fn.Async {
			if call, ok = nodes[i-1].(*ast.Await); !ok {
				return nil, false
			}
		}
		edits = append(edits, diag.Insert(call.Span().End, "?"))
	}
	return edits, true
}

// okWrapper collects the edits that wrap the results of a function in `Ok`.
type okWrapper struct {
	in    *Input
	edits []diag.Edit
}

func (w *okWrapper) wrapSpan(e ast.Expr) {
	w.edits = append(w.edits, diag.Insert(e.Span().Start, "Ok("), diag.Insert(e.Span().End, ")"))
}

// wrapReturns wraps the value of each `return` in a block.
func (w *okWrapper) wrapReturns(b *ast.Block) {
	ast.Inspect(b, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Closure, *ast.FnDecl:
			return false
		case *ast.ReturnExpr:
			if n.X == nil {
				w.edits = append(w.edits, diag.Insert(n.Sp.End, " Ok(nil)"))
			} else {
				w.wrapSpan(n.X)
			}
		}
		return true
	})
}

// wrapBlock wraps the value of a block.
func (w *okWrapper) wrapBlock(b *ast.Block) {
	if b.Tail != nil {
		w.wrapValue(b.Tail)
	}
}

// wrapValue wraps a value. If the value comes from branches, it wraps the value of each branch.
func (w *okWrapper) wrapValue(e ast.Expr) {
	if w.in.Info.TypeOf(e) == types.Never {
		return
	}
	switch e := e.(type) {
	case *ast.ReturnExpr, *ast.ThrowExpr:
	case *ast.BlockExpr:
		w.wrapBlock(e.Block)
	case *ast.IfExpr:
		if e.Else == nil {
			w.wrapSpan(e)
			return
		}
		w.wrapBlock(e.Then)
		w.wrapValue(e.Else)
	case *ast.MatchExpr:
		for _, a := range e.Arms {
			w.wrapValue(a.Body)
		}
	default:
		w.wrapSpan(e)
	}
}

// wrapEmpty adds an `Ok` at the end of a body without a value.
func (w *okWrapper) wrapEmpty(b *ast.Block) {
	end := "\nOk(nil)\n"
	switch {
	case b.Tail != nil:
		if w.in.Info.TypeOf(b.Tail) == types.Never {
			return
		}
		switch b.Tail.(type) {
		case *ast.IfExpr, *ast.MatchExpr, *ast.ForExpr, *ast.WhileExpr, *ast.LoopExpr, *ast.BlockExpr, *ast.TryExpr, *ast.ParallelFor, *ast.ListenExpr:
		default:
			end = ";" + end
		}
		w.edits = append(w.edits, diag.Insert(b.Tail.Span().End, end))
	case len(b.Stmts) > 0:
		last := b.Stmts[len(b.Stmts)-1]
		if x, ok := last.(*ast.ExprStmt); ok && w.in.Info.TypeOf(x.X) == types.Never {
			return
		}
		w.edits = append(w.edits, diag.Insert(last.Span().End, end))
	default:
		w.edits = append(w.edits, diag.Insert(b.Sp.End-1, end))
	}
}
