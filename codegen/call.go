package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/types"
)

// piped is the left side of |>, already in a register.
type piped struct {
	v val
	t types.Type
}

// call generates a Call or MethodCall as sema has resolved it. recv is the
// receiver's expression, p the value piped into it; nil without.
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
		callee := e // the right side of `x |> f`
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
		f.arguments(in, w, s.params, allKept)
		f.emit(ir.OpCall, w, 0, 0, int32(f.g.pipelines[c.Pipeline]))
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

// pipe generates `x |> f(a)`.
func (f *builder) pipe(e *ast.Pipe, hint int) val {
	v := f.operand(e.X, e.Right)
	if !v.owned && f.isVar[v.reg] {
		d := f.alloc()
		f.share(v, f.resultType(e.X))
		f.emit(moves[v.class], d, v.reg, 0, 0)
		v = val{reg: d, class: v.class, owned: true}
	}
	p := &piped{v, f.resultType(e.X)}
	f.pipes = append(f.pipes, pipedInto{e.Call, p})
	defer func() { f.pipes = f.pipes[:len(f.pipes)-1] }()
	if e.Right == e.Call {
		switch e.Call.(type) {
		case *ast.Call, *ast.MethodCall:
		default:
			return f.call(e.Right, nil, nil, p, hint)
		}
	}
	return f.value(e.Right, hint)
}

// pipedInto says which call within a pipe's right side takes the left one.
type pipedInto struct {
	call ast.Expr
	p    *piped
}

// takePiped gives what is piped into e, if anything is.
func (f *builder) takePiped(e ast.Expr) *piped {
	if n := len(f.pipes); n > 0 && f.pipes[n-1].call == e {
		return f.pipes[n-1].p
	}
	return nil
}

// arguments is where a call's parameters come from.
type arguments struct {
	call    *sema.Call
	written []*ast.Arg
	recv    ast.Expr
	piped   *piped
}

// window gives the first register of a call's window: where its result is
// wanted, if that is the top of the stack.
func (f *builder) window(hint int) int {
	if hint >= 0 && hint == f.top-1 && !f.isVar[hint] {
		return hint
	}
	return f.alloc()
}

// result frees a window but for its result.
func (f *builder) result(w int, c ir.Class) val {
	f.free(w + 1)
	return val{reg: w, class: c, owned: true}
}

// argSource is one parameter's value: an expression, or what is made for it.
type argSource struct {
	param int
	expr  ast.Expr
	arg   sema.Arg
}

// sources lists what has to be evaluated, in order: receiver and written
// arguments first, then what is filled in.
func (in arguments) sources() []argSource {
	var first, rest []argSource
	written := make([]argSource, len(in.written))
	for k, a := range in.call.Args {
		s := argSource{param: k, arg: a}
		switch a.Kind {
		case sema.ArgReceiver:
			s.expr = in.recv
			first = append(first, s)
		case sema.ArgWritten:
			s.expr = in.written[a.Index].Value
			written[a.Index] = s
		case sema.ArgPiped:
			first = append(first, s)
		default:
			rest = append(rest, s)
		}
	}
	for _, s := range written {
		if s.expr != nil {
			first = append(first, s)
		}
	}
	return append(first, rest...)
}

// passing is how a callee takes an argument.
type passing uint8

const (
	kept     passing = iota // it is the callee's own: marked, or moved
	borrowed                // only read, by code that runs other code
	looked                  // only read, by a leaf
)

func allKept(int) passing { return kept }

// passing says how a function takes each of its arguments.
func (g *generator) passing(fn *sema.Function) func(param int) passing {
	leaf := fn.Native != "" || fn.Effect != ""
	return func(param int) passing {
		switch {
		case leaf:
			return looked
		case g.borrowed[fn.Params[param]]:
			return borrowed
		}
		return kept
	}
}

// arguments puts a call's arguments into the window w in evaluation order.
func (f *builder) arguments(in arguments, w int, params []ir.Class, how func(param int) passing) {
	for range params {
		f.alloc()
	}
	list := in.sources()
	ordered := true
	for i, s := range list {
		ordered = ordered && s.param == i
	}
	var exprs []ast.Expr
	for _, s := range list {
		exprs = append(exprs, s.expr)
	}
	// Out of order, an argument's register may be needed by a call in a later
	// one, so that only what stands below it is safe: allocate all first.
	for i, s := range list {
		dst := w + 1 + s.param
		if ordered {
			f.free(dst + 1)
		}
		f.argument(in, s, dst, params[s.param], how(s.param), exprs[i+1:])
		if ordered {
			f.top = max(f.top, dst+1)
		}
	}
	f.top = w + 1 + len(params)
}

// argument puts one argument into its register.
func (f *builder) argument(in arguments, s argSource, dst int, c ir.Class, how passing, later []ast.Expr) {
	switch s.arg.Kind {
	case sema.ArgReceiver, sema.ArgWritten:
		switch {
		case how == kept:
			f.into(s.expr, dst, c, true)
		case c != ir.Full:
			f.into(s.expr, dst, c, false)
		default:
			f.lend(s.expr, dst, how, later...)
		}
	case sema.ArgPiped:
		v := in.piped.v
		if s.arg.Conv != nil {
			v = f.convert(v, in.piped.t, s.arg.Conv, -1)
		}
		if how != looked {
			f.share(v, in.piped.t)
		}
		f.move(dst, c, v)
	case sema.ArgDefault:
		f.defaultArgument(in.call.Fn, s.param, dst, c)
	case sema.ArgShape:
		f.emit(ir.OpLoadType, dst, 0, 0, int32(f.g.typeIndex(in.call.TypeArgs[s.arg.Index])))
	case sema.ArgRest:
		f.restArguments(in.written[s.arg.Index:], dst)
	}
}

// restArguments collects the arguments of a variadic function.
func (f *builder) restArguments(args []*ast.Arg, dst int) {
	base := f.top
	first := min(len(args), chunk)
	for _, a := range args[:first] {
		f.keep(a.Value, f.alloc())
	}
	f.emit(ir.OpNewArray, dst, base, first, 0)
	f.free(base)
	for _, a := range args[first:] {
		r := f.alloc()
		f.keep(a.Value, r)
		f.emit(ir.OpArrayPush, dst, r, 0, 0)
		f.free(base)
	}
}

// defaultArgument evaluates a parameter's default in the callee's file: in
// place when it is made of literals and names, else by a hidden function.
func (f *builder) defaultArgument(fn *sema.Function, param, dst int, c ir.Class) {
	p := fn.Params[param]
	if plain(p.Default) {
		f.within(fn.Info, func() { f.into(p.Default, dst, c, true) })
		return
	}
	top := f.top
	w := f.window(dst)
	f.emit(ir.OpCall, w, 0, 0, int32(f.g.defaultFunction(fn, p)))
	f.move(dst, c, val{reg: w, class: ir.Full})
	f.free(top)
}

// plain says whether an expression is made of literals and names only.
func plain(e ast.Expr) bool {
	ok := true
	inspect(e, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.IntLit, *ast.FloatLit, *ast.BoolLit, *ast.StringLit, *ast.NilLit, *ast.PathExpr, *ast.ParenExpr,
			*ast.ArrayLit, *ast.MapLit, *ast.TupleLit, *ast.Unary:
		default:
			ok = false
		}
		return ok
	})
	return ok
}

// defaultFunction gives the function that evaluates a parameter's default.
func (g *generator) defaultFunction(fn *sema.Function, p *sema.Param) int {
	if n, ok := g.adapters[p]; ok {
		return n
	}
	n := g.reserve()
	g.adapters[p] = n
	g.later(func() {
		g.build(n, func(spilled bool) *builder {
			f := g.newFn(fn.Info, fn.Name+" default "+p.Name, p.At.Start, signature{result: ir.Full, abi: ir.FullABI})
			f.startSpill(spilled)
			f.leave = leave{kind: leaveFunction, result: p.Type}
			f.giveBack(f.lastUse(p.Default, -1), p.Type)
			return f.finish()
		})
	})
	return n
}

// callFunction calls a declared function, native or effect. A mutating method
// works on the receiver's place.
func (f *builder) callFunction(in arguments, t types.Type, hint int) val {
	fn := in.call.Fn
	if fn.MutSelf && in.recv != nil && !isReference(f.resultType(in.recv)) {
		return f.callMutating(in, hint)
	}
	if v, ok := f.intrinsic(in, t, hint); ok {
		return v
	}
	w := f.window(hint)
	params := f.g.windowClasses(fn)
	f.arguments(in, w, params, f.g.passing(fn))
	v := f.invoke(fn, w)
	if _, ok := types.Resolve(fn.Result).(*types.Option); ok {
		return f.flat(v, t)
	}
	return v
}

// isReference says whether values of t are references: a mutating method
// changes what they refer to, and no place.
func isReference(t types.Type) bool {
	switch t := types.Resolve(t).(type) {
	case *types.Declared, *types.HashMap, *types.Task, *types.Func:
		return true
	case *types.Basic:
		return t == types.Agent || t == types.Host || t == types.Tool || t == types.Memory || t == types.Ledger
	}
	return false
}

// windowClasses are the classes in which a function takes its arguments.
func (g *generator) windowClasses(fn *sema.Function) []ir.Class {
	if fn.Native == "" && fn.Effect == "" {
		return g.signatureOf(fn).params
	}
	return allFull(len(fn.Params))
}

// invoke emits the call of fn with its arguments in the window.
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
	idx, ok := f.g.functions[fn]
	if !ok {
		bug(fn.Info, fn.Decl.Span(), "%s has no code", fn.Name)
	}
	f.emit(ir.OpCall, w, 0, 0, int32(idx))
	return f.result(w, f.g.signatureOf(fn).result)
}

// callMutating calls a `mut self` method: the receiver's indices, then the
// arguments, then the place is taken; it is written back when the method ends,
// also by an error.
func (f *builder) callMutating(in arguments, hint int) val {
	fn := in.call.Fn
	static := in.call.Kind != sema.CallAnyMethod
	native := static && fn.Native != ""
	if hint >= 0 && (hint != f.top-1 || f.isVar[hint]) {
		hint = -1
	}
	result := f.target(hint) // below everything that is freed at the end
	var later []ast.Expr
	for _, a := range in.written {
		later = append(later, a.Value)
	}
	p := f.placeOf(in.recv, later...)
	if static {
		if v, ok := f.mutatingIntrinsic(in, p, result); ok {
			f.free(result + 1)
			return v
		}
	}
	e, w := -1, result
	if !native {
		e = f.alloc() // holds an error on its way through
	}
	if f.top != result+1 {
		w = f.alloc()
	}
	params := allFull(len(in.call.Args))
	if static {
		params = f.g.windowClasses(fn)
	}
	f.alloc()
	f.behindReceiver(in, w, params)
	top := f.top
	self := f.own(p, len(p.steps))
	f.move(w+1, params[0], val{reg: self, class: f.classIn(p)})
	f.free(top)
	from := f.next()
	var v val
	if static {
		v = f.invoke(fn, w)
	} else {
		v = f.invokeNamed(in, w)
	}
	to := f.next()
	f.top = w + 2
	f.set(p, val{reg: w + 1, class: ir.Full, owned: true})
	f.move(result, v.class, v)
	if !native && to > from {
		end := &label{}
		f.jump(ir.OpJump, 0, 0, end)
		f.catch(from, to, e)
		f.top = w + 2
		f.set(p, val{reg: w + 1, class: ir.Full, owned: true})
		f.emit(ir.OpRethrow, e, 0, 0, 0)
		f.land(end)
	}
	f.free(result + 1)
	return val{reg: result, class: v.class, owned: true}
}

// classIn is the class of the register in which a place's own value comes.
func (f *builder) classIn(p place) ir.Class {
	if len(p.steps) == 0 && !p.v.cell && !p.v.spill {
		return p.v.class
	}
	return ir.Full
}

// behindReceiver fills the parameters of a method but for its receiver, which
// is put into the window by itself.
func (f *builder) behindReceiver(in arguments, w int, params []ir.Class) {
	c := *in.call
	c.Args = c.Args[1:]
	if c.Fn != nil {
		fn := *c.Fn
		fn.Params = fn.Params[1:]
		c.Fn = &fn
	}
	in.call = &c
	f.arguments(in, w+1, params[1:], allKept)
}

// allFull are the classes of a call whose callee is found at run time.
func allFull(n int) []ir.Class {
	cs := make([]ir.Class, n)
	for i := range cs {
		cs[i] = ir.Full
	}
	return cs
}

// callValue calls a closure, or an Any.
func (f *builder) callValue(callee ast.Expr, in arguments, hint int) val {
	w := f.window(hint)
	later := make([]ast.Expr, 0, len(in.written))
	for _, a := range in.written {
		later = append(later, a.Value)
	}
	f.lend(callee, w, looked, later...)
	params := allFull(len(in.call.Args))
	f.arguments(in, w, params, allKept)
	f.emit(ir.OpCallClosure, w, len(params), 0, 0)
	return f.result(w, ir.Full)
}

// callAnyMethod calls a method that is found at run time. One that may change
// what it is called on works on the receiver's place, if it has one.
func (f *builder) callAnyMethod(in arguments, hint int) val {
	if f.g.mutating[in.call.Name] && f.isPlace(in.recv) {
		return f.callMutating(in, hint)
	}
	w := f.window(hint)
	f.arguments(in, w, allFull(len(in.call.Args)), allKept)
	return f.invokeNamed(in, w)
}

// invokeNamed emits the call of a method found at run time.
func (f *builder) invokeNamed(in arguments, w int) val {
	f.emit(ir.OpCallMethod, w, len(in.call.Args), 0, f.g.stringConst(in.call.Name))
	return f.result(w, ir.Full)
}

// isPlace says whether e is a mutable variable or a part of one.
func (f *builder) isPlace(e ast.Expr) bool {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.TupleIndex:
			e = x.X
		case *ast.IndexExpr:
			if _, slice := unparen(f.info, x.Index).(*ast.RangeExpr); slice {
				return false
			}
			e = x.X
		case *ast.FieldExpr:
			if s := f.info.Select(x); s.Kind != sema.SelectField && s.Kind != sema.SelectTool && s.Kind != sema.SelectAny {
				return false
			}
			e = x.X
		case *ast.PathExpr:
			l, ok := f.info.Object(x).(*sema.Local)
			return ok && l.Mut
		default:
			return false
		}
	}
}

// callVariant makes an enum value from its payload.
func (f *builder) callVariant(in arguments, t types.Type, hint int) val {
	v := in.call.Variant
	base := f.top
	f.arguments(in, base-1, allFull(len(in.call.Args)), allKept)
	return f.makeVariant(v, t, base, hint)
}

// makeVariant makes a variant of t from the registers from base on.
func (f *builder) makeVariant(v *sema.VariantRef, t types.Type, base, hint int) val {
	d := f.target(hint)
	switch {
	case v.Variant != nil:
		f.emit(ir.OpNewVariant, d, base, v.Index, int32(f.g.typeIndex(t)))
	case v.Name == "Ok":
		f.emit(ir.OpNewOk, d, base, 0, 0)
	case v.Name == "Err":
		f.emit(ir.OpNewErr, d, base, 0, 0)
	default: // Some: perhaps its payload itself
		f.emit(ir.OpWrapSome, d, base, 0, 0)
		return val{reg: d, class: ir.Full, owned: true}
	}
	return val{reg: d, class: ir.Full, owned: true, fresh: true}
}

// variantValue is a variant's name as a value: a unit variant, or the function
// that makes one.
func (f *builder) variantValue(v *sema.VariantRef, t types.Type, hint int) val {
	if fn, ok := types.Resolve(t).(*types.Func); ok {
		return f.loadFunction(f.g.variantAdapter(v, fn.Result, f.home, f.pos), hint)
	}
	if v.Variant == nil {
		return f.nilValue(hint) // None
	}
	return f.makeVariant(v, t, f.top, hint)
}

// callErrorNew makes a built-in error from its message.
func (f *builder) callErrorNew(in arguments, hint int) val {
	t := types.Resolve(in.call.Error).(*types.Named)
	base := f.top
	for range t.Decl.Fields {
		f.alloc()
	}
	for i, s := range in.sources() {
		if i == 0 {
			f.argument(in, s, base, ir.Full, kept, nil)
		}
	}
	return f.newError(t, base, hint)
}

// newError makes a built-in error; its message stands at base, behind which
// there is room for its other fields.
func (f *builder) newError(t *types.Named, base, hint int) val {
	for i, fd := range t.Decl.Fields {
		if i == 0 {
			continue
		}
		switch types.Resolve(fd.Type) {
		case types.String:
			f.stringValue("", base+i)
		case types.Int:
			f.move(base+i, ir.Full, f.intValue(0, base+i))
		case types.Float:
			f.move(base+i, ir.Full, f.floatValue(0, base+i))
		case types.Bool:
			f.move(base+i, ir.Full, f.boolValue(false, base+i))
		default:
			f.emit(ir.OpLoadNil, base+i, 0, 0, 0)
		}
	}
	d := f.target(hint)
	f.emit(ir.OpNewStruct, d, base, 0, int32(f.g.typeIndex(t)))
	return val{reg: d, class: ir.Full, owned: true}
}
