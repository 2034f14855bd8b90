package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// parallelFor generates `parallel for p in xs { }`. Its window contains the elements, the body and
// the limit.
func (f *builder) parallelFor(e *ast.ParallelFor, hint int) val {
	c := f.info.Concurrent(e)
	d := f.scratch(hint)
	top := f.top
	items, body, limit := f.alloc(), f.alloc(), f.alloc()
	f.isVar[items], f.isVar[limit] = true, true
	if e.Limit != nil {
		f.into(e.Limit, limit, ir.Full, true)
	} else {
		f.emit(ir.OpLoadNil, limit, 0, 0, 0)
	}
	elem := f.elements(e, items)
	b := c.Bodies[0]
	f.bodyClosure(body, b.Captures, 1, func(f *builder) { f.round(e, b, elem) })
	f.emit(ir.OpParallelFor, d, items, 0, 0)
	f.free(top)
	f.joined(d, c)
	return val{reg: d, class: ir.Full, owned: true}
}

// elements puts an array of the loop's elements into register r, and returns the type of an
// element.
func (f *builder) elements(e *ast.ParallelFor, r int) types.Type {
	defer f.free(f.top)
	switch t := types.Resolve(f.resultType(e.Iter)).(type) {
	case *types.Array:
		f.into(e.Iter, r, ir.Full, true)
		return t.Elem
	case *types.Named:
		f.collectionArray(e.Iter, f.info.Iterator(e.Iter), r)
	default:
		f.emit(ir.OpIterate, r, f.boxed(f.value(e.Iter, -1), -1).reg, 0, 0)
	}
	return f.info.PatternType(e.Pattern)
}

// round generates the body as a function of one element.
func (f *builder) round(e *ast.ParallelFor, b *sema.Body, elem types.Type) {
	f.bindLoop(e.Pattern, val{reg: 1, class: ir.Full}, elem)
	t := types.Resolve(b.Result)
	if t == types.Nil {
		f.block(b.Block)
		f.emit(ir.OpReturnNil, 0, 0, 0, 0)
		return
	}
	f.returnAwaited(f.blockValue(b.Block, t, -1, true), t, awaitedType(t))
}

// awaitAll generates `await (a, b)`.
func (f *builder) awaitAll(e *ast.AwaitAll, hint int) val {
	c := f.info.Concurrent(e)
	elems := types.Resolve(f.info.TypeOf(e)).(*types.Tuple).Elems
	return f.group(ir.OpJoinAll, c, hint, func(i int) types.Type { return elems[i] })
}

// race generates `race (a, b)`.
func (f *builder) race(e *ast.Race, hint int) val {
	t := f.info.TypeOf(e)
	return f.group(ir.OpRace, f.info.Concurrent(e), hint, func(int) types.Type { return t })
}

// group generates the elements of `await (…)` or `race (…)`, and the instruction op that runs them.
// to returns the result type of element i.
func (f *builder) group(op ir.Op, c *sema.Concurrent, hint int, to func(i int) types.Type) val {
	d := f.scratch(hint)
	top := f.top
	for i, b := range c.Bodies {
		r := f.alloc()
		f.element(b, r, to(i))
		f.free(r + 1)
	}
	f.emit(op, d, top, len(c.Bodies), 0)
	f.free(top)
	f.joined(d, c)
	return val{reg: d, class: ir.Full, owned: true}
}
