package refactor

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/hostmsg"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/internal/types"
	"github.com/concerto-lang/concerto/parser"
)

// giveHandlerType writes the library's schema of a message as the type of what its handler gets.
func giveHandlerType(in *Input) []diag.Edit {
	h, ok := nearest[*ast.Handler](in)
	if !ok || in.Broken || h.Type == nil {
		return nil
	}
	c, ok := h.Value.(*ast.Closure)
	if !ok || len(c.Params) != 1 || c.Params[0].Type != nil || c.Params[0].Name == nil || c.Params[0].Name.Missing() || in.At.Start > c.Body.Span().Start {
		return nil
	}
	schema := hostmsg.Of(h.Type.Value).Schema
	if schema == "" {
		return nil
	}
	return []diag.Edit{diag.Insert(c.Params[0].Name.Sp.End, ": "+schema)}
}

// writeType writes the type that the checker has found: of a variable, a constant, or of what a closure takes and gives.
func writeType(in *Input) []diag.Edit {
	if !in.sound() {
		return nil
	}
	nodes := in.around(in.At)
	for i := len(nodes) - 1; i >= 0; i-- {
		switch n := nodes[i].(type) {
		case *ast.LetStmt:
			if n.Type != nil || n.Value == nil || n.Pattern == nil || in.At.Start > n.Pattern.Span().End || in.At.End > n.Pattern.Span().End && in.At != n.Sp {
				return nil
			}
			return typed(n.Pattern.Span().End, in.Info.PatternType(n.Pattern))
		case *ast.ConstDecl:
			if n.Type != nil || n.Value == nil || n.Name == nil || in.At.Start > n.Name.Sp.End || in.At.End > n.Name.Sp.End && in.At != n.Sp {
				return nil
			}
			return typed(n.Name.Sp.End, in.Info.TypeOf(n.Value))
		case *ast.Closure:
			if n.Body != nil && in.At.End <= n.Body.Span().Start {
				return in.typedClosure(n)
			}
		}
	}
	return nil
}

func typed(at source.Pos, t types.Type) []diag.Edit {
	text, ok := written(t)
	if !ok {
		return nil
	}
	return []diag.Edit{diag.Insert(at, ": "+text)}
}

// typedClosure writes the types of a closure that are not written; its result's where a block gives it.
func (in *Input) typedClosure(n *ast.Closure) (edits []diag.Edit) {
	d := in.Info.Closure(n)
	if d == nil || d.Type == nil {
		return nil
	}
	for i, p := range n.Params {
		if p.Type != nil || p.Name == nil || i >= len(d.Params) || d.Params[i] == nil {
			continue
		}
		if types.Resolve(d.Params[i].Type) == types.Any {
			continue // it says nothing
		}
		edits = append(edits, typed(p.Name.Sp.End, d.Params[i].Type)...)
	}
	if _, block := n.Body.(*ast.BlockExpr); block && n.Result == nil && types.Resolve(d.Type.Result) != types.Nil {
		if t, ok := written(d.Type.Result); ok {
			at := n.Body.Span().Start
			at -= source.Pos(len(in.File.Slice(source.Span{End: at})) - len(strings.TrimRight(in.File.Slice(source.Span{End: at}), " \t\r\n")))
			edits = append(edits, diag.Insert(at, " -> "+t))
		}
	}
	return edits
}

// addMapErr puts before a `?` what makes another error of the one that would leave: where the function's is one of the
// library, or a String, it is made of the message, otherwise it is the error itself.
func addMapErr(in *Input) []diag.Edit {
	q, ok := nearest[*ast.Question](in)
	if !ok || in.Broken || in.Info == nil || in.At.Start == in.At.End && in.At.Start < q.X.Span().End-1 && !in.onName(q.X) {
		return nil
	}
	r, ok := in.Info.TypeOf(q.X).(*types.Result)
	if m, call := q.X.(*ast.MethodCall); !ok || call && m.Name.Name == "map_err" {
		return nil
	}
	return []diag.Edit{diag.Insert(q.X.Span().End, ".map_err(|e| "+in.otherError(r.Err)+")")}
}

// onName says whether the stretch stands on the name of what is called.
func (in *Input) onName(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Call:
		return e.Fn.Span().Contains(in.At)
	case *ast.MethodCall:
		return e.Name.Sp.Contains(in.At)
	}
	return e.Span().Contains(in.At)
}

// otherError is the error `e` as the function around wants it.
func (in *Input) otherError(err types.Type) string {
	nodes := in.around(in.At)
	for i := len(nodes) - 1; i >= 0; i-- {
		switch fn := nodes[i].(type) {
		case *ast.Closure:
			return "e"
		case *ast.FnDecl:
			r, ok := fn.Result.(*ast.NamedType)
			if !ok || len(r.Args) != 2 {
				return "e"
			}
			return in.errorAs(r.Args[1], err)
		}
	}
	return "e"
}

func (in *Input) errorAs(want ast.Type, err types.Type) string {
	text := in.text(want)
	if has, _ := written(err); has == text {
		return "e"
	}
	if text == "String" {
		return "e.to_string()"
	}
	message := "e.to_string()"
	if types.Full(err) == types.String {
		message = "e"
	}
	for _, r := range in.Refs() {
		if r.At == want.Span() && r.Def.Type != nil {
			if n, ok := types.Resolve(r.Def.Type).(*types.Named); ok && n.Decl.Kind == types.ErrorStruct {
				return text + "::new(" + message + ")"
			}
		}
	}
	return "e"
}

// toInterpolation makes one String with values in it of several that `+` joins.
func toInterpolation(in *Input) []diag.Edit {
	if !in.sound() {
		return nil
	}
	var sum *ast.Binary
	nodes := in.around(in.At)
	for i := len(nodes) - 1; i >= 0; i-- {
		b, ok := nodes[i].(*ast.Binary)
		if !ok && sum != nil {
			break
		}
		if ok && b.Op == ast.OpAdd && types.IsString(in.Info.TypeOf(b)) {
			sum = b
		}
	}
	if sum == nil {
		return nil
	}
	text, texts, values := `"`, []string{""}, 0
	for _, x := range summands(sum) {
		source := in.text(unparen(x))
		switch l := unparen(x).(type) {
		case *ast.StringLit:
			if !plainQuoted(source) {
				return nil
			}
			text += source[1 : len(source)-1]
			texts[len(texts)-1] += l.Value
		case *ast.InterpLit:
			if !plainQuoted(source) {
				return nil
			}
			text += source[1 : len(source)-1]
			texts[len(texts)-1] += l.Texts[0]
			texts = append(texts, l.Texts[1:]...)
		default:
			if strings.Contains(source, "\n") || !types.IsString(in.Info.TypeOf(x)) {
				return nil
			}
			text += "${" + source + "}"
			texts = append(texts, "")
			values++
		}
	}
	text += `"`
	if values == 0 || len(texts) == len(summands(sum))+1 && strings.Join(texts, "") == "" || in.loses(sum.Sp) || !reads(text, texts) {
		return nil
	}
	return []diag.Edit{diag.Replace(sum.Sp, text)}
}

// plainQuoted says whether a literal's text stands in one pair of double quotes, on one line.
func plainQuoted(s string) bool {
	return len(s) >= 2 && s[0] == '"' && !strings.HasPrefix(s, `"""`) && !strings.Contains(s, "\n")
}

// summands are what a sum joins, in order.
func summands(e ast.Expr) []ast.Expr {
	if b, ok := unparen(e).(*ast.Binary); ok && b.Op == ast.OpAdd {
		return append(summands(b.X), summands(b.Y)...)
	}
	return []ast.Expr{e}
}

// reads says whether a literal has these texts around its values.
func reads(literal string, texts []string) bool {
	f, found := parser.Parse(source.NewFile("", []byte("const X = "+literal+";")))
	if found.HasErrors() || len(f.Decls) != 1 {
		return false
	}
	c, ok := f.Decls[0].(*ast.ConstDecl)
	if !ok {
		return false
	}
	l, ok := c.Value.(*ast.InterpLit)
	return ok && strings.Join(l.Texts, "\x00") == strings.Join(texts, "\x00")
}
