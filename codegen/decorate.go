package codegen

import (
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// A decorated function consists of two functions. The inner function contains the function's code.
// Callers call the outer function. It creates a closure that calls the inner function, and passes
// the closure to the decorators. A decorator is a library function (stdlib/decorate.conc) that
// calls the next decorator or the closure. For the calls of agents and hosts, the program contains
// a function that runs a call inside their decorators; the library calls this function.

// decorators returns the index of a function with the full ABI. The function runs the closure in
// its first parameter, call, inside the decorators ds. Its parameters shown and key describe the
// call to the decorators. If onUnknown is set, the call runs in a function with this policy.
func (g *generator) decorators(info *sema.Info, name string, at source.Pos, ds []*sema.Decoration, onUnknown string) int {
	n := g.reserve()
	g.enqueue(func() {
		g.build(n, func(bool) *builder {
			f := g.newFn(info, "__"+name, at, signature{params: allFull(3), result: ir.Full, abi: ir.FullABI})
			f.emit(ir.OpShare, 2, 0, 0, 0)
			f.emit(ir.OpShare, 3, 0, 0, 0)
			x := decoratorRegs{call: 1, shown: 2, key: 3}
			if onUnknown != "" {
				x.call = f.policyClosure(name, onUnknown, x.call)
			}
			f.callDecorated(name, ds, x)
			return f.finishFunction()
		})
	})
	return n
}

// decoratorRegs contains the registers of the arguments that every decorator receives.
type decoratorRegs struct{ call, shown, key int }

// policyClosure creates a closure that calls the closure in the register call. The created
// closure's function has the policy onUnknown.
func (f *builder) policyClosure(name, onUnknown string, call int) int {
	n := f.g.capturing(f.info, name, f.pos, 1, func(b *builder) int {
		b.out.OnUnknown = onUnknown
		return b.callClosure(b.loadCaptured(0))
	})
	return f.capturingRegisters(n, call)
}

// capturing returns the index of a closure's function with n captured values. body generates its
// code and returns the register of the result.
func (g *generator) capturing(info *sema.Info, name string, at source.Pos, n int, body func(f *builder) int) int {
	i := g.reserve()
	g.enqueue(func() {
		g.build(i, func(bool) *builder {
			f := g.newFn(info, "__"+name, at, signature{result: ir.Full, abi: ir.FullABI})
			f.out.Captures = n
			f.emit(ir.OpReturn, body(f), 0, 0, 0)
			return f.finishFunction()
		})
	})
	return i
}

// capturingRegisters creates a closure of function n that captures the values of registers.
func (f *builder) capturingRegisters(n int, registers ...int) int {
	c := f.alloc()
	base := f.top
	for _, r := range registers {
		f.emit(ir.OpMove, f.alloc(), r, 0, 0)
	}
	f.emit(ir.OpNewClosure, c, base, len(registers), int32(n))
	f.free(base)
	return c
}

// callClosure calls the closure in a register without arguments, and returns the register of the
// result.
func (f *builder) callClosure(closure int) int {
	w := f.alloc()
	f.emit(ir.OpMove, w, closure, 0, 0)
	f.emit(ir.OpCallClosure, w, 0, 0, 0)
	return w
}

// callDecorated generates the call inside all decorators, and returns the call's result.
func (f *builder) callDecorated(name string, ds []*sema.Decoration, x decoratorRegs) {
	if len(ds) == 0 {
		f.emit(ir.OpReturn, f.callClosure(x.call), 0, 0, 0)
		return
	}
	for i := len(ds) - 1; i > 0; i-- {
		x.call = f.wrapCall(name, ds[i], x)
	}
	f.emit(ir.OpReturn, f.decorate(name, ds[0], x), 0, 0, 0)
}

// wrapCall creates a closure that runs the call inside the decorator d.
func (f *builder) wrapCall(name string, d *sema.Decoration, x decoratorRegs) int {
	n := f.g.capturing(f.info, name, f.pos, 3, func(b *builder) int {
		return b.decorate(name, d, decoratorRegs{call: b.loadCaptured(0), shown: b.loadCaptured(1), key: b.loadCaptured(2)})
	})
	return f.capturingRegisters(n, x.call, x.shown, x.key)
}

// loadCaptured loads captured value i into a new register.
func (f *builder) loadCaptured(i int) int {
	r := f.alloc()
	f.emit(ir.OpCaptured, r, i, 0, 0)
	return r
}

// decorate calls the function of the decorator d, and returns the register of the result.
func (f *builder) decorate(name string, d *sema.Decoration, x decoratorRegs) int {
	w := f.alloc()
	classes := f.g.windowClasses(d.Fn)
	f.emit(ir.OpMove, f.alloc(), x.call, 0, 0)
	if d.Name == "cache" {
		name = d.ModulePath + name
	}
	f.stringValue(name, f.alloc())
	f.emit(ir.OpMove, f.alloc(), x.shown, 0, 0)
	f.emit(ir.OpMove, f.alloc(), x.key, 0, 0)
	for i, v := range d.Args {
		r := f.alloc()
		f.move(r, classes[sema.OwnParam+i], f.constant(v, d.Fn.Params[sema.OwnParam+i].Type, -1))
		f.free(r + 1)
	}
	if own := d.Fn.Params[sema.OwnParam:]; len(own) > len(d.Args) { // the last parameter is the type of the cached values
		f.loadTypeOrNil(d.CachedType, f.alloc())
	}
	return f.boxed(f.invoke(d.Fn, w), -1).reg
}

// loadTypeOrNil loads the type t into register r, or nil if t is nil.
func (f *builder) loadTypeOrNil(t types.Type, r int) {
	if t == nil {
		f.emit(ir.OpLoadNil, r, 0, 0, 0)
		return
	}
	f.emit(ir.OpLoadType, r, 0, 0, int32(f.g.typeIndex(t)))
}

// decoratedFunction generates the outer function of fn as function n. Function inner contains the
// code of fn.
func (g *generator) decoratedFunction(n, inner int, fn *sema.Function) {
	s := g.signatureOf(fn)
	ds := fn.Decorations
	g.build(n, func(bool) *builder {
		at := fn.Decl.Span().Start
		f := g.newFn(fn.Info, "__"+fn.Name, at, s)
		base := f.top
		for i, c := range s.params {
			r := f.alloc()
			f.move(r, ir.Full, val{reg: 1 + i, class: c})
			f.emit(ir.OpShare, r, 0, 0, 0)
		}
		x := decoratorRegs{call: f.alloc(), shown: f.argumentMap(ds, fn, base), key: f.nilValue(-1).reg}
		f.closureOver(x.call, base, len(s.params), g.innerCall(fn.Info, fn.Name, at, inner, s))
		for i := len(ds) - 1; i > 0; i-- {
			x.call = f.wrapCall(fn.Name, ds[i], x)
		}
		f.leave = leave{kind: leaveFunction, result: fn.Result}
		f.returnValue(val{reg: f.decorate(fn.Name, ds[0], x), class: ir.Full, owned: true}, fn.Result)
		return f.finishFunction()
	})
}

// innerCall returns the index of a closure's function. The function calls function n, which has the
// signature s, with the captured values as arguments.
func (g *generator) innerCall(info *sema.Info, name string, at source.Pos, n int, s signature) int {
	return g.capturing(info, name, at, len(s.params), func(f *builder) int {
		w := f.alloc()
		for k, c := range s.params {
			r := f.loadCaptured(k)
			f.emit(ir.OpShare, r, 0, 0, 0)
			f.move(r, c, val{reg: r, class: ir.Full})
		}
		f.emit(ir.OpCall, w, 0, 0, int32(n))
		return f.boxed(f.result(w, s.result), -1).reg
	})
}

// argumentMap creates a map from parameter names to arguments, for decorators that show the
// arguments. The arguments are in the registers from base on. The map does not contain the receiver
// of a tool's function. If no decorator needs the map, the result is nil.
func (f *builder) argumentMap(ds []*sema.Decoration, fn *sema.Function, base int) int {
	needed := false
	for _, d := range ds {
		needed = needed || d.Shows()
	}
	m := f.alloc()
	if !needed {
		f.emit(ir.OpLoadNil, m, 0, 0, 0)
		return m
	}
	first, n := f.top, 0
	for i, p := range fn.Params {
		if fn.Tool != nil && i == 0 {
			continue
		}
		f.stringValue(p.Name, f.alloc())
		f.emit(ir.OpMove, f.alloc(), base+i, 0, 0)
		n++
	}
	f.emit(ir.OpNewMap, m, first, n, 0)
	f.emit(ir.OpShare, m, 0, 0, 0)
	f.free(first)
	return m
}

// decoratedStage generates the call of a decorated stage, and returns the stage's value. The
// stage's body becomes a closure whose parameters are those of the stage.
func (f *builder) decoratedStage(x *pipe, s, before *sema.Stage) val {
	in := f.top
	for i, q := range s.Params {
		r := f.alloc()
		v, from := f.stageInput(x, before, s, i)
		f.markShared(v, from)
		f.move(r, ir.Full, f.boxed(f.convert(v, from, q.Type, -1), -1))
		f.emit(ir.OpShare, r, 0, 0, 0)
		f.free(r + 1)
	}
	body := f.alloc()
	f.stageClosure(body, s)
	call, shown := f.alloc(), f.alloc()
	first := f.top
	for i, q := range s.Params {
		f.stringValue(q.Name, f.alloc())
		f.emit(ir.OpMove, f.alloc(), in+i, 0, 0)
	}
	f.emit(ir.OpNewMap, shown, first, len(s.Params), 0)
	f.emit(ir.OpShare, shown, 0, 0, 0)
	f.free(first)
	f.closureOver(call, in, len(s.Params)+1, f.g.stageCall(f.info, f.out.Name, f.pos, len(s.Params)))
	a := decoratorRegs{call: call, shown: shown, key: f.stageKey(s, in)}
	name := x.p.Name + "." + s.Name
	for i := len(s.Decorations) - 1; i > 0; i-- {
		a.call = f.wrapCall(name, s.Decorations[i], a)
	}
	return val{reg: f.decorate(name, s.Decorations[0], a), class: ir.Full, owned: true}
}

// stageKey creates the key that identifies a run of a stage. It is a tuple of the stage's inputs,
// which are in the registers from in on, and of the surrounding variables that the stage uses.
func (f *builder) stageKey(s *sema.Stage, in int) int {
	d := f.alloc()
	base := f.top
	for i := range s.Params {
		f.emit(ir.OpMove, f.alloc(), in+i, 0, 0)
	}
	for _, l := range s.Body.Captures {
		r := f.alloc()
		x := f.load(f.variable(l), l.Type, r)
		f.markShared(x, l.Type)
		f.move(r, ir.Full, x)
		f.free(r + 1)
	}
	f.emit(ir.OpNewTuple, d, base, f.top-base, 0)
	f.emit(ir.OpShare, d, 0, 0, 0)
	f.free(base)
	return d
}

// stageCall returns the index of a closure's function with n+1 captured values. The function calls
// the last captured value, which is a closure, with the other n values as arguments.
func (g *generator) stageCall(info *sema.Info, name string, at source.Pos, n int) int {
	return g.capturing(info, name, at, n+1, func(f *builder) int {
		w := f.loadCaptured(n)
		for k := range n {
			f.emit(ir.OpShare, f.loadCaptured(k), 0, 0, 0)
		}
		f.emit(ir.OpCallClosure, w, n, 0, 0)
		return w
	})
}

// stageClosure creates the closure of a stage's body in register d. The closure captures the values
// that the surrounding variables have when the stage starts.
func (f *builder) stageClosure(d int, s *sema.Stage) {
	base := f.capture(s.Body.Captures)
	g, n, info, name, pos := f.g, f.g.reserve(), f.info, f.out.Name, f.pos
	g.enqueue(func() { g.stageCode(n, info, name, pos, s) })
	f.closureOver(d, base, len(s.Body.Captures), n)
	f.free(base)
}

// stageCode generates the body of a decorated stage as function n, whose parameters are those of
// the stage.
func (g *generator) stageCode(n int, info *sema.Info, name string, at source.Pos, s *sema.Stage) {
	g.build(n, func(spilled bool) *builder {
		f := g.newFn(info, name, at, signature{params: allFull(len(s.Params)), result: ir.Full, abi: ir.FullABI})
		f.out.Captures = len(s.Body.Captures)
		for i, l := range s.Body.Captures {
			f.takeCapture(l, i)
		}
		f.startSpill(spilled)
		for i, q := range s.Params {
			f.param(q.Local, 1+i, ir.Full)
		}
		if s.Decl.IsBinding() {
			f.leave = leave{kind: leaveFunction, result: types.Any}
			f.returnValue(f.boxed(f.lastUse(s.Decl.Value, -1), -1), types.Any)
			return f.finishFunction()
		}
		f.leave = leave{kind: leaveFunction, result: stageResult(f, s)}
		f.body(s.Decl.Body, f.leave.result)
		return f.finishFunction()
	})
}
