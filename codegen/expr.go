package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// expr generates e without its conversion. It puts the result into the register hint only if this
// needs no extra instruction. A control form without a value has the result nil.
func (f *builder) expr(e ast.Expr, hint int) val {
	defer f.at(e.Span().Start)()
	switch e := e.(type) {
	case *ast.IntLit:
		return f.intValue(int64(e.Value), hint)
	case *ast.FloatLit:
		return f.floatValue(e.Value, hint)
	case *ast.BoolLit:
		return f.boolValue(e.Value, hint)
	case *ast.NilLit:
		return f.nilValue(hint)
	case *ast.StringLit:
		return f.stringValue(e.Value, hint)
	case *ast.InterpLit:
		return f.interpolation(e, hint)
	case *ast.PathExpr:
		return f.path(e, hint)
	case *ast.ParenExpr:
		return f.value(e.X, hint)
	case *ast.ArrayLit:
		return f.arrayLit(e, hint)
	case *ast.MapLit:
		return f.mapLit(e, hint)
	case *ast.TupleLit:
		return f.tupleLit(e, hint)
	case *ast.StructLit:
		return f.structLit(e, hint)
	case *ast.Unary:
		return f.unary(e, hint)
	case *ast.Binary:
		f.updatePosition(e.OpSpan.Start)
		return f.binary(e, hint)
	case *ast.Pipe:
		return f.pipe(e, hint)
	case *ast.RangeExpr:
		return f.rangeExpr(e, hint)
	case *ast.Cast:
		return f.cast(e, hint)
	case *ast.Call:
		return f.call(e, e.Args, nil, f.takePiped(e), hint)
	case *ast.MethodCall:
		f.updatePosition(e.Name.Span().Start)
		return f.methodCall(e, hint)
	case *ast.FieldExpr:
		return f.field(e, hint)
	case *ast.TupleIndex:
		return f.tupleIndex(e, hint)
	case *ast.IndexExpr:
		return f.index(e, hint)
	case *ast.Question:
		return f.question(e, hint)
	case *ast.Closure:
		return f.closure(e, hint)
	default:
		return f.control(e, hint)
	}
}

// control generates an expression that affects the control flow or performs an effect.
func (f *builder) control(e ast.Expr, hint int) val {
	switch e := e.(type) {
	case *ast.IfExpr:
		return f.ifValue(e, hint)
	case *ast.MatchExpr:
		return f.matchValue(e, hint)
	case *ast.BlockExpr:
		return f.blockValue(e.Block, f.info.TypeOf(e), hint, false)
	case *ast.TryExpr:
		return f.tryValue(e, hint)
	case *ast.ListenExpr:
		return f.listen(e, hint)
	case *ast.EmitExpr:
		return f.emitExpr(e, hint)
	case *ast.Await:
		return f.await(e, hint)
	case *ast.AwaitAll:
		return f.awaitAll(e, hint)
	case *ast.Race:
		return f.race(e, hint)
	case *ast.ParallelFor:
		return f.parallelFor(e, hint)
	case *ast.LoopExpr:
		return f.loopValue(e, hint)
	case *ast.Assign, *ast.ForExpr, *ast.WhileExpr:
		f.discard(e)
		return f.nilValue(hint)
	case *ast.ReturnExpr, *ast.BreakExpr, *ast.ContinueExpr, *ast.ThrowExpr:
		f.discard(e)
		return val{reg: f.target(hint), class: ir.Full, owned: true} // the code after the expression is unreachable
	default:
		bug(f.info, e.Span(), "%T cannot be generated", e)
		return val{}
	}
}

// discard generates e for its effects. The value is not used.
func (f *builder) discard(e ast.Expr) {
	defer f.at(e.Span().Start)()
	defer f.free(f.top)
	switch e := e.(type) {
	case *ast.ParenExpr:
		f.discard(e.X)
	case *ast.IfExpr:
		f.ifStmt(e)
	case *ast.MatchExpr:
		f.matchStmt(e)
	case *ast.BlockExpr:
		f.block(e.Block)
	case *ast.TryExpr:
		if f.info.IsLost(e) {
			f.lost(e, f.expr(e, -1), f.info.TypeOf(e))
			return
		}
		f.tryStmt(e)
	case *ast.Assign:
		f.assign(e)
	case *ast.ForExpr:
		f.forLoop(e)
	case *ast.WhileExpr:
		f.whileLoop(e)
	case *ast.LoopExpr:
		f.endlessLoop(e, -1, nil)
	case *ast.ReturnExpr:
		f.returnExpr(e)
	case *ast.BreakExpr:
		f.breakExpr(e)
	case *ast.ContinueExpr:
		f.continueExpr(e)
	case *ast.ThrowExpr:
		f.throw(e)
	default:
		v := f.expr(e, -1)
		f.dropNil(v)
		if f.info.IsLost(e) {
			f.lost(e, v, f.info.TypeOf(e))
		}
	}
}

// dropNil removes the instruction that loads the unused value v, if v is nil. It does not remove
// the instruction if a jump leads to the next instruction.
func (f *builder) dropNil(v val) {
	last := f.next() - 1
	if f.dead || last < 0 || f.landed == f.next() || f.isVar[v.reg] {
		return
	}
	if i := f.blk.Code[last]; i.Op != ir.OpLoadNil || int(i.A) != v.reg {
		return
	}
	f.removeLast()
}

// path generates the value that a name refers to.
func (f *builder) path(e *ast.PathExpr, hint int) val {
	switch o := f.info.Object(e).(type) {
	case *sema.Local:
		v := f.load(f.variable(o), o.Type, hint)
		v.owned = v.owned || f.isMove(e)
		return v
	case *sema.Const:
		return f.constant(o.Value, o.Type, hint)
	case *sema.Function:
		return f.loadFunction(f.g.adapter(o), hint)
	case *sema.VariantRef:
		return f.variantValue(o, f.info.TypeOf(e), hint)
	case *sema.ErrorNew:
		return f.loadFunction(f.g.errorAdapter(o.Type, f.home, f.pos), hint)
	case *sema.Agent, *sema.Host, *sema.Tool, *sema.Store:
		return f.loadDeclaration(o, hint)
	}
	bug(f.info, e.Sp, "a path that names nothing: %T", f.info.Object(e))
	return val{}
}

// loadDeclaration loads a reference to an agent, host, tool or store.
func (f *builder) loadDeclaration(o sema.Object, hint int) val {
	d := f.target(hint)
	switch o := o.(type) {
	case *sema.Agent:
		f.emit(ir.OpLoadAgent, d, 0, 0, int32(f.g.numbers.agents[o]))
	case *sema.Host:
		f.emit(ir.OpLoadHost, d, 0, 0, int32(f.g.numbers.hosts[o]))
	case *sema.Tool:
		f.emit(ir.OpLoadTool, d, 0, 0, int32(f.g.numbers.tools[o]))
	case *sema.Store:
		f.emit(ir.OpLoadStore, d, 0, 0, int32(f.g.numbers.stores[o]))
	}
	return val{reg: d, class: ir.Full, owned: true}
}

func (f *builder) loadFunction(n, hint int) val {
	d := f.target(hint)
	f.emit(ir.OpLoadFunction, d, 0, 0, int32(n))
	return val{reg: d, class: ir.Full, owned: true}
}

func (f *builder) isNone(e *ast.PathExpr) bool {
	v, ok := f.info.Object(e).(*sema.VariantRef)
	return ok && v.Variant == nil && v.Name == "None"
}

// rangeExpr creates a Range value.
func (f *builder) rangeExpr(e *ast.RangeExpr, hint int) val {
	lo := f.operand(e.Lo, e.Hi)
	hi := f.operand(e.Hi)
	d := f.target(hint)
	f.emit(ir.OpNewRange, d, lo.reg, hi.reg, inclusive(e))
	return val{reg: d, class: ir.Full, owned: true}
}

func inclusive(e *ast.RangeExpr) int32 {
	if e.Inclusive {
		return 1
	}
	return 0
}

// cast generates `x as T`.
func (f *builder) cast(e *ast.Cast, hint int) val {
	from, to := types.Resolve(f.resultType(e.X)), f.info.TypeOf(e)
	v := f.value(e.X, -1)
	switch {
	case from == types.Int && to == types.Float:
		d := f.target(hint)
		f.emit(ir.OpIntToFloat, d, v.reg, 0, 0)
		return val{reg: d, class: ir.Float, owned: true}
	case from == types.Float && to == types.Int:
		d := f.target(hint)
		f.emit(ir.OpFloatToInt, d, v.reg, 0, 0)
		return val{reg: d, class: ir.Int, owned: true}
	case types.IsAny(from) && !types.IsAny(to):
		d := f.target(hint)
		f.emit(ir.OpCheck, d, v.reg, 0, int32(f.g.typeIndex(to)))
		return v.inRegister(d)
	case types.IsString(from):
		if u, ok := to.(*types.Union); ok {
			d := f.target(hint)
			f.emit(ir.OpCheck, d, v.reg, 0, int32(f.g.typeIndex(u)))
			return val{reg: d, class: ir.Full, owned: true}
		}
	}
	return f.convert(v, from, to, hint)
}

var fieldOps = map[ir.Class]ir.Op{ir.Full: ir.OpField, ir.Int: ir.OpFieldInt, ir.Float: ir.OpFieldFloat, ir.Bool: ir.OpFieldBool}

// readField reads slot n of the block o in class c. The block still holds the value.
func (f *builder) readField(o val, n int, c ir.Class, hint int) val {
	d := f.target(hint)
	f.emit(fieldOps[c], d, o.reg, n, 0)
	return o.part(d, c)
}

func (f *builder) field(e *ast.FieldExpr, hint int) val {
	s := f.info.Select(e)
	x := f.boxed(f.value(e.X, -1), -1)
	f.updatePosition(e.Name.Span().Start)
	switch s.Kind {
	case sema.SelectField:
		return f.readField(x, s.Field.Index, class(f.info.TypeOf(e)), hint)
	case sema.SelectTool:
		v := f.readField(x, s.Field.Index, class(f.info.TypeOf(e)), hint)
		v.owned, v.volatile = v.class != ir.Full, true
		return v
	case sema.SelectMap:
		k := f.stringValue(e.Name.Name, -1)
		d := f.target(hint)
		f.emit(ir.OpMapFind, d, x.reg, k.reg, 0)
		return f.flat(x.part(d, ir.Full), f.info.TypeOf(e))
	case sema.SelectAny:
		d := f.target(hint)
		f.emit(ir.OpAnyField, d, x.reg, 0, f.g.stringConst(e.Name.Name))
		return x.part(d, ir.Full)
	case sema.SelectError:
		d := f.target(hint)
		f.emit(ir.OpErrorField, d, x.reg, 0, f.g.stringConst(e.Name.Name))
		return x.part(d, ir.Full)
	}
	bug(f.info, e.Sp, "unknown selection")
	return val{}
}

func (f *builder) tupleIndex(e *ast.TupleIndex, hint int) val {
	x := f.value(e.X, -1)
	f.updatePosition(e.At.Start)
	if types.IsAny(f.resultType(e.X)) {
		i := f.boxed(f.intValue(int64(e.Index), -1), -1)
		d := f.target(hint)
		f.emit(ir.OpAnyIndex, d, x.reg, i.reg, 0)
		return x.part(d, ir.Full)
	}
	return f.readField(x, e.Index, class(f.info.TypeOf(e)), hint)
}

var arrayGets = map[ir.Class]ir.Op{ir.Full: ir.OpArrayGet, ir.Int: ir.OpArrayGetInt, ir.Float: ir.OpArrayGetFloat, ir.Bool: ir.OpArrayGetBool}

func (f *builder) index(e *ast.IndexExpr, hint int) val {
	if r, ok := unparen(f.info, e.Index).(*ast.RangeExpr); ok {
		return f.slice(e, r, hint)
	}
	if n, ok := f.info.TupleElement(e); ok {
		x := f.value(e.X, -1)
		f.updatePosition(e.Index.Span().Start)
		return f.readField(x, n, class(f.info.TypeOf(e)), hint)
	}
	x := f.boxed(f.operand(e.X, e.Index), -1)
	i := f.operand(e.Index)
	f.updatePosition(e.Index.Span().Start)
	d := -1
	switch t := types.Loose(f.resultType(e.X)).(type) {
	case *types.Array:
		c := class(t.Elem)
		d = f.target(hint)
		f.emit(arrayGets[c], d, x.reg, i.reg, 0)
		return x.part(d, c)
	case *types.Map:
		k := f.boxed(i, -1)
		d = f.target(hint)
		f.emit(ir.OpMapGet, d, x.reg, k.reg, 0)
	case *types.Basic:
		if t != types.Any {
			d = f.target(hint)
			f.emit(ir.OpStringAt, d, x.reg, i.reg, 0)
			return val{reg: d, class: ir.Full, owned: true}
		}
		k := f.boxed(i, -1)
		d = f.target(hint)
		f.emit(ir.OpAnyIndex, d, x.reg, k.reg, 0)
	case *types.Union:
		d = f.target(hint)
		f.emit(ir.OpStringAt, d, x.reg, i.reg, 0)
	default:
		bug(f.info, e.Sp, "index of %s", f.resultType(e.X))
	}
	return x.part(d, ir.Full)
}

// slice generates `x[lo..hi]`.
func (f *builder) slice(e *ast.IndexExpr, r *ast.RangeExpr, hint int) val {
	x := f.operand(e.X, r.Lo, r.Hi)
	base := f.alloc()
	f.alloc()
	for i, end := range []ast.Expr{r.Lo, r.Hi} {
		if end == nil {
			f.emit(ir.OpLoadNil, base+i, 0, 0, 0)
		} else {
			f.into(end, base+i, ir.Full, false)
		}
	}
	d := f.target(hint)
	f.emit(ir.OpSlice, d, x.reg, base, inclusive(r))
	return val{reg: d, class: ir.Full, owned: true}
}
