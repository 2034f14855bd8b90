package sema

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// Concurrent is the detail of an AwaitAll, Race or ParallelFor. Bodies contains one body for each
// element, or the single body of the loop (spec/14-concurrency.md).
type Concurrent struct {
	Bodies []*Body
	// Leaves are the targets of errors that leave a body because of `?` or `throw`. Such an error
	// leaves the whole expression, as if it occurred at the expression. Errors with the same target
	// share an element. The Site of a LeaveBody is an index of Leaves.
	Leaves []*Leave
}

// Body is a part of a program that runs as a separate task: a function that copies its captures
// when it starts. The body of a ParallelFor has one parameter, any other body none. Plain reports
// that the element is just a value to await, such as a Task in a variable, and needs no task.
type Body struct {
	X        ast.Expr   // the element; nil in a ParallelFor
	Block    *ast.Block // body of a ParallelFor, else nil
	Captures []*Local
	Result   types.Type // type of the body's value; if it is a Task, the value is awaited
	Plain    bool
}

// Concurrent returns the detail of an AwaitAll, Race or ParallelFor.
func (i *Info) Concurrent(e ast.Expr) *Concurrent { c, _ := i.details[e.ID()].(*Concurrent); return c }

// await checks `await x`. The result is the value of the task x. If x is no task, the result is x.
func (b *body) await(e *ast.Await) types.Type {
	t := types.Resolve(b.expr(e.X, nil))
	if task, ok := t.(*types.Task); ok {
		return task.Elem
	}
	b.warnNestedTasks(e, t)
	return t
}

// warnNestedTasks warns if the operand is no task but contains tasks.
func (b *body) warnNestedTasks(e *ast.Await, t types.Type) {
	var elem types.Type
	x, method := b.sourceText(e.X), "map"
	switch c := t.(type) {
	case *types.Array:
		elem = c.Elem
	case *types.Option:
		elem = c.Elem
	case *types.Map:
		elem, method = c.Value, "map_values"
	default:
		return
	}
	if _, ok := types.Resolve(elem).(*types.Task); !ok {
		return
	}
	call := "." + method + "(|t| await t)"
	f := b.info.File.Source
	around := diag.Fix{Title: "Await each", Edits: []diag.Edit{diag.Replace(e.Sp, f.Slice(e.X.Span())+call)}}
	if edits.IsLoose(e.X) || e.Postfix {
		around.Edits[0].Text = "(" + f.Slice(e.X.Span()) + ")" + call
	}
	b.report(diag.AwaitedTasks.At(e.Sp, "`await` waits for one task, but this is `%s`", types.Full(t)).
		Repair(around, "await each task: `%s%s`", x, call))
}

// awaitedType returns the type of the result of awaiting a value of type t.
func awaitedType(t types.Type) types.Type {
	if task, ok := types.Resolve(t).(*types.Task); ok {
		return task.Elem
	}
	return t
}

// awaitAll checks `await (a, b)`, whose value is a tuple of the awaited elements.
func (b *body) awaitAll(e *ast.AwaitAll) types.Type {
	d := &Concurrent{}
	out := &types.Tuple{}
	for _, x := range e.Elems {
		body := b.concurrent(d, x, nil, nil, nil)
		out.Elems = append(out.Elems, awaitedType(body.Result))
	}
	b.info.details[e.Id] = d
	return out
}

// race checks `race (a, b)`, whose type is the join of the types of its elements.
func (b *body) race(e *ast.Race) types.Type {
	d := &Concurrent{}
	var joined types.Type = types.Never
	for i, x := range e.Elems {
		body := b.concurrent(d, x, nil, nil, nil)
		t, ok := types.Join(joined, awaitedType(body.Result))
		if !ok {
			b.report(diag.NoJoin.At(x.Span(), "mismatched concurrent bodies: `%s` and `%s`", types.Full(awaitedType(body.Result)), types.Full(joined)).
				Label(e.Elems[i-1].Span(), "this body has the type `%s`", types.Full(joined)).Hint("make the types agree"))
			t = types.Bad
		}
		joined = t
	}
	for i, x := range e.Elems {
		if _, isTask := types.Resolve(d.Bodies[i].Result).(*types.Task); !isTask {
			b.coerce(x, d.Bodies[i].Result, joined, reason{})
		}
	}
	b.info.details[e.Id] = d
	return joined
}

// parallelFor checks `parallel for p in xs { }`. Its value is an array of the body's values, in the
// order of xs.
func (b *body) parallelFor(e *ast.ParallelFor) types.Type {
	if e.Limit != nil {
		b.checkAs(e.Limit, types.Int, reason{})
	}
	elem := b.iterated(e.Iter, false)
	d := &Concurrent{}
	body := b.concurrent(d, nil, e.Body, e.Pattern, elem)
	b.info.details[e.Id] = d
	if types.Resolve(body.Result) == types.Never {
		return &types.Array{Elem: types.Nil}
	}
	return &types.Array{Elem: awaitedType(body.Result)}
}

// concurrent checks one body. The body has copies of the surrounding variables from the time when
// it starts, and cannot change these variables. Only an error can leave the body.
func (b *body) concurrent(d *Concurrent, x ast.Expr, block *ast.Block, p ast.Pattern, elem types.Type) *Body {
	out := &Body{X: x, Block: block}
	d.Bodies = append(d.Bodies, out)
	if x != nil && b.isPlainTask(x) {
		out.Plain = true
		out.Result = b.expr(x, nil)
		return out
	}
	cl := &Closure{Type: &types.Func{}}
	f := &frame{parent: b.frame, closure: cl, concurrent: d}
	f.home = f
	outer, before := b.frame, b.flow.clone()
	b.frame = f
	b.enterScope()
	if p != nil {
		b.bindIrrefutable(p, elem, false, "`parallel for`", diag.HintAdvice("use a name for the element and `match` on it in the body"))
		b.recordAssigned("for")
	}
	if block != nil {
		out.Result = b.blockValue(block, nil, reason{})
	} else {
		out.Result = b.expr(x, nil)
	}
	b.leaveScope()
	b.flow = before
	b.frame = outer
	out.Captures = cl.Captures
	return out
}

// isPlainTask reports whether an element is just a variable or a field, so that no code must run
// for it.
func (b *body) isPlainTask(x ast.Expr) bool {
	switch x := unparen(x).(type) {
	case *ast.PathExpr:
		return len(x.Segments) == 1 && b.local(x.Segments[0].Name) != nil
	case *ast.FieldExpr, *ast.TupleIndex:
		return rootName(x) != nil
	default: // the others compute the task
	}
	return false
}

// concurrentFrame returns the innermost concurrent body or decorated stage between the current
// position and the frame of l. The body has only a copy of the value of l. It returns nil if there
// is no such body.
func (b *body) concurrentFrame(l *Local) *frame {
	for f := b.frame.home; f != nil && f != l.frame; {
		if f.concurrent != nil || f.isRepeated {
			return f
		}
		if f.parent == nil {
			return nil
		}
		f = f.parent.home
	}
	return nil
}

// reportConcurrentAssignment reports an assignment to a variable of which the current body has only
// a copy. It returns false if the assignment is allowed.
func (b *body) reportConcurrentAssignment(l *Local, at source.Span) bool {
	f := b.concurrentFrame(l)
	if f == nil {
		return false
	}
	if f.isRepeated {
		b.report(diag.ConcurrentChange.At(at, "`%s` cannot be changed in a decorated stage, which may run several times", l.Name).
			Label(l.At, "declared here").Hint("return the value as the output of the stage"))
		return true
	}
	b.report(diag.ConcurrentChange.At(at, "`%s` cannot be changed in a concurrent body", l.Name).
		Label(l.At, "declared here").Hint("make the value the result of the body, and return or collect it outside"))
	return true
}

// leaveBody returns the Leave of an error in a concurrent body. The error ends the body and cancels
// the other bodies. It then leaves the whole expression, where it is converted.
func (b *body) leaveBody(err types.Type, none bool, at source.Span) *Leave {
	f := b.frame
	b.frame = f.parent
	outer := b.leave(err, none, at)
	b.frame = f
	c := f.concurrent
	site := slices.IndexFunc(c.Leaves, func(l *Leave) bool { return sameLeave(l, outer) })
	if site < 0 {
		site = len(c.Leaves)
		c.Leaves = append(c.Leaves, outer)
	}
	return &Leave{Kind: LeaveBody, Option: none, Site: site}
}

// sameLeave reports whether two errors have the same target.
func sameLeave(a, b *Leave) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Option == b.Option && a.NoneError == b.NoneError && a.Convert == b.Convert &&
		a.Try == b.Try && a.Site == b.Site && sameLeave(a.Next, b.Next)
}
