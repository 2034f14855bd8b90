package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// callMutating calls a `mut self` method. It evaluates the indices of the receiver's place, then
// the arguments, and then reads the place. When the method ends, also with an error, the changed
// receiver is written back to the place.
func (f *builder) callMutating(in arguments, t types.Type, hint int) val {
	fn := in.call.Fn
	static := in.call.Kind != sema.CallAnyMethod
	native := static && fn.Native != ""
	if hint >= 0 && (hint != f.top-1 || f.isVar[hint]) {
		hint = -1
	}
	result := f.target(hint) // the result's register is below all registers that are freed at the end
	var later []ast.Expr
	for _, a := range in.written {
		later = append(later, a.Value)
	}
	p := f.placeOf(in.recv, later...)
	if static {
		if v, ok := f.mutatingIntrinsic(in, p, result); ok {
			f.free(result + 1)
			return v
		}
	}
	e, w := -1, result
	if !native {
		e = f.alloc() // register of an error that leaves the method
	}
	if f.top != result+1 {
		w = f.alloc()
	}
	params := allFull(len(in.call.Args))
	if static {
		params = f.g.windowClasses(fn)
	}
	f.alloc()
	f.fillAfterReceiver(in, w, params)
	top := f.top
	self := f.ownPlace(p, len(p.steps))
	f.move(w+1, params[0], val{reg: self, class: f.classIn(p)})
	f.free(top)
	from := f.next()
	var v val
	if static {
		v = f.invoke(fn, w)
	} else {
		v = f.invokeNamed(in, w)
	}
	to := f.next()
	f.top = w + 2
	if !native { // a native changes the receiver in its place
		f.set(p, val{reg: w + 1, class: ir.Full, owned: true})
	}
	f.move(result, v.class, v)
	if f.mayReturnOption(in) {
		v = f.flat(val{reg: result, class: v.class, owned: true}, t)
	}
	if !native && to > from {
		end := &label{}
		f.jump(ir.OpJump, 0, 0, end)
		f.catchRegion(from, to, e)
		f.top = w + 2
		f.set(p, val{reg: w + 1, class: ir.Full, owned: true})
		f.emit(ir.OpRethrow, e, 0, 0, 0)
		f.bindLabel(end)
	}
	f.free(result + 1)
	return val{reg: result, class: v.class, owned: true}
}

// classIn returns the class of the register into which a place's value is read.
func (f *builder) classIn(p place) ir.Class {
	if len(p.steps) == 0 && !p.v.cell && !p.v.spill {
		return p.v.class
	}
	return ir.Full
}

// fillAfterReceiver generates the arguments of a method into the window w, except the receiver,
// which the caller puts there.
func (f *builder) fillAfterReceiver(in arguments, w int, params []ir.Class) {
	c := *in.call
	c.Args = c.Args[1:]
	if c.Fn != nil {
		fn := *c.Fn
		fn.Params = fn.Params[1:]
		c.Fn = &fn
	}
	in.call = &c
	f.arguments(in, w+1, params[1:], allOwned)
}

// isReference reports whether values of type t are references. A mutating method then changes the
// referenced object, and the receiver need not be written back.
func isReference(t types.Type) bool {
	switch t := types.Resolve(t).(type) {
	case *types.Declared, *types.HashMap, *types.Queue, *types.Task, *types.Func:
		return true
	case *types.Basic:
		return t == types.Agent || t == types.Host || t == types.Tool || t == types.Memory || t == types.Ledger
	}
	return false
}

// isPlace reports whether e is a mutable variable or a part of one.
func (f *builder) isPlace(e ast.Expr) bool {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.TupleIndex:
			e = x.X
		case *ast.IndexExpr:
			if _, slice := unparen(f.info, x.Index).(*ast.RangeExpr); slice {
				return false
			}
			e = x.X
		case *ast.FieldExpr:
			if s := f.info.Select(x); s.Kind != sema.SelectField && s.Kind != sema.SelectTool && s.Kind != sema.SelectAny {
				return false
			}
			e = x.X
		case *ast.PathExpr:
			l, ok := f.info.Object(x).(*sema.Local)
			return ok && l.Mut
		default:
			return false
		}
	}
}
