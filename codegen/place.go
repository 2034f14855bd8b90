package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// place is an expression that can be assigned or mutated: a variable and a path of steps to a part
// of its value. The indices in the path are evaluated once. The path itself is followed again for
// each read and each write, immediately before the access, so that no other code runs in between.
type place struct {
	v     *variable
	root  types.Type
	steps []step
}

// step is one step of a place's path.
type step struct {
	kind stepKind
	n    int        // index of the slot, or register of the index
	name int32      // constant with the name of a field of an Any
	elem types.Type // type of the value after this step
}

type stepKind uint8

const (
	stepField stepKind = iota // slot n of a block
	stepElem                  // element of an array; register n contains the index
	stepKey                   // value of a map; register n contains the key
	stepAnyField
	stepAnyIndex // index of an Any; register n contains the boxed index
)

// placeOf evaluates the indices of e. It copies them if the expressions in later could change them.
func (f *builder) placeOf(e ast.Expr, later ...ast.Expr) place {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return f.placeOf(x.X, later...)
	case *ast.PathExpr:
		l, ok := f.info.Object(x).(*sema.Local)
		if !ok {
			bug(f.info, e.Span(), "a place that is no variable")
		}
		return place{v: f.variable(l), root: l.Type}
	case *ast.FieldExpr:
		p := f.placeOf(x.X, later...)
		s := f.info.Select(x)
		if s.Kind == sema.SelectAny {
			return p.to(step{kind: stepAnyField, name: f.g.stringConst(x.Name.Name), elem: types.Any})
		}
		return p.to(step{kind: stepField, n: s.Field.Index, elem: f.info.TypeOf(x)})
	case *ast.TupleIndex:
		p := f.placeOf(x.X, later...)
		return p.to(step{kind: stepField, n: x.Index, elem: f.info.TypeOf(x)})
	case *ast.IndexExpr:
		if n, ok := f.info.TupleElement(x); ok {
			p := f.placeOf(x.X, later...)
			return p.to(step{kind: stepField, n: n, elem: f.info.TypeOf(x)})
		}
		p := f.placeOf(x.X, append([]ast.Expr{x.Index}, later...)...)
		i := f.operand(x.Index, later...)
		switch t := types.Resolve(f.resultType(x.X)).(type) {
		case *types.Array:
			return p.to(step{kind: stepElem, n: i.reg, elem: t.Elem})
		case *types.Map:
			return p.to(step{kind: stepKey, n: f.boxed(i, -1).reg, elem: t.Value})
		default:
			return p.to(step{kind: stepAnyIndex, n: f.boxed(i, -1).reg, elem: types.Any})
		}
	default:
		bug(f.info, e.Span(), "%T is no place", e)
	}
	return place{}
}

func (p place) to(s step) place {
	p.steps = append(p.steps[:len(p.steps):len(p.steps)], s)
	return p
}

// ownPlace follows the first steps steps of a place's path, and makes the place the only owner of
// each container on the way. It returns the register that contains the value after these steps.
func (f *builder) ownPlace(p place, steps int) int {
	var r int
	switch {
	case p.v.cell:
		r = f.alloc()
		f.emit(ir.OpOwnCell, r, f.cellOf(p.v), 0, 0)
	case p.v.spill:
		i := f.alloc()
		r = f.alloc()
		f.emit(ir.OpLoadInt, i, 0, 0, int32(p.v.slot))
		f.emit(ir.OpOwnElem, r, f.spill.reg, i, 0)
	default:
		r = p.v.reg
		if mayShare(p.root) {
			f.emit(ir.OpOwn, r, 0, 0, 0)
		}
	}
	for _, s := range p.steps[:steps] {
		d := f.alloc()
		switch s.kind {
		case stepField:
			f.emit(ir.OpOwnField, d, r, s.n, 0)
		case stepElem:
			f.emit(ir.OpOwnElem, d, r, s.n, 0)
		case stepKey:
			f.emit(ir.OpOwnKey, d, r, s.n, 0)
		case stepAnyField:
			f.emit(ir.OpAnyOwnField, d, r, 0, s.name)
		case stepAnyIndex:
			f.emit(ir.OpAnyOwnIndex, d, r, s.n, 0)
		}
		r = d
	}
	return r
}

var setFields = map[ir.Class]ir.Op{ir.Full: ir.OpSetField, ir.Int: ir.OpSetFieldInt, ir.Float: ir.OpSetFieldFloat, ir.Bool: ir.OpSetFieldBool}
var arraySets = map[ir.Class]ir.Op{ir.Full: ir.OpArraySet, ir.Int: ir.OpArraySetInt, ir.Float: ir.OpArraySetFloat, ir.Bool: ir.OpArraySetBool}

// protectValue returns v in a register that setting the place p does not change. If a variable is
// stored into a part of itself, following the path may replace the variable's register with a copy.
func (f *builder) protectValue(p place, v val) val {
	if v.class != ir.Full || p.v.cell || p.v.spill || v.reg != p.v.reg {
		return v
	}
	d := f.alloc()
	f.emit(ir.OpMove, d, v.reg, 0, 0)
	return v.inRegister(d)
}

// set writes v to the place p.
func (f *builder) set(p place, v val) {
	if len(p.steps) == 0 {
		f.store(p.v, v)
		return
	}
	last := p.steps[len(p.steps)-1]
	c := class(last.elem)
	if last.kind != stepField && last.kind != stepElem || v.class != c && v.class != ir.Full {
		c = ir.Full
	}
	if c == ir.Full {
		v = f.boxed(f.protectValue(p, v), -1)
	}
	f.put(last, f.ownPlace(p, len(p.steps)-1), v, c)
}

// put writes v, in class c, into the container in register r, which the place owns. last is the
// last step of the path.
func (f *builder) put(last step, r int, v val, c ir.Class) {
	switch last.kind {
	case stepField:
		f.emit(setFields[c], r, last.n, v.reg, 0)
	case stepElem:
		f.emit(arraySets[c], r, last.n, v.reg, 0)
	case stepKey:
		f.emit(ir.OpMapSet, r, last.n, v.reg, 0)
	case stepAnyField:
		f.emit(ir.OpAnySetField, r, v.reg, 0, last.name)
	case stepAnyIndex:
		f.emit(ir.OpAnySetIndex, r, last.n, v.reg, 0)
	}
}

// read returns the value of a place. The value is borrowed.
func (f *builder) read(p place) val {
	v := f.load(p.v, p.root, -1)
	for _, s := range p.steps {
		v = f.readStep(s, v)
	}
	return v
}

// readStep reads the part of v to which step s leads.
func (f *builder) readStep(s step, v val) val {
	d, c := f.alloc(), class(s.elem)
	switch s.kind {
	case stepField:
		f.emit(fieldOps[c], d, v.reg, s.n, 0)
	case stepElem:
		f.emit(arrayGets[c], d, v.reg, s.n, 0)
	case stepKey:
		c = ir.Full
		f.emit(ir.OpMapGet, d, v.reg, s.n, 0)
	case stepAnyField:
		f.emit(ir.OpAnyField, d, v.reg, 0, s.name)
	case stepAnyIndex:
		f.emit(ir.OpAnyIndex, d, v.reg, s.n, 0)
	}
	return val{reg: d, class: c, volatile: v.volatile}
}

// typ returns the type of a place's value.
func (p place) typ() types.Type {
	if n := len(p.steps); n > 0 {
		return p.steps[n-1].elem
	}
	return p.root
}

// assign generates `target = v` or `target op= v`.
func (f *builder) assign(e *ast.Assign) {
	defer f.free(f.top)
	if path, ok := unparen(f.info, e.Target).(*ast.PathExpr); ok {
		if l, ok := f.info.Object(path).(*sema.Local); ok {
			defer f.lostIn(l, e.Value)
		}
	}
	f.updatePosition(e.OpSpan.Start)
	if e.Op != ast.OpNone {
		f.assignOp(e)
		return
	}
	p := f.placeOf(e.Target, e.Value)
	if len(p.steps) == 0 && !p.v.cell && !p.v.spill {
		outer := f.moving
		f.moving = f.movedUse(e, p.v)
		f.into(e.Value, p.v.reg, p.v.class, true)
		f.moving = outer
		f.hasValue(p.v)
		return
	}
	if f.assignVariant(e, p) {
		return
	}
	v := f.value(e.Value, -1)
	f.markShared(v, f.resultType(e.Value))
	f.set(p, v)
}

// assignVariant generates the assignment of a new value of an enum to a part of a variable. If that
// part is a value of the same variant which no other variable or container holds, its payload
// changes in place. assignVariant returns false if e is another assignment.
func (f *builder) assignVariant(e *ast.Assign, p place) bool {
	x, ok := unparen(f.info, e.Value).(*ast.Call)
	if !ok || len(p.steps) == 0 || f.info.Conv(x) != nil {
		return false
	}
	c, last := f.info.Call(x), p.steps[len(p.steps)-1]
	if c == nil || c.Kind != sema.CallVariant || c.Variant.Variant == nil || last.kind != stepField && last.kind != stepElem {
		return false
	}
	defer f.at(x.Span().Start)()
	base := f.top
	f.arguments(arguments{call: c, written: x.Args}, base-1, allFull(len(c.Args)), allOwned)
	f.updatePosition(e.OpSpan.Start)
	o := f.ownPlace(p, len(p.steps)-1)
	v := f.readStep(last, val{reg: o, class: ir.Full})
	f.emit(ir.OpRenewVariant, v.reg, base, c.Variant.Index, int32(f.g.typeIndex(f.info.TypeOf(x))))
	f.put(last, o, v, ir.Full)
	return true
}

// assignOp generates a compound assignment: it reads the old value, evaluates the operand and
// writes the result.
func (f *builder) assignOp(e *ast.Assign) {
	p := f.placeOf(e.Target, e.Value)
	t := types.Resolve(p.typ())
	plain := len(p.steps) == 0 && !p.v.cell && !p.v.spill
	hint := -1
	if plain && p.v.class == class(t) {
		hint = p.v.reg
	}
	if n, ok := f.smallInt(e.Value, -1<<31, 1<<31-1); ok && t == types.Int && (n != 0 || e.Op != ast.OpDiv && e.Op != ast.OpRem) {
		x := f.read(p)
		d := f.target(hint)
		f.emit(rowOf(arithmetic, e.Op).intK, d, x.reg, 0, int32(n))
		f.set(p, val{reg: d, class: ir.Int, owned: true})
		return
	}
	if class(t) != ir.Full && f.isQuiet(e.Value) {
		if n := len(p.steps) - 1; n >= 0 && (p.steps[n].kind == stepField || p.steps[n].kind == stepElem) {
			r := f.ownPlace(p, n)
			x := f.readStep(p.steps[n], val{reg: r, class: ir.Full})
			top := f.top
			f.put(p.steps[n], r, f.arith(e.Op, t, x, f.operand(e.Value), top, -1), class(t))
			return
		}
	}
	x := f.protectBorrowed(e.Target, f.read(p), []ast.Expr{e.Value})
	top := f.top
	y := f.operand(e.Value)
	f.set(p, f.arith(e.Op, t, x, y, top, hint))
}

// isQuiet reports whether evaluating e runs no code of the program and shares no value. The path of
// a compound assignment can then be followed once, before e is evaluated.
func (f *builder) isQuiet(e ast.Expr) bool {
	quiet := true
	inspect(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.IntLit, *ast.FloatLit, *ast.ParenExpr, *ast.FieldExpr, *ast.TupleIndex, *ast.IndexExpr:
		case *ast.Unary, *ast.Binary:
			quiet = quiet && class(f.info.TypeOf(x.(ast.Expr))) != ir.Full
		case *ast.PathExpr:
			switch f.info.Object(x).(type) {
			case *sema.Local, *sema.Const:
			default:
				quiet = false
			}
		default:
			quiet = false
		}
		return quiet
	})
	return quiet
}
