package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// leave describes what a `return` leaves: a function or closure, the block of a handler, or a stage
// of a pipeline.
type leave struct {
	kind   leaveKind
	result types.Type
	out    *label // target of the jump that leaves a stage; the stage's value is in dst
	dst    int
}

type leaveKind uint8

const (
	leaveFunction leaveKind = iota
	leaveHandler
	leaveStage
)

// try is an enclosing try of the code that is being generated.
type try struct {
	loops   int      // number of loops that enclose the try
	error   int      // register of the error
	clauses []*label // start of each catch clause
	bare    *label   // start of the code that converts an error to an Err; only in a try without clauses
}

func (f *builder) returnExpr(e *ast.ReturnExpr) {
	switch {
	case e.X == nil:
		f.returnNil()
	case types.Resolve(f.leave.result) == types.Nil:
		f.discard(e.X)
		f.returnNil()
	default:
		f.returnValue(f.lastUse(e.X, -1), f.leave.result)
	}
}

// lastUse generates a value that leaves the function. The value of a variable is passed on without
// a mark, because no code uses the variable afterwards.
func (f *builder) lastUse(e ast.Expr, hint int) val {
	v := f.value(e, hint)
	if p, ok := unparen(f.info, e).(*ast.PathExpr); ok && f.leave.kind == leaveFunction && f.info.Conv(e) == nil {
		if l, ok := f.info.Object(p).(*sema.Local); ok {
			if x := f.vars[l]; !x.cell && !x.spill && !x.captured && !x.borrowed && !(f.returnsSelf && x.reg == 1) {
				return v
			}
		}
	}
	f.markShared(v, f.resultType(e))
	return v
}

// returnNil generates a return of nil.
func (f *builder) returnNil() {
	if f.leave.kind == leaveFunction && f.out.Result == ir.Full {
		f.closeSources(0, nil)
		f.emit(ir.OpReturnNil, 0, 0, 0, 0)
		return
	}
	f.returnValue(f.nilValue(-1), types.Nil)
}

var returns = map[ir.Class]ir.Op{ir.Full: ir.OpReturn, ir.Int: ir.OpReturnInt, ir.Float: ir.OpReturnFloat, ir.Bool: ir.OpReturnBool}

// returnValue generates a return of v. It first closes the sources of all enclosing loops.
func (f *builder) returnValue(v val, t types.Type) {
	f.closeSources(0, nil)
	f.emitReturn(v)
}

// emitReturn emits the return of v. All sources are closed.
func (f *builder) emitReturn(v val) {
	switch f.leave.kind {
	case leaveFunction:
		c := f.out.Result
		if c == ir.Full {
			v = f.boxed(v, -1)
		}
		f.emit(returns[c], v.reg, 0, 0, 0)
	case leaveHandler:
		f.emit(ir.OpBlockEnd, f.boxed(v, -1).reg, 0, 0, 0)
	case leaveStage:
		f.move(f.leave.dst, ir.Full, v)
		f.jump(ir.OpJump, 0, 0, f.leave.out)
	}
}

// question generates `x?`.
func (f *builder) question(e *ast.Question, hint int) val {
	l := f.info.Question(e)
	if types.Resolve(f.resultType(e.X)) == types.Never {
		return f.value(e.X, hint)
	}
	v := f.boxed(f.value(e.X, -1), -1)
	f.updatePosition(e.Sp.End - 1)
	good := &label{}
	r, isResult := types.Resolve(f.resultType(e.X)).(*types.Result)
	if !isResult {
		f.jump(ir.OpJumpNotNil, v.reg, 0, good)
		top := f.top
		f.leaveNone(l)
		f.free(top)
		f.bindLabel(good)
		if l.Failed != nil {
			return f.unwrapAny(l.Failed, v, hint)
		}
		return f.unwrapped(v, f.resultType(e.X))
	}
	f.jump(ir.OpJumpVariant, v.reg, 0, good)
	top := f.top
	f.leaveWith(l, v, r.Err)
	f.free(top)
	f.bindLabel(good)
	return f.readField(v, 0, class(r.Ok), hint)
}

// leaveWith generates the code that leaves because of the Err that a `?` has found. If the function
// returns the error unconverted, the code returns the Err value itself.
func (f *builder) leaveWith(l *sema.Leave, v val, t types.Type) {
	if l.Kind == sema.LeaveReturn && l.Convert == nil {
		f.emit(ir.OpLeave, v.reg, 0, 0, 0)
		var failure *val
		if f.hasLeaveMethod() {
			err := f.readField(v, 0, ir.Full, -1)
			f.markShared(err, t)
			failure = &err
		}
		f.closeSources(0, failure)
		f.emitReturn(val{reg: v.reg, class: ir.Full, owned: true})
		return
	}
	err := f.readField(v, 0, ir.Full, -1)
	f.markShared(err, t)
	f.leaveBy(l, err, v.reg)
}

// unwrapAny returns the value in an Any. If the Any contains a Result, this is the Ok value; an Err
// leaves as l describes.
func (f *builder) unwrapAny(l *sema.Leave, v val, hint int) val {
	d := f.scratch(hint)
	top := f.top
	f.emit(ir.OpMove, d, v.reg, 0, 0)
	is := f.alloc()
	f.emit(ir.OpIsType, is, v.reg, 0, int32(f.g.typeIndex(&types.Result{Ok: types.Any, Err: types.Any})))
	end, good := &label{}, &label{}
	f.jump(ir.OpJumpIfNot, is, 0, end)
	f.jump(ir.OpJumpVariant, v.reg, 0, good)
	f.leaveWith(l, v, types.Any)
	f.bindLabel(good)
	f.emit(ir.OpField, d, v.reg, 0, 0)
	f.bindLabel(end)
	f.free(top)
	return v.part(d, ir.Full)
}

func (f *builder) throw(e *ast.ThrowExpr) {
	v := f.boxed(f.value(e.X, -1), -1)
	f.markShared(v, f.resultType(e.X))
	f.leaveBy(f.info.Throw(e), v, noErr)
}

// leaveNone generates the code that leaves because of a None. It returns None if the function
// returns an Option, and otherwise leaves with an error.
func (f *builder) leaveNone(l *sema.Leave) {
	switch {
	case l.Kind == sema.LeaveReturn && !l.NoneError:
		f.returnNil()
		return
	case l.Kind == sema.LeaveBody:
		f.leaveBy(l, f.nilValue(-1), noErr)
		return
	}
	base := f.alloc()
	f.stringValue("value is None", base)
	f.leaveBy(l, f.newError(f.g.runtimeError(), base, -1), noErr)
}

// noErr as a register means that no register contains an Err.
const noErr = -1

// leaveBy generates the code that leaves with an error, to the target that sema has determined.
// from is the register of the Err that contained the error, or noErr.
func (f *builder) leaveBy(l *sema.Leave, err val, from int) {
	switch l.Kind {
	case sema.LeaveRaise:
		if from != noErr {
			f.emit(ir.OpLeave, from, 0, 0, 0)
		}
		f.emit(ir.OpThrow, err.reg, 0, 0, 0)
	case sema.LeaveReturn:
		if l.Convert != nil {
			w := f.alloc()
			f.move(f.alloc(), f.g.windowClasses(l.Convert)[0], err)
			err = f.boxed(f.invoke(l.Convert, w), -1)
		}
		d := f.alloc()
		if from != noErr {
			f.emit(ir.OpNewErrOf, d, err.reg, from, 0)
		} else {
			f.emit(ir.OpNewErr, d, err.reg, 0, 0)
		}
		f.closeSources(0, &err)
		f.emitReturn(val{reg: d, class: ir.Full, owned: true})
	case sema.LeaveBody:
		if from != noErr {
			f.emit(ir.OpLeave, from, 0, 0, 0)
		}
		f.closeSources(0, &err)
		f.emit(ir.OpReturnLeft, err.reg, 0, 0, int32(l.Site))
	case sema.LeaveTry:
		t := f.tries[l.Try]
		f.closeSources(t.loops, &err)
		f.move(t.error, ir.Full, err)
		f.reportCaught(t.error, from)
		f.dispatch(t, f.info.Try(l.Try))
		if l.Next != nil {
			f.leaveBy(l.Next, err, from)
		}
	}
}

// reportCaught generates an instruction that reports an error to a debugger, because a try of the
// same function catches the error. from is the register of the Err that contained the error, or
// noErr.
func (f *builder) reportCaught(err, from int) {
	if !f.g.manifest.Debugged {
		return
	}
	inErr := int32(0)
	if from != noErr {
		inErr = 1
	}
	f.emit(ir.OpCaught, err, 0, 0, inErr)
}

// dispatch jumps to the catch clause that matches an error of the try. If no clause matches, the
// next instruction runs.
func (f *builder) dispatch(t *try, d *sema.Try) {
	if d.Bare {
		f.jump(ir.OpJump, 0, 0, t.bare)
		return
	}
	for i, clause := range t.clauses {
		if types.Resolve(d.Types[i]) == types.Error {
			f.jump(ir.OpJump, 0, 0, clause)
			return
		}
		b := f.alloc()
		f.emit(ir.OpIsType, b, t.error, 0, int32(f.g.typeIndex(d.Types[i])))
		f.jump(ir.OpJumpIf, b, 0, clause)
		f.free(b)
	}
}

// tryStmt generates a try whose value is not used.
func (f *builder) tryStmt(e *ast.TryExpr) {
	if f.info.Try(e).Bare {
		f.tryValue(e, -1)
		return
	}
	f.tryWith(e, func(b *ast.Block) { f.block(b) })
}

func (f *builder) tryValue(e *ast.TryExpr, hint int) val {
	t := f.info.TypeOf(e)
	if f.info.Try(e).Bare {
		return f.bareTry(e, t, hint)
	}
	if t == types.Nil {
		f.tryStmt(e)
		return f.nilValue(hint)
	}
	c := class(t)
	d := f.scratch(hint)
	top := f.top
	f.tryWith(e, func(b *ast.Block) {
		inner := f.top
		f.move(d, c, f.blockValue(b, t, d, false))
		f.free(inner)
	})
	f.free(top)
	return val{reg: d, class: c, owned: true}
}

// tryWith generates a try with clauses. gen generates the body and the block of each clause.
func (f *builder) tryWith(e *ast.TryExpr, gen func(*ast.Block)) {
	defer f.free(f.top)
	d := f.info.Try(e)
	t := &try{loops: len(f.loops), error: f.alloc()}
	f.isVar[t.error] = true
	for range e.Catches {
		t.clauses = append(t.clauses, &label{})
	}
	f.recordTry(e, t)
	from := f.next()
	f.depth++
	gen(e.Body)
	f.depth--
	to := f.next()
	end := &label{}
	f.jump(ir.OpJump, 0, 0, end)
	if f.catchRegion(from, to, t.error) {
		f.dispatch(t, d)
		f.emit(ir.OpRethrow, t.error, 0, 0, 0)
	}
	for i, c := range e.Catches {
		f.bindLabel(t.clauses[i])
		top := f.top
		if l := d.Catches[i]; l != nil {
			f.declare(l)
			f.bind(l, val{reg: t.error, class: ir.Full, owned: true}, types.Any)
		}
		gen(c.Body)
		f.free(top)
		f.jump(ir.OpJump, 0, 0, end)
	}
	f.bindLabel(end)
}

// recordTry records the state of a try, so that code in its body can jump to it.
func (f *builder) recordTry(e *ast.TryExpr, t *try) {
	if f.tries == nil {
		f.tries = map[*ast.TryExpr]*try{}
	}
	f.tries[e] = t
}

// bareTry generates a try without clauses. Its value is a Result<T, Error>.
func (f *builder) bareTry(e *ast.TryExpr, rt types.Type, hint int) val {
	d := f.scratch(hint)
	top := f.top
	t := &try{loops: len(f.loops), error: f.alloc(), bare: &label{}}
	f.isVar[t.error] = true
	f.recordTry(e, t)
	ok := types.Type(types.Nil)
	if r, isResult := types.Resolve(rt).(*types.Result); isResult {
		ok = r.Ok
	} else if e.Body.Tail != nil { // the expected type is Any
		ok = f.resultType(e.Body.Tail)
	}
	from := f.next()
	f.depth++
	v := f.boxed(f.blockValue(e.Body, ok, -1, false), -1)
	f.depth--
	f.emit(ir.OpNewOk, d, v.reg, 0, 0)
	to := f.next()
	end := &label{}
	f.jump(ir.OpJump, 0, 0, end)
	caught := f.catchRegion(from, to, t.error)
	f.bindLabel(t.bare)
	if caught || !f.dead {
		f.emit(ir.OpNewErr, d, t.error, 0, 0)
	}
	f.bindLabel(end)
	f.free(top)
	return val{reg: d, class: ir.Full, owned: true}
}
