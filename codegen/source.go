package codegen

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// forSource generates a loop that reads elements from a source one by one. The code closes the
// source whenever the loop ends: after the last element, or when a break, a jump out of the loop or
// an error leaves the loop.
func (f *builder) forSource(e *ast.ForExpr, s *sema.Source) {
	defer f.free(f.top)
	xs, failure := f.alloc(), f.alloc()
	t := f.resultType(e.Iter)
	v := f.value(e.Iter, xs)
	f.markShared(v, t)
	f.move(xs, ir.Full, v)
	f.isVar[xs], f.isVar[failure] = true, true
	l := f.enterLoop(e.Label)
	l.source, l.from = s, xs
	start := f.next()
	top := f.top
	elem := f.onSource(s.Next, xs)
	f.jump(ir.OpJumpNil, elem.reg, 0, l.out)
	f.bindLoop(e.Pattern, f.unwrapped(elem, s.Next.Result), s.Elem)
	f.block(e.Body)
	f.free(top)
	f.bindLabel(l.on)
	f.jumpBack(start)
	end := f.next()
	f.endLoop()
	if f.catchRegion(start, end, failure) {
		f.leaveSource(s, xs, &val{reg: failure, class: ir.Full})
		f.emit(ir.OpRethrow, failure, 0, 0, 0)
		f.free(top)
	}
	f.bindLabel(l.out)
	f.onSource(s.Close, xs)
}

// onSource calls a method of the source in register xs.
func (f *builder) onSource(method *sema.Function, xs int, args ...val) val {
	w := f.alloc()
	classes := f.g.windowClasses(method)
	for i, v := range append([]val{{reg: xs, class: ir.Full}}, args...) {
		f.move(f.alloc(), classes[i], v)
	}
	v := f.invoke(method, w)
	f.free(w + 1)
	return v
}

// closeSources generates code that closes the sources of the enclosing loops with the index from or
// higher, because the program leaves these loops. failure is the error that leaves them, or nil.
func (f *builder) closeSources(from int, failure *val) {
	for i := len(f.loops) - 1; i >= from; i-- {
		if l := f.loops[i]; l.source != nil {
			top := f.top
			f.leaveSource(l.source, l.from, failure)
			f.free(top)
		}
	}
}

// hasLeaveMethod reports whether an enclosing loop has a source with a method that receives the
// error that leaves the loop.
func (f *builder) hasLeaveMethod() bool {
	return slices.ContainsFunc(f.loops, func(l *loop) bool { return l.source != nil && l.source.Leave != nil })
}

func (f *builder) leaveSource(s *sema.Source, xs int, failure *val) {
	if failure != nil && s.Leave != nil {
		f.onSource(s.Leave, xs, *failure)
	} else {
		f.onSource(s.Close, xs)
	}
}
