package sema

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// tryScope is an enclosing try of the code that is being checked.
type tryScope struct {
	outer *tryScope
	x     *ast.TryExpr
	bare  bool
}

// question checks `x?`. The value is that of the Ok or Some; an Err or None leaves the function
// (spec/06-errors.md).
func (b *body) question(e *ast.Question, hint types.Type) types.Type {
	t := types.Loose(b.expr(e.X, nil))
	switch x := t.(type) {
	case *types.Result:
		l := b.leave(x.Err, false, e.Sp)
		b.info.details[e.Id] = l
		b.noteRaise(l, &types.Result{Ok: b.frame.result, Err: x.Err}, e.Sp)
		return x.Ok
	case *types.Option:
		l := b.leave(nil, true, e.Sp)
		b.info.details[e.Id] = l
		b.noteRaise(l, &types.Option{Elem: b.frame.result}, e.Sp)
		return x.Elem
	case *types.Basic:
		if x == types.Any {
			// An Any does not contain an Option, so a nil leaves as a None. A Result in the Any is
			// checked at run time.
			l := b.leave(nil, true, e.Sp)
			l.Failed = b.leaveHeld()
			b.info.details[e.Id] = l
			return types.Any
		}
		if x == types.Bad || x == types.Never {
			return x
		}
	}
	d := diag.QuestionOperand.At(e.Sp, "`?` needs a Result or an Option, not `%s`", types.Full(t))
	switch heldType(t).(type) {
	case *types.Result, *types.Option:
		d.Repair(diag.UnsafeFix(diag.Insert(e.X.Span().Start, "await "), "Write `await %s?`", b.sourceText(e.X)), "`await` the task first: `await %s?`", b.sourceText(e.X))
	default:
		d.Repair(diag.SafeFix(diag.Remove(source.Span{Start: e.X.Span().End, End: e.Sp.End}), "Remove the `?`"), "remove the `?`: the value always exists")
	}
	b.report(d)
	return types.Bad
}

// noteRaise records the warning about a `?` that raises because its function cannot return what is
// missing. It is reported if nothing in the program catches errors. would is the result type that
// could return it.
func (b *body) noteRaise(l *Leave, would types.Type, at source.Span) {
	f := b.frame
	if l.Kind != LeaveRaise || f.parent != nil || f.fn == nil || f.fn.ofTrait || f.raises || b.info.Library || b.isMain(f.fn) || isTest(f.fn) || isEval(f.fn) {
		return
	}
	what, kind, signature := "the error", "Result", f.fn.Decl.Signature
	if l.Option {
		what, kind = "an error for None", "Option"
	}
	if r := f.fn.Decl.Result; r != nil {
		signature.End = r.Span().Start
	}
	text := strings.Join(strings.Fields(b.info.File.Source.Slice(signature)), " ")
	if f.fn.Decl.Result == nil {
		text += " ->"
	}
	d := diag.UncaughtQuestion.At(at, "`?` raises %s here, because `%s` returns no %s, and nothing in the program catches it", what, f.fn.Name, kind).
		Hint("to return it, declare `%s %s`", text, types.Full(would))
	b.c.raised = append(b.c.raised, raisedError{b.m, d})
	if n := b.c.bodies.noting; n != nil {
		n.raised = append(n.raised, d)
	}
}

// raisedError is a warning about a `?` that raises.
type raisedError struct {
	m *module
	d *diag.Diagnostic
}

// uncaughtErrors reports each `?` that raises, if the program has a `main` and nothing in it
// catches errors: no `try`, listen, tool, pipeline or `@retry`, and no function of the library
// that does. In a program with errors, what is missing may be what catches.
func (c *checker) uncaughtErrors() {
	if c.diags.HasErrors() || c.catches || c.entry.names["main"] == nil || len(c.prog.Tools) > 0 || len(c.prog.Pipelines) > 0 {
		return
	}
	for _, m := range c.lib.library {
		if m.std == "fleet" || m.std == "merge" {
			return
		}
	}
	for _, r := range c.raised {
		c.report(r.m, r.d)
	}
}

// noteCatch records that a declaration in m catches errors.
func (c *checker) noteCatch(m *module) {
	if m.info.Library {
		return
	}
	c.catches = true
	if n := c.bodies.noting; n != nil {
		n.catches = true
	}
}

// throw checks `throw x`.
func (b *body) throw(e *ast.ThrowExpr) types.Type {
	t := types.Resolve(b.expr(e.X, nil))
	if t != types.Bad && !types.IsAny(t) && !types.IsErrorLike(t) {
		b.report(diag.ThrowValue.At(e.X.Span(), "a `%s` cannot be thrown", types.Full(t)).Hint("throw an error such as `Error::new(…)`, or plain data"))
	}
	if types.Resolve(t) != types.Bad {
		b.info.conv[e.X.ID()] = types.Any
	}
	b.throwing = true
	b.info.details[e.Id] = b.leave(t, false, e.Sp)
	b.throwing = false
	return types.Never
}

// leave returns the Leave of an error with type err. none reports that the error is a None.
func (b *body) leave(err types.Type, none bool, at source.Span) *Leave {
	if ts := b.frame.try; ts != nil {
		l := &Leave{Kind: LeaveTry, Option: none, Try: ts.x}
		if !ts.bare && !hasBareCatch(ts.x) {
			saved := b.frame.try
			b.frame.try = ts.outer
			l.Next = b.leave(err, none, at)
			b.frame.try = saved
		}
		return l
	}
	return b.leaveFrame(err, none, at)
}

// leaveHeld returns the Leave of an error whose type is known only at run time. The error is
// returned if the function's result may contain any error, and otherwise raised.
func (b *body) leaveHeld() *Leave {
	raise := &Leave{Kind: LeaveRaise}
	if ts := b.frame.try; ts != nil {
		return &Leave{Kind: LeaveTry, Try: ts.x, Next: raise}
	}
	f := b.frame
	if f.concurrent != nil || f.raises || f.result == nil {
		return raise
	}
	if r, ok := types.Resolve(f.result).(*types.Result); ok {
		if e := types.Resolve(r.Err); e == types.Error || types.IsAny(e) {
			return &Leave{Kind: LeaveReturn}
		}
	}
	return raise
}

func hasBareCatch(x *ast.TryExpr) bool {
	for _, c := range x.Catches {
		if c.Type == nil {
			return true
		}
	}
	return false
}

// leaveFrame returns the Leave of an error that leaves the function, closure or handler. The error
// becomes an Err or None of the result, or is raised.
func (b *body) leaveFrame(err types.Type, none bool, at source.Span) *Leave {
	f := b.frame
	if f.concurrent != nil {
		return b.leaveBody(err, none, at)
	}
	raise := &Leave{Kind: LeaveRaise, Option: none}
	if f.result == nil && !f.raises {
		f.leaves = append(f.leaves, pendingLeave{raise, err, none, at})
	}
	if f.raises || f.result == nil {
		return raise
	}
	switch r := types.Resolve(f.result).(type) {
	case *types.Result:
		return b.leaveResult(r, err, none, at)
	case *types.Option:
		if none {
			return &Leave{Kind: LeaveReturn, Option: true}
		}
		if f.handler {
			return raise
		}
		b.report(diag.QuestionKind.At(at, "the function returns `%s`, so `?` cannot return an error", types.Full(r)).
			Repair(diag.UnsafeFix(diag.Insert(at.End-1, ".ok()"), "Write `.ok()?`"), "discard the error with `.ok()?`, or return a Result"))
	}
	return raise
}

func (b *body) leaveResult(r *types.Result, err types.Type, none bool, at source.Span) *Leave {
	l := &Leave{Kind: LeaveReturn, Option: none}
	if none {
		l.NoneError = true
		err = b.c.errorType("RuntimeError")
		if err == nil {
			return l
		}
	}
	if ok, _ := types.Conversion(err, r.Err); ok && (types.Resolve(err) != types.Int || types.Resolve(r.Err) != types.Float) {
		return l
	}
	if fn := b.c.conforms.from(err, r.Err); fn != nil {
		b.c.lib.use(fn)
		l.Convert = fn
		return l
	}
	if fn := b.c.messageFunction(err, r.Err); fn != nil && !none {
		b.c.lib.use(fn)
		l.Convert = fn
		return l
	}
	if none {
		b.report(diag.QuestionKind.At(at, "the function returns `%s`, so `?` cannot return None", types.Full(r)).
			Hint("convert None to an error: `.ok_or(…)?`"))
		return l
	}
	d := diag.ErrorConversion.At(at, "no conversion from `%s` to `%s`", types.Full(err), types.Full(r.Err))
	b.explainType(d, b.frame.because)
	to := edits.Example(r.Err)
	if b.throwing {
		d.Hint("throw the declared error type: `throw %s`, or add `impl From<%s> for %s`", to, types.Full(err), types.Full(r.Err))
	} else {
		d.WithFixes(mapError(at, err, r.Err)...).Hint("convert it with `.map_err(|e| %s)?`, or add `impl From<%s> for %s`", to, types.Full(err), types.Full(r.Err))
	}
	b.report(d)
	return l
}

// errorType returns the built-in error type with the given name. It returns nil if the program is
// compiled without the library.
func (c *checker) errorType(name string) types.Type {
	e := c.universe(c.entry, name)
	if e == nil || e.typ == nil {
		return nil
	}
	return &types.Named{Decl: e.typ}
}

// isFrom reports whether t is the built-in trait From.
func isFrom(t ast.Type) bool {
	n, ok := t.(*ast.NamedType)
	return ok && len(n.Segments) == 1 && n.Segments[0].Name == "From" && len(n.Args) == 1
}

// conversion describes one `impl From<E1> for E2`.
type conversion struct {
	from, to types.Type
	fn       *Function
}

// defineFrom records the conversion of an `impl From`.
func (c *checker) defineFrom(m *module, d *ast.ImplDecl, im *impl, ts *typeScope) {
	from := c.resolve(ts, d.Trait.(*ast.NamedType).Args[0])
	fn := im.methods["from"]
	if fn == nil || len(fn.Params) != 1 || !types.Identical(fn.Params[0].Type, from) || !types.Identical(fn.CallType(), im.target) {
		c.report(m, diag.BadFrom.At(d.Trait.Span(), "`impl From<%s> for %s` must contain exactly the function `from`", from, im.target).
			WithFixes(renameToFrom(d, im, from)...).Hint("declare `fn from(e: %s) -> %s`", from, im.target))
		return
	}
	c.conforms.froms = append(c.conforms.froms, conversion{from, im.target, fn})
}

// from returns the function that converts an error of type err to type to, or nil.
func (k *conformance) from(err, to types.Type) *Function {
	for _, v := range k.froms {
		if types.Identical(v.from, err) && types.Identical(v.to, to) {
			return v.fn
		}
	}
	return nil
}

// messageFunction returns the function that converts a library error to its message, if type to is
// String. Otherwise it returns nil.
func (c *checker) messageFunction(err, to types.Type) *Function {
	err = types.Resolve(err)
	n, ok := err.(*types.Named)
	if types.Resolve(to) != types.String || err != types.Error && (!ok || n.Decl.Kind != types.ErrorStruct) {
		return nil
	}
	return c.libraryMethod("Error", types.Error, "to_string")
}

// try checks a try and its clauses. The type of a try without clauses is Result<T, Error>.
func (b *body) try(e *ast.TryExpr, want types.Type, why reason) types.Type {
	b.c.noteCatch(b.m)
	d := &Try{Bare: len(e.Catches) == 0}
	b.info.details[e.Id] = d
	defer b.asReached()()
	entry := b.flow.clone()
	b.frame.try = &tryScope{b.frame.try, e, d.Bare}
	if d.Bare {
		return b.bareTry(e, want, entry)
	}
	t := b.blockValue(e.Body, want, why)
	b.frame.try = b.frame.try.outer
	out := b.flow
	values := []branchValue{{e.Body, nil, t}}
	for _, c := range e.Catches {
		b.flow = joinFlow(entry, out).clone()
		b.flow.dead = entry.dead
		ct := b.catch(c, d, want, why)
		out = joinFlow(out, b.flow)
		values = append(values, branchValue{c.Body, nil, ct})
	}
	b.flow = out
	b.warnUnreachableCatches(e, d)
	if b.flow.dead {
		return types.Never
	}
	if want != nil {
		return want
	}
	return b.joinBranches(values)
}

func (b *body) bareTry(e *ast.TryExpr, want types.Type, entry flow) types.Type {
	var inner types.Type
	if r, ok := hinted(want).(*types.Result); ok {
		inner = r.Ok
	}
	t := b.blockValue(e.Body, inner, reason{})
	if inner != nil {
		t = inner
	}
	b.frame.try = b.frame.try.outer
	b.flow = joinFlow(b.flow, entry)
	b.flow.dead = entry.dead
	out := &types.Result{Ok: t, Err: types.Error}
	if want == nil || types.Resolve(want) == types.Nil {
		return out
	}
	b.coerce(e, out, want, reason{})
	return want
}

func (b *body) catch(c *ast.Catch, d *Try, want types.Type, why reason) types.Type {
	t := types.Type(types.Error)
	if c.Type != nil {
		t = b.c.resolve(b.ts, c.Type)
	}
	d.Types = append(d.Types, t)
	b.enterScope()
	var l *Local
	if c.Name != nil {
		l = &Local{Name: c.Name.Name, Type: t, At: c.Name.Sp}
		l.used = true
		b.bind(l)
	}
	d.Catches = append(d.Catches, l)
	out := b.blockValue(c.Body, want, why)
	b.leaveScope()
	return out
}

// warnUnreachableCatches warns about catch clauses whose errors an earlier clause catches.
func (b *body) warnUnreachableCatches(e *ast.TryExpr, d *Try) {
	for i, c := range e.Catches {
		for j := range i {
			if types.Resolve(d.Types[j]) == types.Error || types.Identical(d.Types[i], d.Types[j]) && d.Types[i] != types.Bad {
				b.report(diag.UnreachableArm.At(c.Sp, "unreachable `catch`").
					Label(e.Catches[j].Sp, "this clause already catches these errors").Hint("remove the clause, or move it before the other"))
				break
			}
		}
	}
}
