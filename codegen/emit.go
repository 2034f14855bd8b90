package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/types"
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
		f.lend(e.Channel, c, looked, e.Payload)
		f.lend(e.Payload, f.alloc(), looked)
		n = 2
	} else {
		f.lend(e.Channel, c, looked)
	}
	f.emit(ir.OpAwaitEmit, w, n, 0, 0)
	v := f.result(w, ir.Full)
	if e.Type != nil {
		f.checkAnswer(e, w)
	}
	return v
}

// checkAnswer validates an answer against the type asked for: an Ok of
// another type becomes an EmitError.
func (f *builder) checkAnswer(e *ast.EmitExpr, w int) {
	defer f.free(f.top)
	r, ok := types.Resolve(f.info.TypeOf(e)).(*types.Result)
	if !ok {
		bug(f.info, e.Sp, "an awaited emit that is no Result")
	}
	err := f.alloc()
	f.isVar[err] = true
	x := f.alloc()
	end := &label{}
	f.jump(ir.OpJumpVariant, w, 1, end)
	f.emit(ir.OpField, x, w, 0, 0)
	from := f.next()
	f.emit(ir.OpCheck, x, x, 0, int32(f.g.typeIndex(r.Ok)))
	f.emit(ir.OpNewOk, w, x, 0, 0)
	to := f.next()
	f.jump(ir.OpJump, 0, 0, end)
	if f.catch(from, to, err) {
		t, isNamed := types.Resolve(r.Err).(*types.Named)
		if isNamed {
			base := f.alloc()
			for range t.Decl.Fields[1:] {
				f.alloc()
			}
			f.emit(ir.OpErrorField, base, err, 0, f.g.stringConst("message"))
			err = f.newError(t, base, -1).reg
		}
		f.emit(ir.OpNewErr, w, err, 0, 0)
	}
	f.land(end)
}
