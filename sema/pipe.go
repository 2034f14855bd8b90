package sema

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// piped is the left side of |>, which becomes the first argument of a call.
type piped struct {
	x ast.Expr
	t types.Type
}

// pipe checks `x |> f(a)`.
func (b *body) pipe(e *ast.Pipe, hint types.Type) types.Type {
	p := &piped{e.X, b.expr(e.X, nil)}
	b.pipes = append(b.pipes, pipedCall{e.Call, p})
	n := len(b.pipes)
	t := b.expr(e.Right, hint)
	if len(b.pipes) >= n { // the call is `x |> f` with f a plain value
		b.pipes = b.pipes[:n-1]
	}
	return t
}

// pipedCall is a call that waits for its piped value.
type pipedCall struct {
	call ast.Expr
	p    *piped
}

// takePiped gives the value piped into e, once.
func (b *body) takePiped(e ast.Expr) *piped {
	if n := len(b.pipes); n > 0 {
		for i := n - 1; i >= 0; i-- {
			if b.pipes[i].call == e {
				p := b.pipes[i].p
				b.pipes = slices.Delete(b.pipes, i, i+1)
				return p
			}
		}
	}
	return nil
}

// pipedInto is `x |> f`: a call of f with the piped value alone. Its detail
// stands under f's own id.
func (b *body) pipedInto(e ast.Expr, hint types.Type, p *piped) types.Type {
	call := &ast.Call{Fn: e}
	call.Sp, call.Id = e.Span(), e.ID()
	return b.call(call, hint, p)
}
