package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

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

// group generates the elements of an expression, whose types to gives, and the
// operation that runs them.
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
