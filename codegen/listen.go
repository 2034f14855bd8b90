package codegen

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// listen generates a listen. Its window contains the host, the prompt and the schema; the first
// register of the window is reserved for the result. Each handler becomes a block of instructions
// that uses the registers of the surrounding function.
func (f *builder) listen(e *ast.ListenExpr, hint int) val {
	if f.dead { // an unreachable listen has no handlers
		return val{reg: f.target(hint), class: ir.Full, owned: true}
	}
	l := f.info.Listen(e)
	byTools := answeredByTools(l)
	check := l.Check
	if check == nil && !f.info.Library {
		check = f.g.p.OnResult
	}
	needsHost := len(byTools) > 0 || check != nil
	hostReg := -1 // register of the host with its builder settings, for implicit handlers, or -1
	if needsHost {
		hostReg = f.alloc()
		f.isVar[hostReg] = true
		hint = -1
	}
	w := f.window(hint)
	host, prompt, schema := f.alloc(), f.alloc(), f.alloc()
	f.borrowInto(l.Builder, host, argRead, l.Prompt)
	if needsHost {
		f.emit(ir.OpMove, hostReg, host, 0, 0)
	}
	f.borrowInto(l.Prompt, prompt, argRead)
	if l.Schema != nil {
		f.emit(ir.OpLoadType, schema, 0, 0, int32(f.g.typeIndex(l.Schema)))
	} else {
		f.emit(ir.OpLoadNil, schema, 0, 0, 0)
	}
	if f.dead { // the host or the prompt is unreachable
		return val{reg: w, class: ir.Full, owned: true}
	}
	f.requestTools(host)
	f.passMockPrompt(host, prompt)
	n := len(f.out.Listens)
	f.out.Listens = append(f.out.Listens, ir.ListenInfo{})
	f.emit(ir.OpListenBegin, w, 0, 0, int32(n))
	info := ir.ListenInfo{Host: -1, Execute: f.info.Library}
	if l.Host != nil {
		info.Host = f.g.numbers.hosts[l.Host]
	}
	f.free(w + 1)
	wasVar := f.isVar[w]
	f.isVar[w] = true
	for _, h := range l.Handlers {
		if h.Value == nil || !f.info.AsksPerson(h.Value) {
			info.Handlers = append(info.Handlers, f.handler(h))
		}
	}
	for _, typ := range byTools {
		info.Handlers = append(info.Handlers, f.toolHandler(typ, l, hostReg))
	}
	if check != nil {
		info.Handlers = append(info.Handlers, f.resultHandler(check, l.Schema, hostReg))
	}
	f.isVar[w] = wasVar
	f.out.Listens[n] = info
	f.free(w + 1)
	if l.Typed != nil {
		f.typedResult(l, w)
	}
	return val{reg: w, class: ir.Full, owned: true}
}

// passMockPrompt calls the library's function that passes the prompt to a mock. Only programs in
// which a test mocks a host with a closure contain the call.
func (f *builder) passMockPrompt(host, prompt int) {
	if f.g.p.OnMockPrompt == nil {
		return
	}
	defer f.free(f.top)
	w := f.alloc()
	f.emit(ir.OpMove, f.alloc(), host, 0, 0)
	f.emit(ir.OpMove, f.alloc(), prompt, 0, 0)
	f.invoke(f.g.p.OnMockPrompt, w)
}

// requestTools calls the library's function that requests the lists of tools that the program has
// not requested before.
func (f *builder) requestTools(host int) {
	if f.g.p.OnToolsKnown == nil {
		return
	}
	defer f.free(f.top)
	w := f.alloc()
	f.emit(ir.OpMove, f.alloc(), host, 0, 0)
	f.emit(ir.OpMove, host, f.invoke(f.g.p.OnToolsKnown, w).reg, 0, 0)
}

// answeredByTools returns the message types that the host's tools answer, because the listen has no
// handler for them.
func answeredByTools(l *sema.Listen) []string {
	if l.Dispatch == nil {
		return nil
	}
	var out []string
	for _, m := range hostmsg.Messages() {
		if m.Unhandled == hostmsg.ByTools && !slices.ContainsFunc(l.Handlers, func(h *sema.Handler) bool { return h.Type == m.Type }) {
			out = append(out, m.Type)
		}
	}
	return out
}

// inHandler generates a handler's block. gen generates the code of the block; param is the register
// of the message.
func (f *builder) inHandler(typ string, gen func(param int)) ir.Handler {
	defer f.free(f.top)
	h := ir.Handler{Type: typ, Param: f.alloc(), Schema: -1}
	back := f.redirect(&h.Block)
	leaving, loops := f.leave, f.loops
	f.leave, f.loops = leave{kind: leaveHandler, result: types.Any}, nil
	f.depth++
	gen(h.Param)
	f.endLocals(h.Param)
	f.depth--
	f.leave, f.loops = leaving, loops
	back()
	return h
}

func (f *builder) handler(h *sema.Handler) ir.Handler {
	out := f.inHandler(h.Type, func(param int) {
		switch {
		case h.Body != nil:
			f.handlerBody(h, param)
		case h.Fn != nil:
			c := f.g.windowClasses(h.Fn)[0]
			w := f.alloc()
			f.move(f.alloc(), c, val{reg: param, class: ir.Full})
			f.returnValue(f.awaited(f.invoke(h.Fn, w), h.Fn.CallType(), -1), types.Any)
		default:
			w := f.alloc()
			f.borrowInto(h.Value, w, argRead)
			f.emit(ir.OpMove, f.alloc(), param, 0, 0)
			f.emit(ir.OpCallClosure, w, 1, 0, 0)
			f.returnValue(val{reg: w, class: ir.Full, owned: true}, types.Any)
		}
	})
	at := f.places.Position(h.At.Start)
	out.Start = &ir.Position{Line: at.Line, Column: at.Column}
	if h.Schema != nil {
		out.Schema = f.g.typeIndex(h.Schema)
	}
	return out
}

// handlerBody generates the body of a handler's closure as a block. The closure's parameter is a
// variable of the surrounding function.
func (f *builder) handlerBody(h *sema.Handler, param int) {
	f.param(h.Param, param, ir.Full)
	f.updatePosition(h.Body.Span().Start)
	if types.Resolve(f.resultType(h.Body)) == types.Nil {
		f.discard(h.Body)
		f.updatePosition(h.Body.Span().End - 1)
		f.returnNil()
		return
	}
	v := f.value(h.Body, -1)
	f.updatePosition(h.Body.Span().End - 1)
	f.returnValue(v, types.Any)
}

// toolHandler creates a handler that calls the host's tools. It runs if the host has tools and the
// program does not handle the message.
func (f *builder) toolHandler(typ string, l *sema.Listen, hostReg int) ir.Handler {
	h := f.inHandler(typ, func(param int) {
		w := f.alloc()
		host, message := f.alloc(), f.alloc()
		f.emit(ir.OpMove, host, hostReg, 0, 0)
		f.emit(ir.OpMove, message, param, 0, 0)
		v := f.invoke(l.Dispatch, w)
		f.emit(ir.OpBlockReply, v.reg, 0, 0, 0)
	})
	h.Implicit = true
	return h
}

// resultHandler creates a handler that checks the result of a turn, by a schema, which may be nil,
// and by the host's gates. Its value is the prompt of a further turn, or nil.
func (f *builder) resultHandler(check *sema.Function, schema types.Type, hostReg int) ir.Handler {
	h := f.inHandler(hostmsg.Result, func(param int) {
		w := f.alloc()
		host, message := f.alloc(), f.alloc()
		f.emit(ir.OpMove, host, hostReg, 0, 0)
		f.emit(ir.OpMove, message, param, 0, 0)
		if schema != nil {
			f.emit(ir.OpLoadType, f.alloc(), 0, 0, int32(f.g.typeIndex(schema)))
		}
		v := f.invoke(check, w)
		f.emit(ir.OpBlockEnd, v.reg, 0, 0, 0)
	})
	h.Implicit = true
	return h
}

// typedResult calls the library's function that converts the raw result in register w to a
// Result<T, Error>.
func (f *builder) typedResult(l *sema.Listen, w int) {
	defer f.free(w + 1)
	x := f.alloc()
	raw, shape := f.alloc(), f.alloc()
	f.emit(ir.OpMove, raw, w, 0, 0)
	f.emit(ir.OpLoadType, shape, 0, 0, int32(f.g.typeIndex(l.Schema)))
	v := f.invoke(l.Typed, x)
	f.move(w, ir.Full, v)
}
