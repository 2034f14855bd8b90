package refactor

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// extractVariable binds the value of an expression to a new variable. The `let` is inserted
// directly before the statement that contains the expression.
func extractVariable(in *Input) []diag.Edit {
	nodes, e := in.selectedExpr()
	if e == nil || !in.hasValue(e) || in.isCalled(nodes) {
		return nil
	}
	s, ok := in.findInsertionPoint(nodes)
	if !ok || !areIndependent(in.effectsOf(s.first...), in.effectsOf(e)) {
		return nil
	}
	name := nameFor(nodes, e)
	if in.freshName(name) != name {
		name = in.freshName("value")
	}
	let := "let " + name
	if !in.isFixed(e) { // the meaning of the expression depends on its context
		t, ok := typeText(in.Info.TypeOf(e))
		if !ok {
			return nil
		}
		let += ": " + t
	}
	let += " = " + in.text(unparen(e)) + ";"
	switch st, alone := s.stmt.(*ast.ExprStmt); {
	case s.body != nil && s.body == e:
		return nil // the expression is the whole body of an arm or a closure
	case s.body != nil:
		return []diag.Edit{diag.Insert(s.body.Span().Start, "{\n"+let+"\n"), in.replaceWith(nodes, name), diag.Insert(s.body.Span().End, "\n}")}
	case alone && st.X == e:
		return []diag.Edit{diag.Replace(st.Sp, let)}
	}
	at := s.stmt.Span().Start
	return []diag.Edit{diag.Insert(at, let+"\n"+in.indent(at)), in.replaceWith(nodes, name)}
}

// selectedExpr returns the expression in the selected range and the nodes that contain it, the
// outermost first. The last node is the expression itself.
func (in *Input) selectedExpr() (nodes []ast.Node, e ast.Expr) {
	if !in.isComplete() || in.At.Start == in.At.End {
		return nil, nil
	}
	at := in.At
	if strings.HasSuffix(in.File.Slice(at), ";") {
		at.End -= source.Pos(len(semicolon(in.File.Slice(at))))
	}
	nodes = in.nodesAround(at)
	for i := len(nodes) - 1; i >= 0; i-- { // of several expressions with the same span, use the outermost
		if nodes[i].Span() != at {
			break
		}
		if x, ok := nodes[i].(ast.Expr); ok {
			e = x
		}
	}
	for len(nodes) > 0 && nodes[len(nodes)-1] != ast.Node(e) {
		nodes = nodes[:len(nodes)-1]
	}
	return nodes, e
}

// semicolon returns the end of a text, beginning with the blanks before its last `;`.
func semicolon(text string) string {
	return text[len(strings.TrimRight(text[:len(text)-1], " \t\r\n")):]
}

// hasValue reports whether an expression has a value that a variable can hold.
func (in *Input) hasValue(e ast.Expr) bool {
	if _, cond := e.(*ast.LetCond); cond {
		return false
	}
	t := in.Info.TypeOf(e)
	switch t.(type) {
	case *types.Declared, *types.Var:
		return false
	}
	return t != types.Bad && t != types.Never && t != types.Nil
}

// isCalled reports whether the last of nodes is in a position where the syntax requires its present
// form: it is called, piped into, listened to, or awaited with others.
func (in *Input) isCalled(nodes []ast.Node) bool {
	e := nodes[len(nodes)-1]
	for i := len(nodes) - 2; i >= 0; i-- {
		switch p := nodes[i].(type) {
		case *ast.Call:
			return ast.Node(p.Fn) == e
		case *ast.Pipe:
			return ast.Node(p.Right) == e || ast.Node(p.Call) == e
		case *ast.ListenExpr:
			return ast.Node(p.Call) == e
		case *ast.MapEntry:
			return ast.Node(p.Key) == e && !p.Computed
		case *ast.ParenExpr: // parentheses do not change the meaning
			continue
		case *ast.AwaitAll, *ast.Race, *ast.Handler, *ast.Decorator:
			return true
		}
		return false
	}
	return true
}

// replaceWith replaces the last of nodes by a name. A shorthand field becomes a field with an
// explicit name.
func (in *Input) replaceWith(nodes []ast.Node, name string) diag.Edit {
	e := nodes[len(nodes)-1]
	if f, ok := nodes[len(nodes)-2].(*ast.FieldInit); ok && f.Short {
		name = f.Name.Name + ": " + name
	}
	return diag.Replace(e.Span(), name)
}

// nameFor returns a name for the value of the last of nodes: the name of its parameter or field, or
// a name derived from the expression e.
func nameFor(nodes []ast.Node, e ast.Expr) string {
	switch p := nodes[len(nodes)-2].(type) {
	case *ast.Arg:
		if p.Name != nil {
			return p.Name.Name
		}
	case *ast.FieldInit:
		return p.Name.Name
	}
	name := ""
	for name == "" {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.Question:
			e = x.X
		case *ast.Await:
			e = x.X
		case *ast.Call:
			e = x.Fn
		case *ast.PathExpr:
			name = x.Segments[len(x.Segments)-1].Name
		case *ast.MethodCall:
			name = x.Name.Name
		case *ast.FieldExpr:
			name = x.Name.Name
		default:
			name = "value"
		}
	}
	name = strings.ToLower(name[:1]) + name[1:]
	for _, verb := range []string{"get_", "to_", "parse_", "read_", "make_"} {
		if rest := strings.TrimPrefix(name, verb); isName(rest) {
			name = rest
		}
	}
	if !isName(name) || slices.Contains([]string{"new", "self", "unwrap", "execute"}, name) {
		return "value"
	}
	return name
}

func unparen(e ast.Expr) ast.Expr {
	for {
		p, ok := e.(*ast.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}
