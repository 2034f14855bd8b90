package codegen

import (
	"fmt"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// closure creates a closure value. The closure captures copies of the immutable variables that it
// uses, and the cells of the mutable variables.
func (f *builder) closure(e *ast.Closure, hint int) val {
	if f.dead { // the closure is unreachable
		return val{reg: f.target(hint), class: ir.Full, owned: true}
	}
	c := f.info.Closure(e)
	base := f.capture(c.Captures)
	n := f.g.reserve()
	info, name := f.info, f.closureName()
	f.g.enqueue(func() { f.g.closureCode(n, info, name, e, c) })
	d := f.target(hint)
	f.closureOver(d, base, len(c.Captures), n)
	return val{reg: d, class: ir.Full, owned: true}
}

// capture copies the captures of a closure to the next registers, and returns the first of these
// registers. An immutable variable is captured as its value, a mutable variable as its cell.
func (f *builder) capture(captures []*sema.Local) (base int) {
	base = f.top
	for _, l := range captures {
		r, v := f.alloc(), f.variable(l)
		if v.cell {
			f.emit(ir.OpMove, r, f.cellOf(v), 0, 0)
		} else {
			x := f.load(v, l.Type, r)
			f.markShared(x, l.Type)
			f.move(r, ir.Full, x)
		}
		f.free(r + 1)
	}
	return base
}

// closureOver creates a closure of function n in register d. The captured values are in count
// registers from base on.
func (f *builder) closureOver(d, base, count, n int) {
	if count == 0 {
		f.emit(ir.OpLoadFunction, d, 0, 0, int32(n))
		return
	}
	f.emit(ir.OpNewClosure, d, base, count, int32(n))
}

// closureName returns a numbered name for a closure. The name appears in traces.
func (f *builder) closureName() string {
	f.inner.closures++
	return fmt.Sprintf("%s closure %d", f.out.Name, f.inner.closures)
}

// closureCode generates the code of a closure as function n.
func (g *generator) closureCode(n int, info *sema.Info, name string, e *ast.Closure, c *sema.Closure) {
	s := signature{params: allFull(len(e.Params)), result: ir.Full, abi: ir.FullABI}
	g.build(n, func(spilled bool) *builder {
		f := g.newFn(info, name, e.Span().Start, s)
		f.out.Captures = len(c.Captures)
		for i, l := range c.Captures {
			r := f.alloc()
			f.emit(ir.OpCaptured, r, i, 0, 0)
			f.isVar[r] = true
			v := &variable{reg: r, class: ir.Full, cell: l.Cell, captured: true}
			f.putVariable(l, v)
			f.hasValue(v)
		}
		f.startSpill(spilled)
		if g.p.CallsUntyped && !info.Library {
			for i, t := range c.Type.Params {
				f.checkParam(1+i, t)
			}
		}
		for i, l := range c.Params {
			f.param(l, 1+i, ir.Full)
		}
		for i, p := range e.Params {
			if c.Params[i] == nil && p.Pattern != nil {
				f.declarePattern(p.Pattern)
				f.bindPattern(p.Pattern, val{reg: 1 + i, class: ir.Full}, c.Type.Params[i])
			}
		}
		f.leave = leave{kind: leaveFunction, result: c.Type.Result}
		if b, ok := e.Body.(*ast.BlockExpr); ok && info.Conv(b) == nil {
			f.body(b.Block, c.Type.Result)
		} else if types.Resolve(c.Type.Result) == types.Nil {
			f.discard(e.Body)
			f.returnNil()
		} else {
			f.returnValue(f.lastUse(e.Body, -1), c.Type.Result)
		}
		return f.finishFunction()
	})
}

// checkParam checks at run time that the value in register r has type t.
func (f *builder) checkParam(r int, t types.Type) {
	if t = types.Resolve(t); reliesOnTypes(t) {
		f.move(r, ir.Full, f.boxed(f.fromAny(val{reg: r, class: ir.Full}, t, r), r))
	}
}

// reliesOnTypes reports whether code uses values of type t without checking their types.
func reliesOnTypes(t types.Type) bool {
	_, erased := t.(*types.Param)
	return !erased && !types.IsAny(t)
}

// adapter returns the index of a function with the full ABI that has the behaviour of fn. Code that
// uses fn as a value refers to this function. It is fn itself if fn has the full ABI and needs no
// checks.
func (g *generator) adapter(fn *sema.Function) int {
	if g.p.CallsUntyped && !fn.Info.Library && g.reliesOnArguments(fn) {
		return g.partAdapter(part{fn: fn, params: len(fn.Params), mutself: fn.MutSelf, checked: true})
	}
	own, generated := g.numbers.functions[fn]
	if generated && g.signatureOf(fn).abi == ir.FullABI && !fn.Async {
		return own
	}
	if n, ok := g.adapters[fn]; ok {
		return n
	}
	n := g.reserve()
	g.adapters[fn] = n
	g.enqueue(func() { g.adapt(n, part{fn: fn, params: len(fn.Params), mutself: fn.MutSelf}) })
	return n
}

// part identifies an adapter that accepts only the first params parameters of fn. If mutself is
// set, the adapter returns its receiver as a mutating method does. If checked is set, the adapter
// accepts arguments of any type, and checks their types except that of the receiver.
type part struct {
	fn      *sema.Function
	params  int
	mutself bool
	checked bool
}

// partAdapter returns the index of the adapter that key identifies. The adapter uses the defaults
// of the parameters that it does not accept.
func (g *generator) partAdapter(key part) int {
	if i, ok := g.adapters[key]; ok {
		return i
	}
	i := g.reserve()
	g.adapters[key] = i
	g.enqueue(func() { g.adapt(i, key) })
	return i
}

// adapt generates the adapter p as function i. The adapter calls p.fn with its own arguments and
// the defaults of the other parameters. If fn is a mutating method, the adapter returns the
// receiver, also after an error.
func (g *generator) adapt(i int, p part) {
	fn, count := p.fn, p.params
	s := signature{result: ir.Full, abi: ir.FullABI}
	for range count {
		s.params = append(s.params, ir.Full)
	}
	g.build(i, func(bool) *builder {
		f := g.newFn(fn.Info, fn.Name, fn.Decl.Span().Start, s)
		f.out.MutSelf = p.mutself
		failed := f.alloc()
		w := f.alloc()
		classes := g.windowClasses(fn)
		for k := range fn.Params {
			r := f.alloc()
			if k < count {
				v := val{reg: 1 + k, class: ir.Full}
				if t := types.Resolve(fn.Params[k].Type); p.checked && (k > 0 || fn.Recv == nil) && reliesOnTypes(t) {
					v = f.fromAny(v, t, r)
				}
				f.move(r, classes[k], v)
			} else {
				f.defaultArgument(fn.Params[k], fn.Info, fn.Name, r, classes[k])
			}
		}
		from := f.next()
		v := f.invoke(fn, w)
		to := f.next()
		if fn.MutSelf {
			f.emit(ir.OpMove, 1, w+1, 0, 0)
		}
		f.emit(ir.OpReturn, f.boxed(v, -1).reg, 0, 0, 0)
		if fn.MutSelf && fn.Native == "" && f.catchRegion(from, to, failed) {
			f.emit(ir.OpMove, 1, w+1, 0, 0)
			f.emit(ir.OpRethrow, failed, 0, 0, 0)
		}
		return f.finishFunction()
	})
}
