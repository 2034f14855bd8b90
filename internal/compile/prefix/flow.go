package prefix

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// sources contains the functions of std whose results change with each call or run.
var sources = []string{
	"time.now", "time.now_ms", "time.monotonic_ms", "time.measure", "random.float", "random.int", "random.bool", "random.choice",
	"random.shuffle", "random.uuid", "crypto.uuid", "crypto.random_bytes", "run.id", "run.key", "run.usage",
}

// value is an expression whose value changes.
type value struct {
	info *sema.Info
	at   source.Span
	name string // text of the source, such as "time::now()"
}

// piece is a part of a text: a changing value, a constant text, or something unknown.
type piece struct {
	value  *value
	length int  // number of characters, if the text is constant
	file   bool // the text is that of a file
}

// scope contains what is known about the variables of a body: their definitions, and the arguments
// of its parameters.
type scope struct {
	info    *sema.Info
	body    source.Span
	defs    map[*sema.Local][]def
	args    map[*sema.Local]def
	current map[*sema.Local][]piece // texts of the variables that are being followed
	use     source.Pos              // later definitions are ignored
}

// def is one definition of a variable.
type def struct {
	in    *scope // scope of x; nil means that of the variable
	x     ast.Expr
	adds  bool       // x is added to the variable: by `+=`, or by a method such as push
	part  bool       // the variable is a part of x
	conds []ast.Expr // conditions under which it is executed
}

// deepest is the number of calls and variables that are followed into each other, and mostSteps the
// number of expressions that are followed for one call of an agent.
const (
	deepest   = 24
	mostSteps = 10_000
)

// newScope finds the definitions of variables in a body.
func (a *analysis) newScope(info *sema.Info, body *ast.Block) *scope {
	s := &scope{info: info, body: body.Sp, defs: a.defs[body], current: map[*sema.Local][]piece{}, use: body.Sp.End}
	if s.defs == nil {
		s.defs = map[*sema.Local][]def{}
		a.defs[body] = s.defs
		s.collect(body, nil)
	}
	return s
}

func (s *scope) collect(n ast.Node, conds []ast.Expr) {
	switch n := n.(type) {
	case *ast.DeclStmt:
		return
	case *ast.LetStmt:
		s.bind(n.Pattern, n.Value, conds)
	case *ast.LetCond:
		s.bind(n.Pattern, n.X, conds)
	case *ast.ForExpr:
		s.bind(n.Pattern, n.Iter, conds)
	case *ast.MatchExpr:
		conds = append(slices.Clip(conds), n.Subject)
		for _, arm := range n.Arms {
			s.bind(arm.Pattern, n.Subject, conds)
		}
	case *ast.Assign:
		s.define(n.Target, def{x: n.Value, adds: n.Op != ast.OpNone, conds: conds})
	case *ast.MethodCall:
		if slices.Contains([]string{"push", "append", "insert", "extend", "prepend"}, n.Name.Name) {
			for _, arg := range n.Args {
				s.define(n.Recv, def{x: arg.Value, adds: true, conds: conds})
			}
		}
	case *ast.IfExpr:
		conds = append(slices.Clip(conds), n.Cond)
	case *ast.WhileExpr:
		conds = append(slices.Clip(conds), n.Cond)
	}
	ast.Children(n, func(c ast.Node) { s.collect(c, conds) })
}

// bind adds the definitions of the variables in a pattern.
func (s *scope) bind(p ast.Pattern, x ast.Expr, conds []ast.Expr) {
	if x == nil {
		return
	}
	if name, ok := p.(*ast.NamePat); ok {
		s.define(name, def{x: x, conds: conds})
		return
	}
	inspect(p, func(n ast.Node) {
		if name, ok := n.(*ast.NamePat); ok {
			s.define(name, def{x: x, part: true, conds: conds})
		}
	})
}

// define adds a definition of the variable to which n refers, if it is one.
func (s *scope) define(n interface{ ID() ast.ID }, d def) {
	if p, ok := n.(*ast.PathExpr); ok && len(p.Segments) != 1 {
		return
	}
	if l, ok := s.info.Object(n).(*sema.Local); ok {
		s.defs[l] = append(s.defs[l], d)
	}
}

// local returns the variable to which an expression refers, or nil, with its definitions before the
// use, the first of which may be an argument.
func (s *scope) local(x ast.Expr) (l *sema.Local, defs []def) {
	l, _ = objectOf(s.info, x).(*sema.Local)
	if l == nil {
		return nil, nil
	}
	if arg, ok := s.args[l]; ok {
		defs = append(defs, arg)
	}
	for _, d := range s.defs[l] {
		if d.x.Span().Start < s.use {
			d.in = s
			defs = append(defs, d)
		}
	}
	return l, defs
}

// objectOf returns the object to which an expression refers, or nil.
func objectOf(info *sema.Info, x ast.Expr) sema.Object {
	if p, ok := plain(x).(*ast.PathExpr); ok {
		return info.Object(p)
	}
	return nil
}

// plain returns the expression whose value is that of x: without parentheses, `?` and `await`.
func plain(x ast.Expr) ast.Expr {
	for {
		switch e := x.(type) {
		case *ast.ParenExpr:
			x = e.X
		case *ast.Question:
			x = e.X
		case *ast.Await:
			x = e.X
		case *ast.Cast:
			x = e.X
		default:
			return x
		}
	}
}

// enter returns false if too much is being followed.
func (a *analysis) enter() bool {
	a.depth++
	a.steps++
	return a.depth <= deepest && a.steps <= mostSteps
}

func (a *analysis) leave() { a.depth-- }

// text returns the pieces of the text that is the value of x, or of the texts that it contains.
func (a *analysis) text(s *scope, x ast.Expr) []piece {
	defer a.leave()
	if !a.enter() {
		return nil
	}
	switch x := plain(x).(type) {
	case *ast.StringLit:
		return []piece{{length: utf8.RuneCountInString(x.Value)}}
	case *ast.InterpLit:
		var all []piece
		for i, t := range x.Texts {
			all = append(all, piece{length: utf8.RuneCountInString(t)})
			if i < len(x.Exprs) {
				all = append(all, a.text(s, x.Exprs[i])...)
			}
		}
		return all
	case *ast.Binary:
		if x.Op == ast.OpAdd {
			return append(a.text(s, x.X), a.text(s, x.Y)...)
		}
	case *ast.BlockExpr:
		if x.Block.Tail != nil {
			return a.text(s, x.Block.Tail)
		}
	case *ast.IfExpr:
		if v := a.changing(s, x.Cond); v == nil && x.Then.Tail != nil && x.Else != nil {
			if text := a.text(s, x.Then.Tail); firstChanging(text) >= 0 {
				return text
			}
			return a.text(s, x.Else)
		}
	case *ast.ArrayLit, *ast.StructLit: // joined, or the messages of chat
		var all []piece
		ast.Children(x, func(n ast.Node) {
			switch n := n.(type) {
			case *ast.FieldInit:
				all = append(all, a.text(s, n.Value)...)
			case ast.Expr:
				all = append(all, a.text(s, n)...)
			}
		})
		return all
	case *ast.PathExpr:
		if k, ok := s.info.Object(x).(*sema.Const); ok {
			t, _ := k.Value.(string)
			return []piece{{length: utf8.RuneCountInString(t)}}
		}
		return a.variable(s, x)
	case *ast.FieldExpr:
		if in, y := a.field(s, x.X, x.Name.Name); in != nil {
			return a.text(in, y)
		}
	case *ast.MethodCall:
		if name := x.Name.Name; name == "join" || name == "trim" || name == "to_string" {
			return a.text(s, x.Recv)
		}
		if text, ok := a.called(s, x); ok {
			return text
		}
	case *ast.Call:
		if fn := calledFunction(s.info, x); fn != nil && fn.Info.Library && fn.Name == "fs.read_file" {
			return []piece{{length: leastText, file: true}}
		}
		if text, ok := a.called(s, x); ok {
			return text
		}
	default: // the others are not divided
	}
	return a.opaque(s, x)
}

// called returns the text that a call of the program's function returns. A changing value of the
// function is that of the call, unless the function itself adds much text after it.
func (a *analysis) called(s *scope, x ast.Expr) ([]piece, bool) {
	in, result := a.inline(s, x)
	if in == nil {
		return nil, false
	}
	text, after := a.text(in, result), 0
	for i := len(text) - 1; i >= 0; i-- {
		after += text[i].length
		if v := text[i].value; v != nil && after < leastText {
			text[i].value = v.from(in, s, x)
		}
	}
	return text, true
}

// from returns v as a value of the call x in s, if it is a value of the called function.
func (v *value) from(in, s *scope, x ast.Expr) *value {
	if v.info == in.info && in.body.Contains(v.at) {
		return &value{s.info, x.Span(), s.info.File.Source.Slice(x.Span())}
	}
	return v
}

// opaque returns the text of an expression that cannot be divided: a changing value, or nothing
// that is known.
func (a *analysis) opaque(s *scope, x ast.Expr) []piece {
	if v := a.changing(s, x); v != nil {
		return []piece{{value: v}}
	}
	return nil
}

// variable returns the text of a variable after its definitions.
func (a *analysis) variable(s *scope, x *ast.PathExpr) []piece {
	l, defs := s.local(x)
	if text, ok := s.current[l]; ok {
		return text // it is used in its own definition
	}
	defer delete(s.current, l)
	for _, d := range defs {
		var text []piece
		if d.part {
			text = a.opaque(d.in, d.x)
		} else {
			text = a.text(d.in, d.x)
		}
		if v := a.anyChanging(s, d.conds); v != nil {
			text = append([]piece{{value: v}}, text...)
		}
		if d.adds {
			text = append(slices.Clip(s.current[l]), text...)
		}
		s.current[l] = text
	}
	return s.current[l]
}

// field returns the value of a field of a struct with its scope, if the literal that creates the
// struct is known.
func (a *analysis) field(s *scope, x ast.Expr, name string) (*scope, ast.Expr) {
	defer a.leave()
	if !a.enter() {
		return nil, nil
	}
	switch x := plain(x).(type) {
	case *ast.StructLit:
		for _, i := range x.Fields {
			if i.Name.Name == name && i.Value != nil {
				return s, i.Value
			}
		}
	case *ast.PathExpr:
		if _, defs := s.local(x); len(defs) == 1 && !defs[0].part {
			return a.field(defs[0].in, defs[0].x, name)
		}
	case *ast.Call, *ast.MethodCall:
		if in, y := a.inline(s, x); in != nil {
			return a.field(in, y, name)
		}
	default: // the others create no struct
	}
	return nil, nil
}

// calledFunction returns the function that a call calls, or nil.
func calledFunction(info *sema.Info, x ast.Expr) *sema.Function {
	if call := info.Call(x); call != nil && call.Kind == sema.CallFunction && call.Fn.Info != nil {
		return call.Fn
	}
	return nil
}

// inline returns the scope of a call of the program's function, and the expression at the end of
// its body. It returns nil if the function has no such expression.
func (a *analysis) inline(s *scope, x ast.Expr) (*scope, ast.Expr) {
	fn := calledFunction(s.info, x)
	if fn == nil || fn.Info.Library || fn.Decl == nil || fn.Decl.Body == nil {
		return nil, nil
	}
	body := fn.Decl.Body
	result := body.Tail
	if n := len(body.Stmts); result == nil && n > 0 {
		if e, ok := body.Stmts[n-1].(*ast.ExprStmt); ok {
			if r, ok := e.X.(*ast.ReturnExpr); ok {
				result = r.X
			}
		}
	}
	if result == nil {
		return nil, nil
	}
	a.p.CompleteFunction(fn)
	in := a.newScope(fn.Info, body)
	in.args = map[*sema.Local]def{}
	var written []*ast.Arg
	var recv ast.Expr
	switch x := x.(type) {
	case *ast.Call:
		written = x.Args
	case *ast.MethodCall:
		written, recv = x.Args, x.Recv
	default: // the others are no calls
	}
	for i, arg := range s.info.Call(x).Args {
		switch {
		case i >= len(fn.Params):
		case arg.Kind == sema.ArgWritten:
			in.args[fn.Params[i].Local] = def{in: s, x: written[arg.Index].Value}
		case arg.Kind == sema.ArgReceiver:
			in.args[fn.Params[i].Local] = def{in: s, x: recv}
		}
	}
	return in, result
}

// anyChanging returns a changing value on which one of the expressions depends, or nil.
func (a *analysis) anyChanging(s *scope, all []ast.Expr) *value {
	for _, x := range all {
		if v := a.changing(s, x); v != nil {
			return v
		}
	}
	return nil
}

// changing returns a changing value on which x depends, or nil.
func (a *analysis) changing(s *scope, n ast.Node) (v *value) {
	defer a.leave()
	if !a.enter() {
		return nil
	}
	switch n := n.(type) {
	case *ast.Block:
		if n.Tail == nil {
			return nil
		}
		return a.changing(s, n.Tail)
	case ast.Stmt, ast.Type, ast.Pattern, *ast.Ident, *ast.ListenExpr, *ast.EmitExpr, *ast.ForExpr, *ast.WhileExpr, *ast.LoopExpr:
		return nil
	case *ast.PathExpr:
		return a.changingVariable(s, n)
	case *ast.FieldExpr:
		if in, y := a.field(s, n.X, n.Name.Name); in != nil {
			return a.changing(in, y)
		}
	case *ast.Call, *ast.MethodCall:
		x := n.(ast.Expr)
		if fn := calledFunction(s.info, x); fn != nil {
			switch {
			case fn.Info.Library && slices.Contains(sources, fn.Name):
				return &value{s.info, x.Span(), s.info.File.Source.Slice(x.Span())}
			case fn.Effect != "" || isParty(fn.Recv):
				return nil
			case !fn.Info.Library:
				in, y := a.inline(s, x)
				if in == nil {
					return nil
				}
				if v = a.changing(in, y); v != nil {
					v = v.from(in, s, x)
				}
				return v
			}
		}
	}
	ast.Children(n, func(c ast.Node) {
		if v == nil {
			v = a.changing(s, c)
		}
	})
	return v
}

// isParty reports whether t is the type of an agent, a host or a tool, whose results are not
// predictable.
func isParty(t types.Type) bool {
	_, ok := t.(*types.Declared)
	return ok || slices.Contains([]types.Type{types.Agent, types.Host, types.Tool}, t)
}

// changingVariable returns a changing value on which a variable depends, or nil.
func (a *analysis) changingVariable(s *scope, x *ast.PathExpr) *value {
	l, defs := s.local(x)
	if _, ok := s.current[l]; ok {
		return nil // it is being followed
	}
	s.current[l] = nil
	defer delete(s.current, l)
	for _, d := range defs {
		if v := cmp.Or(a.changing(d.in, d.x), a.anyChanging(s, d.conds)); v != nil {
			return v
		}
	}
	return nil
}
