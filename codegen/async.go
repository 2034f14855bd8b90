package codegen

import (
	"fmt"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// A call of an async function spawns a task that runs the function's code. The code receives and
// returns Full registers. `await (…)`, `race (…)` and `parallel for` run body functions. A body is
// a closure that captures copies of the surrounding variables when the body starts.

// await generates `await x`. If x cannot be a task, the result is x.
func (f *builder) await(e *ast.Await, hint int) val {
	return f.awaited(f.value(e.X, hint), f.resultType(e.X), hint)
}

// awaited generates code that awaits v, a value of type t, and returns the result.
func (f *builder) awaited(v val, t types.Type, hint int) val {
	switch x := types.Loose(t).(type) {
	case *types.Task:
	case *types.Basic:
		if x != types.Any {
			return v
		}
	case *types.Param:
	default:
		return v
	}
	v = f.boxed(v, -1)
	d := f.target(hint)
	f.emit(ir.OpAwait, d, v.reg, 0, 0)
	return val{reg: d, class: ir.Full, owned: true}
}

// joined unwraps the result of an operation that runs bodies. The result is in register d. It is an
// Ok, or an error that left a body, together with the number of the site where it left. joined
// generates code that raises such an error again at the current position.
func (f *builder) joined(d int, c *sema.Concurrent) {
	if len(c.Leaves) == 0 {
		f.emit(ir.OpField, d, d, 0, 0)
		return
	}
	good := &label{}
	f.jump(ir.OpJumpVariant, d, 0, good)
	top := f.top
	pair, site, err := f.alloc(), f.alloc(), f.alloc()
	f.emit(ir.OpField, pair, d, 0, 0)
	if len(c.Leaves) > 1 {
		f.emit(ir.OpFieldInt, site, pair, 0, 0)
	}
	f.emit(ir.OpField, err, pair, 1, 0)
	inner := f.top
	for i, l := range c.Leaves {
		next := &label{}
		if i < len(c.Leaves)-1 {
			f.jumpK(ir.OpJumpNeIntK, site, int16(i), next)
		}
		if l.Option {
			f.leaveNone(l)
		} else {
			f.leaveBy(l, val{reg: err, class: ir.Full, owned: true}, noErr)
		}
		f.free(inner)
		f.bindLabel(next)
	}
	f.free(top)
	f.bindLabel(good)
	f.emit(ir.OpField, d, d, 0, 0)
}

// bodyClosure creates the closure of a body in register d. The closure captures the values and
// cells of captures. gen generates the body's code.
func (f *builder) bodyClosure(d int, captures []*sema.Local, params int, gen func(*builder)) {
	base := f.capture(captures)
	g, n, info, name, pos := f.g, f.g.reserve(), f.info, f.taskName(), f.pos
	g.enqueue(func() {
		s := signature{params: allFull(params), result: ir.Full, abi: ir.FullABI}
		g.build(n, func(spilled bool) *builder {
			b := g.newFn(info, name, pos, s)
			b.out.Body, b.out.Captures = true, len(captures)
			for i, l := range captures {
				b.takeCapture(l, i)
			}
			b.startSpill(spilled)
			b.leave = leave{kind: leaveFunction, result: types.Any}
			gen(b)
			return b.finishFunction()
		})
	})
	f.closureOver(d, base, len(captures), n)
	f.free(base)
}

// taskName returns a numbered name for a body. The name appears in traces.
func (f *builder) taskName() string {
	f.inner.bodies++
	return fmt.Sprintf("%s task %d", f.out.Name, f.inner.bodies)
}

// takeCapture adds a copy of captured variable i to a body. The copy has the variable's value at
// the start of the body. Closures inside the body share this copy.
func (f *builder) takeCapture(l *sema.Local, i int) {
	r := f.alloc()
	f.isVar[r] = true
	f.emit(ir.OpCaptured, r, i, 0, 0)
	if l.Cell {
		f.emit(ir.OpCellGet, r, r, 0, 0)
		f.emit(ir.OpShare, r, 0, 0, 0)
		f.emit(ir.OpNewCell, r, r, 0, 0)
	}
	v := &variable{reg: r, class: ir.Full, cell: l.Cell, captured: true}
	f.putVariable(l, v)
	f.hasValue(v)
}

// element generates an element of `await (…)` or `race (…)` into register d: a value to await, or
// the closure of a body. to is the type of the element's result.
func (f *builder) element(b *sema.Body, d int, to types.Type) {
	if b.Plain && sameValue(awaitedType(b.Result), to) {
		f.into(b.X, d, ir.Full, true)
		return
	}
	if b.Plain {
		f.convertedTask(b, d, to)
		return
	}
	f.bodyClosure(d, b.Captures, 0, func(f *builder) {
		f.returnAwaited(f.lastUse(b.X, -1), f.resultType(b.X), to)
	})
}

// convertedTask generates a body that awaits the task in register d and converts its value to the
// type to.
func (f *builder) convertedTask(b *sema.Body, d int, to types.Type) {
	f.into(b.X, d, ir.Full, true)
	g, n, info, name, pos := f.g, f.g.reserve(), f.info, f.taskName(), f.pos
	t := f.resultType(b.X)
	g.enqueue(func() {
		g.build(n, func(bool) *builder {
			b := g.newFn(info, name, pos, signature{result: ir.Full, abi: ir.FullABI})
			b.out.Body, b.out.Captures = true, 1
			r := b.alloc()
			b.emit(ir.OpCaptured, r, 0, 0, 0)
			b.leave = leave{kind: leaveFunction, result: types.Any}
			b.returnAwaited(val{reg: r, class: ir.Full, owned: true}, t, to)
			return b.finishFunction()
		})
	})
	f.emit(ir.OpNewClosure, d, d, 1, int32(n))
}

// returnAwaited ends a body: it awaits v and returns the result, converted from type t to type to.
func (f *builder) returnAwaited(v val, t, to types.Type) {
	v = f.awaited(v, t, -1)
	v = f.boxed(f.convert(v, awaitedType(t), to, -1), -1)
	f.emit(ir.OpReturn, v.reg, 0, 0, 0)
}

// awaitedType returns the type of the result of awaiting a value of type t.
func awaitedType(t types.Type) types.Type {
	if task, ok := types.Resolve(t).(*types.Task); ok {
		return types.Resolve(task.Elem)
	}
	return types.Resolve(t)
}

// sameValue reports whether a value of one type has the same representation in the other.
func sameValue(from, to types.Type) bool {
	_, convert := types.Conversion(from, to)
	return !convert
}
