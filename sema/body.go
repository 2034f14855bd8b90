package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// body is the state of checking the body of one function.
type body struct {
	c     *checker
	m     *module
	info  *Info
	ts    *typeScope
	frame *frame
	scope *scope
	flow  flow
	loops []*loop
	pipes []pipedCall
	purpose
	deferredChecks

	here      source.Pos // start of the current statement; 0 outside blocks
	names     patternNames
	errors    int
	unknowns  map[string]bool         // undeclared names that have been reported
	known     map[ast.ID]types.Type   // types of the members of messages (message.go)
	unreached int                     // number of unreachable constructs that enclose the current position
	typed     map[ast.Expr]types.Type // types of arguments that were checked before their callee was chosen
}

// purpose describes the use of the current expression. Messages depend on it.
type purpose struct {
	receiver    ast.Expr     // receiver of the current method call; a pipeline may be used only here
	method      string       // method that is called on the receiver
	configField string       // field of a declaration whose value is being checked
	subject     ast.Expr     // subject of the match whose patterns are being checked
	throwing    bool         // the operand of a `throw` is being checked
	line        *ast.Closure // closure with the line to execute (Config.Line), or nil
}

// deferredChecks contains checks that are possible only at the end of the body.
type deferredChecks struct {
	vars   []pendingVar
	late   []func() // checks that run when all types are known
	unread []*Local // unused variables, which are reported if the body has no errors
}

// frame is a part of a function that `return` and `?` leave: a function, a closure, a handler or a
// stage. home is the frame that contains the variables. For a handler, this is the frame of the
// enclosing function.
type frame struct {
	parent  *frame
	home    *frame
	fn      *Function
	closure *Closure
	handler bool
	depth   int  // number of scopes that enclose a handler
	raises  bool // a stage, a test or Config.Line, whose errors do not become its value
	// concurrent is not nil in a concurrent body.
	concurrent *Concurrent
	// isRepeated is set in a decorated stage, because the stage may run several times.
	isRepeated bool
	result     types.Type // expected type of returned values; nil while the result type of a closure is inferred
	because    reason
	returns    []returnedValue
	leaves     []pendingLeave // uses of `?` in a closure whose result type is inferred
	try        *tryScope
}

// returnedValue is a value that a `return` in a closure with an inferred result type returns.
type returnedValue struct {
	x  ast.Expr
	ty types.Type
	at source.Span
}

// scope contains the variables of one block.
type scope struct {
	parent *scope
	locals []*Local
	// declares contains the names of the declarations in the block. They hide variables of outer
	// blocks.
	declares map[string]bool
	// latest contains, in a scope with many variables, the last variable of each name among the
	// first known variables.
	latest map[string]*Local
	known  int
}

// manyLocals is the number of variables above which find uses a map instead of a linear search.
const manyLocals = 32

// find returns the last variable with the given name, or nil.
func (s *scope) find(name string) *Local {
	if len(s.locals)-s.known > manyLocals {
		if s.latest == nil {
			s.latest = map[string]*Local{}
		}
		for _, l := range s.locals[s.known:] {
			s.latest[l.Name] = l
		}
		s.known = len(s.locals)
	}
	for i := len(s.locals) - 1; i >= s.known; i-- {
		if l := s.locals[i]; l.Name == name {
			return l
		}
	}
	return s.latest[name]
}

// cut removes all variables except the first n.
func (s *scope) cut(n int) {
	if s.locals = s.locals[:n]; s.known > n {
		s.latest, s.known = nil, 0
	}
}

// reason explains why a type is expected. It becomes the label of a mismatch.
type reason struct {
	m    *module
	at   source.Span
	text string
}

// pendingVar is an inference variable whose type later code of the body must determine.
type pendingVar struct {
	v    *types.Var
	at   source.Span
	what string
	hint string
}

func (c *checker) newBody(m *module, ts *typeScope, f *frame) *body {
	f.home = f
	m.info.fill()
	return &body{c: c, m: m, info: m.info, ts: ts, frame: f, scope: &scope{}}
}

// checkFunction checks the defaults and the body of a function.
func (c *checker) checkFunction(fn *Function) {
	fn.checked = true
	if fn.Native != "" || fn.Effect != "" {
		return
	}
	m := fn.mod
	f := &frame{fn: fn, result: fn.Result}
	if fn.Decl.Result != nil {
		f.because = reason{m, fn.Decl.Result.Span(), functionResult}
	} else {
		f.because = reason{m, fn.Decl.Signature, "the function has no result type, so it returns Nil"}
	}
	b := c.newBody(m, &typeScope{m: m, params: fn.Generics, self: fn.Recv}, f)
	if fn.assoc != nil {
		b.ts.self = fn.assoc
	}
	b.defaults(fn.Params) // the parameters are bound later, because a default cannot use them
	for _, p := range fn.Params {
		b.bind(p.Local)
	}
	if fn.Decl.Body != nil {
		b.blockValue(fn.Decl.Body, fn.Result, f.because)
		b.warnLostResult(fn)
	}
	b.finish()
	c.decorateFunction(fn)
}

func (b *body) defaults(params []*Param) {
	for _, p := range params {
		if p.Default != nil {
			b.checkAs(p.Default, p.Type, reason{b.m, p.At, "the parameter's type"})
		}
	}
}

// finish reports unused variables, and variables whose types are still unknown, at the end of the
// body.
func (b *body) finish() {
	b.leaveScope()
	for _, f := range b.late {
		f()
	}
	for _, p := range b.vars {
		if t := types.Resolve(p.v); t == types.Type(p.v) {
			p.v.Bound = types.Bad
			b.report(diag.CannotInfer.At(p.at, "cannot infer %s", p.what).Hint("%s", p.hint))
		}
	}
	if !b.hasErrors() && !b.m.info.Library {
		b.loseVariables()
		for _, l := range b.unread {
			b.c.unread = append(b.c.unread, unreadVariable{b.m, l, b.c.bodies.noting})
		}
	}
}

func (b *body) report(d *diag.Diagnostic) {
	if d.Severity() == diag.Error {
		b.errors++
	}
	b.c.report(b.m, d)
}

// hasErrors reports whether the checker has reported errors in the body.
func (b *body) hasErrors() bool { return b.errors > 0 }

// owner returns the enclosing function, or nil in the body of a stage or a constant.
func (b *body) owner() *Function {
	f := b.frame
	for f.parent != nil {
		f = f.parent
	}
	return f.fn
}

// freshVar returns an inference variable whose type must be known at the end of the body.
func (b *body) freshVar(at source.Span, what, hint string) *types.Var {
	v := b.c.newVar()
	b.vars = append(b.vars, pendingVar{v, at, what, hint})
	return v
}

func (b *body) enterScope() { b.scope = &scope{parent: b.scope} }

// leaveScope closes the innermost scope, and records its unused variables.
func (b *body) leaveScope() {
	for _, l := range b.scope.locals {
		if !l.used && l.Name != "" && l.Name[0] != '_' {
			b.unread = append(b.unread, l)
		}
	}
	b.scope = b.scope.parent
}

// unreadVariable is a variable that its body never reads.
type unreadVariable struct {
	m *module
	l *Local
	// found is the bodyResult of the function. If l is nil, found contains diagnostics of an
	// earlier check, which must be reported again.
	found *bodyResult
}

// unreadVariables warns about unused variables after all bodies are checked. It omits a variable
// that a nested function tried to read, because this is reported as another error.
func (c *checker) unreadVariables() {
	for _, u := range c.unread {
		if u.l == nil {
			for _, d := range u.found.unread {
				c.diags.Add(d)
			}
			continue
		}
		if u.l.used {
			continue
		}
		d := unusedVariable(u.l)
		before := c.diags.Len()
		c.report(u.m, d)
		if u.found != nil && c.diags.Len() > before {
			u.found.unread = append(u.found.unread, d)
		}
	}
}

// unusedVariable returns the warning about a variable that no code reads.
func unusedVariable(l *Local) *diag.Diagnostic {
	if d := lostVariable(l); d != nil {
		return d
	}
	what := "variable"
	if l.Param {
		what = "parameter"
	}
	d := diag.UnusedVariable.At(l.At, "%s `%s` is never read", what, l.Name)
	if l.Offered {
		return d.Hint("callers pass it by this name: use it or remove it")
	}
	return d.Repair(diag.UnsafeFix(diag.Insert(l.At.Start, "_"), "Rename to `_%s`", l.Name), "name it `_%s` if this is intended", l.Name)
}

// bind makes a variable visible for the code after the current position. The variable may shadow
// another one.
func (b *body) bind(l *Local) {
	l.frame, l.depth = b.frame.home, b.scopeDepth()
	b.scope.locals = append(b.scope.locals, l)
}

// local returns the variable with the given name, or nil, and records the closures that capture the
// variable.
func (b *body) local(name string) *Local {
	for s := b.scope; s != nil; s = s.parent {
		if l := s.find(name); l != nil {
			b.capture(l)
			return l
		}
		if s.declares[name] {
			return nil
		}
	}
	return nil
}

// capture adds l to the captures of every closure between the current position and the frame of l.
// Closures capture a mutable variable by reference, so it moves into a cell.
func (b *body) capture(l *Local) {
	for f := b.frame.home; f != nil && f != l.frame; {
		if f.closure != nil && !contains(f.closure.Captures, l) {
			f.closure.Captures = append(f.closure.Captures, l)
			if (l.Mut || l.Late) && f.concurrent == nil && !f.isRepeated {
				l.Cell = true
			}
		}
		if f.parent == nil {
			return
		}
		f = f.parent.home
	}
}

func contains(ls []*Local, l *Local) bool {
	for _, x := range ls {
		if x == l {
			return true
		}
	}
	return false
}

// flow is the state of the control flow at a position. dead reports that the position is
// unreachable. late contains the state of each variable that was declared without a value.
type flow struct {
	dead bool
	late []lateState
}

// lateState is the state of a variable that was declared without a value: maySet, maySet|mayUnset
// or mayUnset.
type lateState struct {
	l     *Local
	state uint8
}

const (
	mayUnset uint8 = 1 << iota
	maySet
)

func (f flow) clone() flow {
	f.late = append([]lateState(nil), f.late...)
	return f
}

// asReached makes the checker treat unreachable code as if it were reachable. Therefore only
// expressions that never return have the type Never. The caller must call end after this code.
func (b *body) asReached() (end func()) {
	if !b.flow.dead {
		return func() {}
	}
	b.flow.dead = false
	b.unreached++
	return func() {
		b.flow.dead = true
		b.unreached--
	}
}

// isReachable reports whether the current position is reachable.
func (b *body) isReachable() bool { return !b.flow.dead && b.unreached == 0 }

// joinFlow returns the state at a position that two paths reach.
func joinFlow(a, b flow) flow {
	if a.dead {
		return b
	}
	if b.dead {
		return a
	}
	out := a.clone()
	for i := range out.late {
		if i < len(b.late) {
			out.late[i].state |= b.late[i].state
		}
	}
	return out
}

func (f *flow) stateOf(l *Local) *lateState {
	for i := range f.late {
		if f.late[i].l == l {
			return &f.late[i]
		}
	}
	return nil
}
