package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// call generates a Call or MethodCall that sema has resolved. recv is the expression of the
// receiver, or nil. p is the value that is piped into the call, or nil.
func (f *builder) call(e ast.Expr, args []*ast.Arg, recv ast.Expr, p *piped, hint int) val {
	c := f.info.Call(e)
	if c == nil {
		bug(f.info, e.Span(), "a call without detail")
	}
	in := arguments{call: c, written: args, recv: recv, piped: p}
	switch c.Kind {
	case sema.CallFunction, sema.CallTool:
		return f.callFunction(in, f.info.TypeOf(e), hint)
	case sema.CallValue, sema.CallAny:
		callee := e // a call without parentheses: the right side of `x |> f`
		if call, ok := e.(*ast.Call); ok {
			callee = call.Fn
		}
		return f.callValue(callee, in, hint)
	case sema.CallVariant:
		return f.callVariant(in, f.info.TypeOf(e), hint)
	case sema.CallAnyMethod:
		return f.callAnyMethod(in, hint)
	case sema.CallPipeline:
		s := f.g.pipelineSignature(c.Pipeline)
		w := f.window(hint)
		f.arguments(in, w, s.params, allOwned)
		f.emit(ir.OpCall, w, 0, 0, int32(f.g.numbers.pipelines[c.Pipeline]))
		return f.result(w, s.result)
	case sema.CallErrorNew:
		return f.callErrorNew(in, hint)
	}
	bug(f.info, e.Span(), "unknown kind of call")
	return val{}
}

// methodCall generates `x.m(args)`.
func (f *builder) methodCall(e *ast.MethodCall, hint int) val {
	return f.call(e, e.Args, e.Recv, f.takePiped(e), hint)
}

// window returns the first register of a new call window. It reuses hint if hint is the topmost
// allocated register.
func (f *builder) window(hint int) int {
	if hint >= 0 && hint == f.top-1 && !f.isVar[hint] {
		return hint
	}
	return f.alloc()
}

// result frees all registers of a call window except the first, which contains the result.
func (f *builder) result(w int, c ir.Class) val {
	f.free(w + 1)
	return val{reg: w, class: c, owned: true}
}

// callFunction calls a declared function, a native function or an effect. A mutating method changes
// the receiver's place (place.go).
func (f *builder) callFunction(in arguments, t types.Type, hint int) val {
	fn := in.call.Fn
	if fn.MutSelf && in.recv != nil && !isReference(f.resultType(in.recv)) {
		return f.callMutating(in, t, hint)
	}
	if v, ok := f.intrinsic(in, t, hint); ok {
		return v
	}
	w := f.window(hint)
	params := f.g.windowClasses(fn)
	f.arguments(in, w, params, f.g.passing(fn))
	v := f.invoke(fn, w)
	if f.mayReturnOption(in) {
		return f.flat(v, t)
	}
	return v
}

// mayReturnOption reports whether the callee may return an Option. Generic code may have created
// the Option without the type of its value.
func (f *builder) mayReturnOption(in arguments) bool {
	if in.call.Kind == sema.CallAnyMethod {
		return f.g.dynamic.optional[in.call.Name]
	}
	return isOption(in.call.Fn.CallType())
}

func isOption(t types.Type) bool { _, ok := types.Resolve(t).(*types.Option); return ok }

// windowClasses returns the register classes of a function's arguments.
func (g *generator) windowClasses(fn *sema.Function) []ir.Class {
	if fn.Native == "" && fn.Effect == "" {
		return g.signatureOf(fn).params
	}
	return allFull(len(fn.Params))
}

// invoke emits the call of fn, whose arguments are in the window w.
func (f *builder) invoke(fn *sema.Function, w int) val {
	wrap := 0
	if fn.Wraps {
		wrap = 1
	}
	n := len(fn.Params)
	switch {
	case fn.Native == "panic":
		f.emit(ir.OpPanic, w+1, 0, 0, 0)
		return f.result(w, ir.Full)
	case fn.Native == "rethrow":
		f.emit(ir.OpRethrow, w+1, 0, 0, 0)
		return f.result(w, ir.Full)
	case fn.Native == "dispatch_tool_among":
		f.emit(ir.OpDispatchTool, w, 0, 0, 0)
		return f.result(w, ir.Full)
	case fn.Native == "dispatch_tool":
		f.alloc()
		f.emit(ir.OpMove, w+3, w+2, 0, 0)
		f.emit(ir.OpMove, w+2, w+1, 0, 0)
		f.emit(ir.OpLoadNil, w+1, 0, 0, 0)
		f.emit(ir.OpDispatchTool, w, 0, 0, 0)
		return f.result(w, ir.Full)
	case fn.Native != "":
		f.emit(ir.OpCallNative, w, n, wrap, f.g.native(fn.Native))
		v := f.result(w, ir.Full)
		v.fresh = fn.Wraps
		return v
	case fn.Effect != "":
		f.emit(ir.OpPerform, w, n, wrap, f.g.stringConst(fn.Effect))
		v := f.result(w, ir.Full)
		v.fresh = true
		return v
	}
	idx, ok := f.g.numbers.functions[fn]
	if !ok {
		bug(fn.Info, fn.Decl.Span(), "%s has no code", fn.Name)
	}
	if fn.Async {
		f.emit(ir.OpSpawn, w, w+1, n, int32(idx))
		return f.result(w, ir.Full)
	}
	f.emit(ir.OpCall, w, 0, 0, int32(idx))
	return f.result(w, f.g.signatureOf(fn).result)
}

// allFull returns n Full classes: the argument classes of a call whose callee is known only at run
// time.
func allFull(n int) []ir.Class {
	cs := make([]ir.Class, n)
	for i := range cs {
		cs[i] = ir.Full
	}
	return cs
}

// callValue calls a closure, or a value of type Any.
func (f *builder) callValue(callee ast.Expr, in arguments, hint int) val {
	w := f.window(hint)
	later := make([]ast.Expr, 0, len(in.written))
	for _, a := range in.written {
		later = append(later, a.Value)
	}
	f.borrowInto(callee, w, argRead, later...)
	params := allFull(len(in.call.Args))
	f.arguments(in, w, params, allOwned)
	f.emit(ir.OpCallClosure, w, len(params), 0, 0)
	return f.result(w, ir.Full)
}

// callAnyMethod calls a method that is looked up at run time. If the method may change its receiver
// and the receiver is a place, the call changes that place.
func (f *builder) callAnyMethod(in arguments, hint int) val {
	if f.g.dynamic.mutating[in.call.Name] && f.isPlace(in.recv) {
		return f.callMutating(in, types.Any, hint)
	}
	w := f.window(hint)
	f.arguments(in, w, allFull(len(in.call.Args)), allOwned)
	v := f.invokeNamed(in, w)
	if f.mayReturnOption(in) {
		return f.flat(v, types.Any)
	}
	return v
}

// invokeNamed emits the call of a method that is looked up at run time by name.
func (f *builder) invokeNamed(in arguments, w int) val {
	f.emit(ir.OpCallMethod, w, len(in.call.Args), 0, f.g.stringConst(in.call.Name))
	return f.result(w, ir.Full)
}
