package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// This file generates loops over pairs whose pattern destructures the pairs: `for (i, x) in
// xs.enumerate()`, `for (x, y) in xs.zip(ys)` and `for (k, v) in m`. The pairs are not created, so
// that a loop of a million iterations takes a sixth of the time.

// column contains the values of one part of the pairs: the elements of an array, or the values of
// the loop's counter.
type column struct {
	array int // register of the array; -1 for the counter
	elem  types.Type
}

var counted = column{-1, types.Int}

// forPairs generates a loop over pairs. It returns false, and generates nothing, if e is no such
// loop.
func (f *builder) forPairs(e *ast.ForExpr) bool {
	p, ok := e.Pattern.(*ast.TuplePat)
	if !ok || len(p.Elems) != 2 {
		return false
	}
	iter := unparen(f.info, e.Iter)
	if f.info.Conv(iter) != nil {
		return false
	}
	defer f.free(f.top)
	var columns [2]column
	var n int
	if _, ok := types.Resolve(f.resultType(iter)).(*types.Map); ok {
		columns, n = f.entries(iter, p)
	} else if columns, n, ok = f.pairsOf(e, iter, p); !ok {
		return false
	}
	f.rows(e, n, func(i int) {
		for k, c := range columns {
			f.fromColumn(p.Elems[k], c, i)
		}
	})
	return true
}

func (f *builder) fromColumn(p ast.Pattern, c column, i int) {
	if _, wild := p.(*ast.WildPat); wild {
		return
	}
	if c.array >= 0 {
		f.eachElement(p, c.array, i, c.elem)
		return
	}
	f.bindCounter(p, i)
}

// pairsOf returns the columns of a call that returns pairs, and the register that contains the
// number of rows.
func (f *builder) pairsOf(e *ast.ForExpr, iter ast.Expr, p *ast.TuplePat) (columns [2]column, n int, ok bool) {
	call, ok := iter.(*ast.MethodCall)
	if !ok {
		return columns, 0, false
	}
	c := f.info.Call(call)
	if c == nil || c.Fn == nil {
		return columns, 0, false
	}
	switch c.Fn.Native {
	case "Map.entries":
		columns, n = f.entries(call.Recv, p)
		return columns, n, true
	case "Array.enumerate":
		xs := f.column(call.Recv, e.Body)
		return [2]column{counted, xs}, f.arrayLength(xs.array), true
	case "Array.zip":
		other := call.Args[0].Value
		if _, simple := other.(*ast.PathExpr); !simple { // evaluating the argument could change the receiver
			return columns, 0, false
		}
		xs, ys := f.column(call.Recv, e.Body), f.column(other, e.Body)
		n, m := f.arrayLength(xs.array), f.arrayLength(ys.array)
		enough := &label{}
		f.jump(ir.OpJumpLeInt, n, m, enough)
		f.emit(ir.OpMoveInt, n, m, 0, 0)
		f.bindLabel(enough)
		return [2]column{xs, ys}, n, true
	}
	return columns, 0, false
}

// column returns the column for the array x, which the loop's body cannot change.
func (f *builder) column(x ast.Expr, body *ast.Block) column {
	xs := f.iteratedArray(x, body, f.alloc())
	f.isVar[xs] = true
	return column{xs, types.Resolve(f.resultType(x)).(*types.Array).Elem}
}

// entries returns the columns for the keys and values of a map. It does not read a column whose
// part of the pattern p is `_`.
func (f *builder) entries(x ast.Expr, p *ast.TuplePat) (columns [2]column, n int) {
	n = f.alloc()
	arrays := [2]int{f.alloc(), f.alloc()}
	m, t := f.value(x, -1), types.Resolve(f.resultType(x)).(*types.Map)
	f.emit(ir.OpMapLen, n, m.reg, 0, 0)
	for k, elem := range []types.Type{t.Key, t.Value} {
		if _, wild := p.Elems[k].(*ast.WildPat); !wild {
			f.readWhole([]string{"Map.keys", "Map.values"}[k], m, arrays[k])
		}
		columns[k] = column{arrays[k], elem}
	}
	f.free(arrays[1] + 1)
	return columns, n
}

// readWhole calls a native function with the argument v, and puts the result into register d.
func (f *builder) readWhole(native string, v val, d int) {
	w := f.alloc()
	f.emit(ir.OpMove, f.alloc(), v.reg, 0, 0)
	f.emit(ir.OpCallNative, w, 1, 0, f.g.native(native))
	f.emit(ir.OpMove, d, w, 0, 0)
	f.isVar[d] = true
	f.free(w)
}

// bindCounter binds a pattern to the loop's counter. The counter is the variable itself, unless the
// body may change the variable or hold it as a cell.
func (f *builder) bindCounter(p ast.Pattern, i int) {
	if name, ok := p.(*ast.NamePat); ok {
		if v, ok := f.info.Object(name).(*sema.Local); ok && !v.Cell && !v.Mut {
			x := &variable{reg: i, class: ir.Int}
			f.putVariable(v, x)
			f.hasValue(x)
			return
		}
	}
	f.bindLoop(p, val{reg: i, class: ir.Int}, types.Int)
}
