package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// emit checks `emit(c, p)` and its awaited form (spec/11-emit.md).
func (b *body) emit(e *ast.EmitExpr) types.Type {
	b.checkAs(e.Channel, types.String, reason{})
	if e.Payload != nil {
		b.checkAs(e.Payload, types.Any, reason{})
		b.shown(e.Payload, "what is emitted")
	}
	if !e.Await {
		if e.Type != nil {
			b.report(diag.EmitType.At(e.Type.Span(), "only an awaited emit has an answer to type").
				Repair(diag.Offer(diag.Insert(e.Sp.Start, "await "), "Await it"), "write `await emit<…>(…)`"))
			b.c.resolve(b.ts, e.Type)
		}
		return types.Nil
	}
	answer := types.Type(types.Any)
	if e.Type != nil {
		answer = b.c.resolve(b.ts, e.Type)
		b.decodable(answer, e.Type.Span())
	}
	err := b.c.errorType("EmitError")
	if err == nil {
		err = types.Error
	}
	return &types.Result{Ok: answer, Err: err}
}
