package codegen

import (
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// Decorators. The code of a decorated function is a separate function, inner. Callers call an outer
// function: it passes a closure that calls inner to the decorators, each of which is a library
// function around the next (stdlib/decorate.conc). Agents and hosts refer to a function that wraps
// a call in their decorators, which the library calls.

// decorators returns a function with the ABI full that runs its first parameter, call, inside the
// decorators; shown and key describe the call to them. If onUnknown is set, the call is in a
// function with that policy.
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

// decoratorRegs are the registers of the decorators' arguments.
type decoratorRegs struct{ call, shown, key int }

// policyClosure creates a closure that makes the call in a function with the policy onUnknown.
func (f *builder) policyClosure(name, onUnknown string, call int) int {
	g, n, info, pos := f.g, f.g.reserve(), f.info, f.pos
	g.enqueue(func() {
		g.build(n, func(bool) *builder {
			b := g.newFn(info, "__"+name, pos, signature{result: ir.Full, abi: ir.FullABI})
			b.out.Captures, b.out.OnUnknown = 1, onUnknown
			b.emit(ir.OpReturn, b.callClosure(b.loadCaptured(0)), 0, 0, 0)
			return b.finishFunction()
		})
	})
	c := f.alloc()
	base := f.top
	f.emit(ir.OpMove, f.alloc(), call, 0, 0)
	f.emit(ir.OpNewClosure, c, base, 1, int32(n))
	f.free(base)
	return c
}

// callClosure calls the closure in a register, and returns the register of its result.
func (f *builder) callClosure(closure int) int {
	w := f.alloc()
	f.emit(ir.OpMove, w, closure, 0, 0)
	f.emit(ir.OpCallClosure, w, 0, 0, 0)
	return w
}

// callDecorated makes the call inside all decorators, and returns their result.
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

// wrapCall creates a closure that makes the call inside one decorator.
func (f *builder) wrapCall(name string, d *sema.Decoration, x decoratorRegs) int {
	g, n, info, pos := f.g, f.g.reserve(), f.info, f.pos
	g.enqueue(func() {
		g.build(n, func(bool) *builder {
			b := g.newFn(info, "__"+name, pos, signature{result: ir.Full, abi: ir.FullABI})
			b.out.Captures = 3
			in := decoratorRegs{call: b.loadCaptured(0), shown: b.loadCaptured(1), key: b.loadCaptured(2)}
			b.emit(ir.OpReturn, b.decorate(name, d, in), 0, 0, 0)
			return b.finishFunction()
		})
	})
	c := f.alloc()
	base := f.top
	for _, r := range []int{x.call, x.shown, x.key} {
		f.emit(ir.OpMove, f.alloc(), r, 0, 0)
	}
	f.emit(ir.OpNewClosure, c, base, 3, int32(n))
	f.free(base)
	return c
}

// loadCaptured loads captured value i into a register.
func (f *builder) loadCaptured(i int) int {
	r := f.alloc()
	f.emit(ir.OpCaptured, r, i, 0, 0)
	return r
}

// decorate calls one decorator's function and returns the register of its result.
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
	if own := d.Fn.Params[sema.OwnParam:]; len(own) > len(d.Args) { // the type of the stored values
		f.loadTypeOrNil(d.CachedType, f.alloc())
	}
	return f.boxed(f.invoke(d.Fn, w), -1).reg
}

// loadTypeOrNil loads a type into register r, or nil.
func (f *builder) loadTypeOrNil(t types.Type, r int) {
	if t == nil {
		f.emit(ir.OpLoadNil, r, 0, 0, 0)
		return
	}
	f.emit(ir.OpLoadType, r, 0, 0, int32(f.g.typeIndex(t)))
}

// decoratedFunction generates the function that callers of a decorated function call. The decorated
// function's own code is function inner.
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

// innerCall returns the function of a closure that calls function n, with signature s, with the
// captured values.
func (g *generator) innerCall(info *sema.Info, name string, at source.Pos, n int, s signature) int {
	i := g.reserve()
	g.enqueue(func() {
		g.build(i, func(bool) *builder {
			f := g.newFn(info, "__"+name, at, signature{result: ir.Full, abi: ir.FullABI})
			f.out.Captures = len(s.params)
			w := f.alloc()
			for k, c := range s.params {
				r := f.loadCaptured(k)
				f.emit(ir.OpShare, r, 0, 0, 0)
				f.move(r, c, val{reg: r, class: ir.Full})
			}
			f.emit(ir.OpCall, w, 0, 0, int32(n))
			f.emit(ir.OpReturn, f.boxed(f.result(w, s.result), -1).reg, 0, 0, 0)
			return f.finishFunction()
		})
	})
	return i
}

// argumentMap creates a map of a function's arguments by name, for the decorators that use them.
// The arguments are in the registers from base on. The receiver of a tool's function is omitted.
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

// decoratedStage returns the value of a decorated stage. The stage's body is a closure that has the
// stage's parameters.
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

// stageKey creates the key that distinguishes runs of a stage: its inputs, from register in on, and
// the surrounding variables that it uses.
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

// stageCall returns the function of a closure that calls the last captured value with the n
// captured before it.
func (g *generator) stageCall(info *sema.Info, name string, at source.Pos, n int) int {
	i := g.reserve()
	g.enqueue(func() {
		g.build(i, func(bool) *builder {
			f := g.newFn(info, "__"+name, at, signature{result: ir.Full, abi: ir.FullABI})
			f.out.Captures = n + 1
			w := f.loadCaptured(n)
			for k := range n {
				f.emit(ir.OpShare, f.loadCaptured(k), 0, 0, 0)
			}
			f.emit(ir.OpCallClosure, w, n, 0, 0)
			f.emit(ir.OpReturn, w, 0, 0, 0)
			return f.finishFunction()
		})
	})
	return i
}

// stageClosure creates the closure of a stage's body. It captures the values that the surrounding
// variables have when the stage starts.
func (f *builder) stageClosure(d int, s *sema.Stage) {
	base := f.capture(s.Body.Captures)
	g, n, info, name, pos := f.g, f.g.reserve(), f.info, f.out.Name, f.pos
	g.enqueue(func() { g.stageCode(n, info, name, pos, s) })
	f.closureOver(d, base, len(s.Body.Captures), n)
	f.free(base)
}

// stageCode generates a decorated stage's body as a function of its parameters.
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
