package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
)

// emitExpr generates `emit(c, p)` and `await emit(c, p)`.
func (f *builder) emitExpr(e *ast.EmitExpr, hint int) val {
	if e.Await {
		return f.awaitEmit(e, hint)
	}
	var later []ast.Expr
	if e.Payload != nil {
		later = append(later, e.Payload)
	}
	c := f.full(e.Channel, later...)
	if e.Payload == nil {
		f.emit(ir.OpEmitBare, c.reg, 0, 0, 0)
	} else {
		f.emit(ir.OpEmit, c.reg, f.full(e.Payload).reg, 0, 0)
	}
	return f.nilValue(hint)
}

func (f *builder) awaitEmit(e *ast.EmitExpr, hint int) val {
	w := f.window(hint)
	n := 1
	c := f.alloc()
	if e.Payload != nil {
		f.borrowInto(e.Channel, c, argRead, e.Payload)
		f.borrowInto(e.Payload, f.alloc(), argRead)
		n = 2
	} else {
		f.borrowInto(e.Channel, c, argRead)
	}
	if r, ok := types.Resolve(f.info.TypeOf(e)).(*types.Result); ok && e.Type != nil {
		f.emit(ir.OpAwaitEmitAs, w, n, 0, int32(f.g.typeIndex(r.Ok)))
	} else {
		f.emit(ir.OpAwaitEmit, w, n, 0, 0)
	}
	return f.result(w, ir.Full)
}
