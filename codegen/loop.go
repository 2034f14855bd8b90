package codegen

import (
	"math"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// loop is an enclosing loop of the code that is being generated.
type loop struct {
	label   string
	out, on *label // targets of break and continue

	dst        int        // register of the loop's value, or -1 if the value is not used
	resultType types.Type // type of the loop's value

	source *sema.Source // source that produces the elements one by one, or nil
	from   int          // register of the source
}

func (f *builder) enterLoop(name *ast.Ident) *loop {
	l := &loop{out: &label{}, on: &label{}, dst: -1}
	if name != nil {
		l.label = name.Name
	}
	f.loops = append(f.loops, l)
	return l
}

func (f *builder) endLoop() { f.loops = f.loops[:len(f.loops)-1] }

// breakExpr generates `break` and `break x`.
func (f *builder) breakExpr(e *ast.BreakExpr) {
	i := f.loopNamed(e.Label)
	l := f.loops[i]
	switch {
	case l.dst < 0 && e.X != nil:
		f.discard(e.X)
	case l.dst >= 0 && e.X != nil:
		f.into(e.X, l.dst, class(l.resultType), true)
	case l.dst >= 0:
		f.emit(ir.OpLoadNil, l.dst, 0, 0, 0)
	}
	f.closeSources(i+1, nil)
	f.jump(ir.OpJump, 0, 0, l.out)
}

func (f *builder) continueExpr(e *ast.ContinueExpr) {
	i := f.loopNamed(e.Label)
	f.closeSources(i+1, nil)
	f.jump(ir.OpJump, 0, 0, f.loops[i].on)
}

// loopNamed returns the index of the enclosing loop that has the label name. If name is nil, it
// returns the index of the innermost loop.
func (f *builder) loopNamed(name *ast.Ident) int {
	for i := len(f.loops) - 1; i >= 0; i-- {
		if name == nil || f.loops[i].label == name.Name {
			return i
		}
	}
	panic("codegen: break or continue outside a loop")
}

// jumpBack emits a jump back to instruction pc.
func (f *builder) jumpBack(pc int) { f.emit(ir.OpLoop, 0, 0, 0, int32(pc)) }

func (f *builder) whileLoop(e *ast.WhileExpr) {
	l := f.enterLoop(e.Label)
	start := f.next()
	top := f.top
	f.scope = scope{nodes: []ast.Node{e.Body}}
	f.cond(e.Cond, l.out, false)
	f.block(e.Body)
	f.free(top)
	f.bindLabel(l.on)
	f.jumpBack(start)
	f.endLoop()
	f.bindLabel(l.out)
}

// loopValue generates a loop whose value is the value of its break.
func (f *builder) loopValue(e *ast.LoopExpr, hint int) val {
	t := f.info.TypeOf(e)
	if r := types.Resolve(t); r == types.Nil || r == types.Never {
		f.discard(e)
		return f.nilValue(hint)
	}
	d := f.scratch(hint)
	top := f.top
	f.endlessLoop(e, d, t)
	f.free(top)
	return val{reg: d, class: class(t), owned: true}
}

// endlessLoop generates a `loop`. dst is the register of the loop's value, which has type t, or -1
// if the value is not used.
func (f *builder) endlessLoop(e *ast.LoopExpr, dst int, t types.Type) {
	l := f.enterLoop(e.Label)
	l.dst, l.resultType = dst, t
	start := f.next()
	f.block(e.Body)
	f.bindLabel(l.on)
	f.jumpBack(start)
	f.endLoop()
	f.bindLabel(l.out)
}

func (f *builder) forLoop(e *ast.ForExpr) {
	if r, ok := unparen(f.info, e.Iter).(*ast.RangeExpr); ok && f.info.Conv(r) == nil {
		f.forInts(e, func() (lo, hi int, last bool) { return f.rangeEnds(r) })
		return
	}
	t := types.Resolve(f.resultType(e.Iter))
	if t == types.Range {
		f.forInts(e, func() (lo, hi int, last bool) {
			r := f.operand(e.Iter)
			lo, hi = f.alloc(), f.alloc()
			f.emit(ir.OpRangeLo, lo, r.reg, 0, 0)
			f.emit(ir.OpRangeLast, hi, r.reg, 0, 0)
			return lo, hi, true
		})
		return
	}
	if s := f.info.Source(e.Iter); s != nil {
		f.forSource(e, s)
		return
	}
	if !f.forPairs(e) {
		f.forElements(e, t)
	}
}

// rangeEnds puts the first Int of the range into register lo, and the Int after the last one into
// register hi. If last is true, hi contains the last Int itself, because the greatest Int has no
// successor.
func (f *builder) rangeEnds(r *ast.RangeExpr) (lo, hi int, last bool) {
	lo, hi = f.alloc(), f.alloc()
	f.into(r.Lo, lo, ir.Int, true)
	if n, ok := f.constantInt(r.Hi); ok && (!r.Inclusive || n < math.MaxInt64) {
		if r.Inclusive {
			n++
		}
		f.intValue(n, hi)
		return lo, hi, false
	}
	f.into(r.Hi, hi, ir.Int, true)
	return lo, hi, r.Inclusive
}

// forInts generates a loop over a range. The counter is the loop's variable itself, unless the body
// may change the variable or hold it as a cell.
func (f *builder) forInts(e *ast.ForExpr, ends func() (lo, hi int, last bool)) {
	defer f.free(f.top)
	i, hi, last := ends()
	skip, step := ir.OpJumpLeInt, ir.OpForInt
	if last {
		skip, step = ir.OpJumpLtInt, ir.OpForIntTo
	}
	f.countRounds(e, i, hi, skip, step, func() { f.bindCounter(e.Pattern, i) })
}

// countRounds runs the loop's body with the counter in register i, up to the end in register hi.
// bind binds the loop's pattern to the counter.
func (f *builder) countRounds(e *ast.ForExpr, i, hi int, skip, step ir.Op, bind func()) {
	f.isVar[i], f.isVar[hi] = true, true
	l := f.enterLoop(e.Label)
	f.jump(skip, hi, i, l.out)
	start := f.next()
	top := f.top
	bind()
	f.block(e.Body)
	f.free(top)
	f.bindLabel(l.on)
	f.emit(step, i, hi, 0, int32(start))
	f.endLoop()
	f.bindLabel(l.out)
}

// rows runs the loop's body for each of the rows 0 to n-1, where register n contains the number of
// rows. bind binds the loop's pattern to row i.
func (f *builder) rows(e *ast.ForExpr, n int, bind func(i int)) {
	i := f.alloc()
	f.emit(ir.OpLoadInt, i, 0, 0, 0)
	f.countRounds(e, i, n, ir.OpJumpLeInt, ir.OpForInt, func() { bind(i) })
}

// bindLoop binds the pattern of a loop to the value of one iteration.
func (f *builder) bindLoop(p ast.Pattern, v val, t types.Type) {
	f.declarePattern(p)
	f.bindPattern(p, v, t)
}

// forElements generates a loop over the elements of an array, or over a snapshot of another
// collection.
func (f *builder) forElements(e *ast.ForExpr, t types.Type) {
	defer f.free(f.top)
	elem := types.Type(types.Any)
	xs := f.alloc()
	switch t := t.(type) {
	case *types.Array:
		elem = t.Elem
		xs = f.iteratedArray(e.Iter, e.Body, xs)
	case *types.Map:
		elem = &types.Tuple{Elems: []types.Type{t.Key, t.Value}}
		f.emit(ir.OpIterate, xs, f.value(e.Iter, -1).reg, 0, 0)
	case *types.HashMap:
		elem = &types.Tuple{Elems: []types.Type{t.Key, t.Value}}
		f.emit(ir.OpIterate, xs, f.value(e.Iter, -1).reg, 0, 0)
	case *types.Named:
		elem = f.info.PatternType(e.Pattern)
		f.collectionArray(e.Iter, f.info.Iterator(e.Iter), xs)
	default:
		f.emit(ir.OpIterate, xs, f.boxed(f.value(e.Iter, -1), -1).reg, 0, 0)
	}
	f.isVar[xs] = true
	f.rows(e, f.arrayLength(xs), func(i int) { f.eachElement(e.Pattern, xs, i, elem) })
}

// arrayLength returns a register that contains the length of the array in register xs.
func (f *builder) arrayLength(xs int) (n int) {
	n = f.alloc()
	f.emit(ir.OpArrayLen, n, xs, 0, 0)
	return n
}

// collectionArray calls a method of the collection x that returns an array, and puts the array into
// register xs.
func (f *builder) collectionArray(x ast.Expr, method *sema.Function, xs int) {
	params := f.g.windowClasses(method)
	w := f.alloc()
	f.into(x, f.alloc(), params[0], true)
	v := f.invoke(method, w)
	f.move(xs, ir.Full, v)
	f.free(xs + 1)
}

// eachElement binds the pattern of a loop to element i of the array in register xs. The element is
// borrowed, because nothing changes this array in place during the loop.
func (f *builder) eachElement(p ast.Pattern, xs, i int, elem types.Type) {
	c := class(elem)
	f.declarePattern(p)
	top := f.top
	d := f.alloc()
	if name, ok := p.(*ast.NamePat); ok {
		if l, ok := f.info.Object(name).(*sema.Local); ok {
			if v := f.vars[l]; !v.spill && !v.cell && v.class == c && !l.Lost {
				f.emit(arrayGets[c], v.reg, xs, i, 0)
				f.hasValue(v)
				v.borrowed = true
				f.free(top)
				return
			}
		}
	}
	f.emit(arrayGets[c], d, xs, i, 0)
	f.bindPattern(p, val{reg: d, class: c, borrowed: true}, elem)
	f.free(top)
}

// iteratedArray returns a register that contains the array over which a loop iterates. If the array
// is in a variable that the body does not change, the loop borrows it.
func (f *builder) iteratedArray(x ast.Expr, body *ast.Block, xs int) int {
	v := f.value(x, xs)
	if !v.owned {
		t := &touch{}
		f.touchInto(t, body)
		root := f.rootOf(x)
		if f.isVar[v.reg] && root != nil && !t.changes(root) && !f.vars[root].cell {
			return v.reg
		}
		f.markShared(v, f.resultType(x))
	}
	f.move(xs, ir.Full, v)
	return xs
}
