package codegen

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// block generates a block whose value is not used.
func (f *builder) block(b *ast.Block) {
	defer f.free(f.top)
	f.statements(b)
	if b.Tail != nil {
		f.discard(b.Tail)
	}
}

// blockValue generates a block whose value has type t. leaving reports that the function returns
// the value: a variable's value is then returned without a mark.
func (f *builder) blockValue(b *ast.Block, t types.Type, hint int, leaving bool) val {
	if b.Tail == nil || types.Resolve(t) == types.Nil {
		f.block(b)
		return f.nilValue(hint)
	}
	if leaving {
		f.statements(b)
		return f.lastUse(b.Tail, hint)
	}
	c := class(t)
	d := f.target(hint)
	if f.isVar[d] {
		d = f.alloc()
	}
	top := f.top
	f.statements(b)
	if f.endsInVariable(b) {
		defer f.at(b.Tail.Span().Start)()
	}
	f.into(b.Tail, d, c, true)
	f.free(top)
	return val{reg: d, class: c, owned: true}
}

func (f *builder) statements(b *ast.Block) {
	for i, s := range b.Stmts {
		if let, ok := s.(*ast.LetStmt); ok {
			f.scope = scope{let: let, block: b, index: i}
		}
		f.stmt(s)
	}
}

func (f *builder) stmt(s ast.Stmt) {
	defer f.at(s.Span().Start)()
	switch s := s.(type) {
	case *ast.LetStmt:
		f.let(s)
	case *ast.ExprStmt:
		f.discard(s.X)
	case *ast.MockStmt:
		f.mock(s)
	case *ast.DeclStmt: // constants are inlined, and functions are generated separately
	default:
		bug(f.info, s.Span(), "%T cannot be generated", s)
	}
}

func (f *builder) let(s *ast.LetStmt) {
	if p, ok := s.Pattern.(*ast.NamePat); ok {
		if l, ok := f.info.Object(p).(*sema.Local); ok {
			f.letName(s, l)
			return
		}
	}
	scope := f.scope
	f.declarePattern(s.Pattern)
	top := f.top
	var match func(ast.Pattern, *label)
	if tuple := f.tupleFor(s.Value, s.Pattern); tuple != nil {
		match = f.parts(tuple, nil, scope)
	} else {
		v, t := f.markBorrowed(s.Value, f.value(s.Value, -1), scope), f.resultType(s.Value)
		match = func(p ast.Pattern, fail *label) { f.match(p, v, t, fail) }
	}
	if s.Else == nil {
		f.bindWith(s.Pattern, match)
		f.free(top)
		return
	}
	fail, end := &label{}, &label{}
	match(s.Pattern, fail)
	f.free(top)
	f.jump(ir.OpJump, 0, 0, end)
	f.bindLabel(fail)
	f.block(s.Else)
	f.bindLabel(end)
}

// letName declares the variable of a let. The class of an immutable variable is that of its value.
func (f *builder) letName(s *ast.LetStmt, l *sema.Local) {
	if s.Value == nil {
		v := f.declare(l)
		if v.cell {
			top := f.top
			f.init(v, f.nilValue(-1))
			f.free(top)
		}
		return
	}
	v := f.declare(l)
	if v.spill || v.cell {
		top := f.top
		x := f.value(s.Value, -1)
		f.markShared(x, f.resultType(s.Value))
		f.init(v, x)
		f.free(top)
		f.lostIn(l, s.Value)
		return
	}
	f.isVar[v.reg] = false // allows the code of the value to use the variable's register
	top := f.top
	scope := f.scope
	x := f.markBorrowed(s.Value, f.value(s.Value, v.reg), scope)
	if v.borrows(l, x) {
		v.borrowed = true
	} else {
		f.markShared(x, f.resultType(s.Value))
	}
	if !l.Mut {
		v.class = x.class
	}
	f.move(v.reg, v.class, x)
	f.hasValue(v)
	f.free(top)
	f.isVar[v.reg] = true
	f.lostIn(l, s.Value)
}

// ifStmt generates an if whose value is not used.
func (f *builder) ifStmt(e *ast.IfExpr) {
	no, end := &label{}, &label{}
	top := f.top
	f.scope = scope{nodes: []ast.Node{e.Then}}
	f.cond(e.Cond, no, false)
	f.block(e.Then)
	f.free(top)
	if e.Else == nil {
		f.bindLabel(no)
		return
	}
	f.jump(ir.OpJump, 0, 0, end)
	f.bindLabel(no)
	f.discard(e.Else)
	f.bindLabel(end)
}

func (f *builder) ifValue(e *ast.IfExpr, hint int) val {
	t := f.info.TypeOf(e)
	if t == types.Nil || e.Else == nil {
		f.ifStmt(e)
		return f.nilValue(hint)
	}
	c := class(t)
	d := f.scratch(hint)
	no, end := &label{}, &label{}
	top := f.top
	f.scope = scope{nodes: []ast.Node{e.Then}}
	f.cond(e.Cond, no, false)
	f.move(d, c, f.blockValue(e.Then, t, d, false))
	f.free(top)
	f.jump(ir.OpJump, 0, 0, end)
	f.bindLabel(no)
	f.into(e.Else, d, c, true)
	f.free(top)
	f.bindLabel(end)
	return val{reg: d, class: c, owned: true}
}

// lost generates the call that logs the errors in v, a value of type t that the program discards. e
// is the expression with the value.
func (f *builder) lost(e ast.Expr, v val, t types.Type) {
	f.logLost("the result of "+f.operationOf(e), e.Span().Start, v, t)
}

// lostIn does the same for the value of the variable l, if the program never reads it. e is the
// expression with the value, or nil if a pattern binds the variable.
func (f *builder) lostIn(l *sema.Local, e ast.Expr) {
	if !l.Lost || f.dead {
		return
	}
	defer f.free(f.top)
	v := f.read(place{v: f.variable(l), root: l.Type})
	if e != nil {
		f.lost(e, v, l.Type)
	} else {
		f.logLost("the Result in "+l.Name, l.At.Start, v, l.Type)
	}
}

func (f *builder) logLost(what string, at source.Pos, v val, t types.Type) {
	if f.dead || f.g.p.OnLost == nil { // a program without the library has no such function
		return
	}
	defer f.free(f.top)
	end := &label{}
	if _, single := types.Resolve(t).(*types.Result); single {
		f.jump(ir.OpJumpVariant, v.reg, 0, end)
	}
	w := f.alloc()
	f.stringValue(fmt.Sprintf("%s at %s:%s", what, f.info.File.Source.Name, f.places.Position(at)), f.alloc())
	r := f.alloc()
	f.emit(ir.OpMove, r, v.reg, 0, 0)
	f.emit(ir.OpShare, r, 0, 0, 0)
	f.invoke(f.g.p.OnLost, w)
	f.bindLabel(end)
}

// operationOf describes the operation that e performs: `listen Coder`, or the start of its text,
// such as `Coder.execute`.
func (f *builder) operationOf(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return f.operationOf(x.X)
	case *ast.ListenExpr:
		if l := f.info.Listen(x); l.Host != nil {
			return "listen " + l.Host.Name
		}
	case *ast.MethodCall:
		recv := x.Recv
		for {
			inner, ok := recv.(*ast.MethodCall)
			if !ok {
				break
			}
			recv = inner.Recv
		}
		return f.operationOf(recv) + "." + x.Name.Name
	default: // the others are described by their text
	}
	text, _, _ := strings.Cut(f.info.File.Source.Slice(e.Span()), "\n")
	if i := strings.IndexAny(text, "({"); i > 0 {
		text = text[:i]
	}
	return strings.TrimSpace(text)
}
