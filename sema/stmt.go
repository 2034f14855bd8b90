package sema

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// blockValue checks a block. want is the expected type, or nil if the type is inferred. It returns
// the type of the block, which is Never if the end of the block is unreachable.
func (b *body) blockValue(blk *ast.Block, want types.Type, why reason) types.Type {
	defer b.asReached()()
	b.enterScope()
	leave := b.declareItems(blk)
	b.statements(blk, want != nil && !acceptsNil(want))
	outer := b.here
	if blk.Tail != nil {
		b.here = blk.Tail.Span().Start
	}
	t := b.tail(blk, want, why)
	b.here = outer
	leave()
	b.leaveScope()
	if b.flow.dead {
		return types.Never
	}
	return t
}

// statements checks the statements of a block. valued reports that the block must have a value.
// Then the last statement is not reported as unused, because its value may be meant as that of the
// block.
func (b *body) statements(blk *ast.Block, valued bool) {
	warned := !b.isReachable() // an unreachable block has already been reported
	for i, s := range blk.Stmts {
		warned = b.warnUnreachable(s.Span(), warned)
		errors := b.errors
		b.stmt(s)
		x, isExpr := s.(*ast.ExprStmt)
		if last := blk.Tail == nil && i == len(blk.Stmts)-1; isExpr && b.errors == errors && !(last && valued) {
			b.warnIdle(x.X)
		}
	}
	if blk.Tail != nil {
		b.warnUnreachable(blk.Tail.Span(), warned)
	}
}

func (b *body) warnUnreachable(at source.Span, warned bool) bool {
	if b.flow.dead && !warned {
		b.report(diag.Unreachable.At(at, "unreachable code").
			Repair(diag.UnsafeFix(diag.Remove(edits.WithItsLines(b.info.File.Source, at)), "Remove the unreachable code"), "remove it, or the statement before it that always leaves"))
		return true
	}
	return warned
}

// tail checks the expression at the end of a block.
func (b *body) tail(blk *ast.Block, want types.Type, why reason) types.Type {
	switch {
	case blk.Tail == nil:
		if want == nil || b.flow.dead {
			return types.Nil
		}
		b.reportEmptyTail(blk, types.Resolve(want), why)
		return want
	case want == nil:
		return b.expr(blk.Tail, nil)
	case types.Resolve(want) == types.Nil:
		errors := b.errors
		b.discard(blk.Tail)
		if fn := b.frame.fn; b.errors == errors && (fn == nil || fn.Decl.Body != blk) {
			b.warnIdleTail(blk.Tail)
		}
		return types.Nil
	default:
		return b.checkAs(blk.Tail, want, why)
	}
}

// reportEmptyTail reports a block that has no value, although a value is expected.
func (b *body) reportEmptyTail(blk *ast.Block, want types.Type, why reason) {
	if ok, _ := types.Conversion(types.Nil, want); ok {
		return
	}
	at := source.Span{Start: blk.Sp.End - 1, End: blk.Sp.End}
	d := diag.MissingValue.At(at, "expected `%s`, but the block has no value (Nil)", want)
	if n := len(blk.Stmts); n > 0 {
		if s, ok := blk.Stmts[n-1].(*ast.ExprStmt); ok {
			if t := b.info.types[s.X.ID()]; t != nil && s.Semi {
				if ok, _ := types.Conversion(t, want); ok && !types.IsAny(t) {
					b.explainType(d, why)
					b.report(d.Repair(diag.SafeFix(diag.Remove(source.Span{Start: s.X.Span().End, End: s.Sp.End}), "Remove the `;`"), "remove the `;` after the last expression"))
					return
				}
			}
		}
	}
	b.explainType(d, why)
	b.report(d.Hint("end the block with a value, or leave it with `return`, `throw` or `panic`"))
}

// explainType adds a label that explains why a type is expected.
func (b *body) explainType(d *diag.Diagnostic, why reason) {
	if why.m == nil || why.at.IsZero() {
		return
	}
	if why.m != b.m {
		d.LabelIn(why.m.info.File.Source, why.at, "%s", why.text)
		return
	}
	d.Label(why.at, "%s", why.text)
}

func (b *body) stmt(s ast.Stmt) {
	b.c.checkStop()
	outer := b.here
	b.here = s.Span().Start
	switch s := s.(type) {
	case *ast.LetStmt:
		b.let(s)
	case *ast.ExprStmt:
		b.discard(s.X)
	case *ast.MockStmt:
		b.mock(s)
	case *ast.BadStmt, *ast.DeclStmt: // declared before, or reported by the parser
	}
	b.here = outer
}

// declareItems makes the declarations in a block visible in the whole block. The declarations form
// a module. It can use the names of the enclosing modules, but not the variables. The returned
// function restores the enclosing module.
func (b *body) declareItems(blk *ast.Block) (leave func()) {
	var decls []ast.Decl
	for _, s := range blk.Stmts {
		if d, ok := s.(*ast.DeclStmt); ok {
			decls = append(decls, d.Decl)
		}
	}
	if len(decls) == 0 {
		return func() {}
	}
	outer, outerTypes := b.m, b.ts
	b.m = &module{info: b.info, around: outer, names: map[string]*entity{}, dir: outer.dir, vars: b.scope}
	b.ts = &typeScope{m: b.m, parent: outerTypes}
	pending := len(b.c.configs)
	b.c.declareNames(b.m, decls)
	b.c.define(b.m)
	for ; pending < len(b.c.configs); pending++ {
		b.c.configs[pending]()
	}
	b.scope.declares = map[string]bool{}
	for name := range b.m.names {
		b.scope.declares[name] = true
	}
	inner := b.m
	b.info.noteBlock(blk, inner)
	if b.c.bodies.noting != nil {
		b.c.bodies.noting.declares = true
	}
	return func() {
		b.c.warnUnusedImports(inner)
		b.m, b.ts = outer, outerTypes
	}
}

func (b *body) let(s *ast.LetStmt) {
	start := len(b.scope.locals)
	defer func() {
		for _, l := range b.scope.locals[start:] {
			l.let = s.Sp.Start + source.Pos(len("let"))
			if _, isName := s.Pattern.(*ast.NamePat); isName && s.Else == nil {
				l.value = s.Value
				if s.Value != nil && types.IsAny(l.Type) && s.Type == nil {
					l.known = b.knownType(s.Value)
				}
			}
		}
		b.warnHiddenFunctions(b.scope.locals[start:])
	}()
	if s.Value == nil {
		b.lateLet(s)
		return
	}
	var t types.Type
	if b.reportNamedEmit(s) {
		return
	}
	if s.Type != nil {
		t = b.c.resolve(b.ts, s.Type)
		b.checkAs(s.Value, t, reason{b.m, s.Type.Span(), "the variable's type"})
	} else {
		if p, is := s.Pattern.(*ast.NamePat); is && b.c.cfg.Line != "" && p.Name.Name == b.c.cfg.Line {
			b.line, _ = s.Value.(*ast.Closure)
		}
		t = b.expr(s.Value, nil)
		if s.Mut {
			t = anyDeclared(t)
		}
		if b.info.File.IsFlawed(s.Value) { // the value has syntax errors
			t = types.Bad
		}
	}
	if s.Else != nil {
		b.letElse(s, t)
		return
	}
	b.bindIrrefutable(s.Pattern, t, s.Mut, "`let`", diag.HintAdvice("add `else { … }` that leaves the block, or use `match`").
		WithFix(diag.UnsafeFix(diag.Insert(s.Value.Span().End, " else { "+edits.NotWritten+" }"), "Add an `else`")))
}

// reportNamedEmit reports a variable to which an emit without await is assigned, because such an
// emit has no value. It returns false if there is no error.
func (b *body) reportNamedEmit(s *ast.LetStmt) bool {
	e, isEmit := unparen(s.Value).(*ast.EmitExpr)
	p, isName := s.Pattern.(*ast.NamePat)
	if !isEmit || !isName || e.Await || p.Name.Name[0] == '_' {
		return false
	}
	b.expr(e, nil)
	b.report(diag.EmitType.At(e.Sp, "an `emit` without `await` has no answer").
		Repair(diag.UnsafeFix(diag.Insert(e.Sp.Start, "await "), "Await it"), "write `let %s = await %s`, which returns a Result", p.Name.Name, b.sourceText(e)))
	l := &Local{Name: p.Name.Name, Type: types.Bad, Mut: s.Mut, At: p.Name.Sp, used: true}
	b.info.types[p.Id], b.info.objects[p.Id] = types.Bad, l
	b.bind(l)
	return true
}

func (b *body) letElse(s *ast.LetStmt, t types.Type) {
	before := b.flow.clone()
	got := b.blockValue(s.Else, nil, reason{})
	if got != types.Never {
		b.report(diag.LetElseFalls.At(s.Else.Sp, "the `else` of a `let` must not reach its end").
			Hint("end it with `return`, `throw`, `break`, `continue` or `panic`"))
	}
	b.flow = before
	b.pattern(s.Pattern, t, s.Mut)
}

// lateLet declares a variable without a value, which is assigned later.
func (b *body) lateLet(s *ast.LetStmt) {
	p, ok := s.Pattern.(*ast.NamePat)
	if !ok {
		b.report(diag.LetWithoutValue.At(s.Pattern.Span(), "a pattern needs a value").Hint("add `= value`"))
		return
	}
	var t types.Type
	if s.Type != nil {
		t = b.c.resolve(b.ts, s.Type)
	} else {
		t = b.freshVar(p.Sp, "the type of `"+p.Name.Name+"`", "write `let "+p.Name.Name+": Type;`")
	}
	l := &Local{Name: p.Name.Name, Type: t, Mut: s.Mut, Late: true, At: p.Name.Sp}
	b.info.types[p.Id], b.info.objects[p.Id] = t, l
	b.bind(l)
	b.flow.late = append(b.flow.late, lateState{l, mayUnset})
}

// discard checks an expression whose value is not used.
func (b *body) discard(e ast.Expr) {
	t := types.Resolve(b.expr(e, types.Nil))
	if t != types.Nil && t != types.Never {
		b.info.conv[e.ID()] = types.Nil
	}
	b.warnUnused(e, t)
}

// warnUnused warns about a discarded value of type t if evaluating the expression has no other
// effect.
func (b *body) warnUnused(e ast.Expr, t types.Type) {
	_, isTask := t.(*types.Task)
	switch {
	case isStream(t):
		b.report(diag.UnusedResult.At(e.Span(), "this stream is never read, so the request has no effect").Hint(streamHint))
		return
	case isTask:
		b.report(diag.UnusedResult.At(e.Span(), "this Task is discarded").WithFixes(edits.Await(e, "")).Hint(taskHint))
		return
	case holdsResult(t):
		b.lose(e, t)
		return
	}
	call, ok := e.(*ast.MethodCall)
	if !ok || t == types.Nil || t == types.Never {
		return
	}
	d := b.info.Call(call)
	if d != nil && d.Fn != nil && d.Fn.isPure() {
		b.report(diag.UnusedResult.At(e.Span(), "the result of `%s` is discarded", call.Name.Name).
			WithFixes(b.assignFix(call, t)...).Hint("it does not change its receiver; assign the result"))
	}
}

// isPure reports whether a method has no effect except its value. This is the case for the
// methods of library types that do not change their receiver, and for the methods of a builder.
func (fn *Function) isPure() bool {
	if !fn.Info.Library || fn.Recv == nil || fn.MutSelf || fn.Effect != "" {
		return false
	}
	if strings.HasPrefix(fn.Decl.Name.Name, "unwrap") || fn.Decl.Name.Name == "expect" || fn.Decl.Name.Name == "each" {
		return false // a program calls the method for its error, or for the effect of a closure argument
	}
	switch t := types.Resolve(fn.Recv).(type) {
	case *types.Array, *types.Map, *types.Option, *types.Result:
		return true
	case *types.Basic:
		if t == types.Agent || t == types.Host {
			return types.Resolve(fn.Result) == t // a method of a builder
		}
		return t == types.String || t == types.Int || t == types.Float || t == types.Bool
	}
	return false
}

// A Result is lost if its value is discarded, or if no code of the function reads the variable that
// contains it. The checker warns about it, and the generated code logs its Err, so that a failure
// leaves a trace. `let _ = …` and a name that starts with `_` state that this is intended.

// The hints of the warnings about lost values.
const (
	lostHint   = "handle it with `?` or `match`, or write `let _ = …`"
	taskHint   = "`await` it, or write `let _ = …`"
	streamHint = "read it with `for`, or call `execute`"
)

// isStream reports whether t is a stream of an agent or a host.
func isStream(t types.Type) bool {
	n, ok := types.Resolve(t).(*types.Named)
	return ok && n.Decl.Library && slices.Contains([]string{"Stream", "TypedStream", "HostStream"}, n.Decl.Name)
}

// holdsResult reports whether a value of type t is a Result, or a container of Results.
func holdsResult(t types.Type) bool {
	switch t := types.Resolve(t).(type) {
	case *types.Result:
		return true
	case *types.Option:
		return holdsResult(t.Elem)
	case *types.Array:
		return holdsResult(t.Elem)
	case *types.Map:
		return holdsResult(t.Value)
	case *types.Tuple:
		for _, e := range t.Elems {
			if holdsResult(e) {
				return true
			}
		}
	}
	return false
}

// lose warns about the discarded value of e, which has type t and holds a Result. The generated
// code calls the library function that logs an Err.
func (b *body) lose(e ast.Expr, t types.Type) {
	if b.info.Library {
		return
	}
	if b.info.lost == nil {
		b.info.lost = map[ast.ID]bool{}
	}
	b.info.lost[unparen(e).ID()] = true
	b.c.prog.OnLost = b.libraryHelper("__lost")
	if _, single := t.(*types.Result); !single {
		b.report(diag.UnusedResult.At(e.Span(), "the Results in this value are discarded, together with any errors in them").
			Hint("handle each with `?` or `match`, or write `let _ = …`"))
		return
	}
	b.report(diag.UnusedResult.At(e.Span(), "this Result is discarded, together with any error in it").
		WithFixes(handleFixes(e, e.Span())...).Hint(lostHint))
}

// loseVariables records the variables among the unread ones that hold a Result.
func (b *body) loseVariables() {
	for _, l := range b.unread {
		if !b.info.Library && !l.Param && holdsResult(l.Type) {
			l.Lost = true
			b.c.prog.OnLost = b.libraryHelper("__lost")
		}
	}
}

// lostVariable returns the warning about a variable that is never read, although a failure is then
// lost. It returns nil if the variable has another type.
func lostVariable(l *Local) *diag.Diagnostic {
	t := types.Resolve(l.Type)
	task, isTask := t.(*types.Task)
	switch {
	case l.Param:
		return nil
	case isStream(t):
		return diag.UnusedResult.At(l.At, "stream `%s` is never read, so the request has no effect", l.Name).Hint(streamHint)
	case isTask && holdsResult(task.Elem):
		return diag.UnusedResult.At(l.At, "task `%s` is never awaited, so its Result is discarded", l.Name).Hint(taskHint)
	case !holdsResult(t):
		return nil
	}
	d := diag.UnusedResult.At(l.At, "variable `%s` is never read, so its Result is discarded, together with any error in it", l.Name)
	if _, single := t.(*types.Result); single && l.value != nil && !l.Mut {
		d.WithFixes(handleFixes(l.value, source.Span{Start: l.let - source.Pos(len("let")), End: l.value.Span().End})...)
	}
	return d.Hint(lostHint)
}

// handleFixes returns the fixes that handle the Result of e. at is the span of the code that they
// replace: e itself, or a `let` with e up to its end.
func handleFixes(e ast.Expr, at source.Span) []diag.Fix {
	before := source.Span{Start: at.Start, End: e.Span().Start}
	var out []diag.Fix
	if edits.IsPostfix(e) {
		out = append(out, diag.Fix{Title: "Add `?`", Edits: append(removed(before), diag.Insert(at.End, "?"))})
	}
	arms := " { Ok(_) => {}, Err(e) => panic(\"${e}\") }"
	return append(out, diag.Fix{Title: "Handle it with `match`", Edits: []diag.Edit{diag.Replace(before, "match "), diag.Insert(at.End, arms)}})
}

// removed returns the edit that removes a span, or none if the span is empty.
func removed(at source.Span) []diag.Edit {
	if at.Start == at.End {
		return nil
	}
	return []diag.Edit{diag.Remove(at)}
}
