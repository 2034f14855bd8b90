package refactor

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
)

// toInterpolation converts a sum of strings and values to one interpolated string.
func toInterpolation(in *Input) []diag.Edit {
	if !in.isComplete() {
		return nil
	}
	var sum *ast.Binary
	nodes := in.nodesAround(in.At)
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
			if !isPlainQuoted(source) {
				return nil
			}
			text += source[1 : len(source)-1]
			texts[len(texts)-1] += l.Value
		case *ast.InterpLit:
			if !isPlainQuoted(source) {
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
	if values == 0 || len(texts) == len(summands(sum))+1 && strings.Join(texts, "") == "" || in.losesComment(sum.Sp) || !hasTexts(text, texts) {
		return nil
	}
	return []diag.Edit{diag.Replace(sum.Sp, text)}
}

// isPlainQuoted reports whether a literal is a single-line string in single double quotes.
func isPlainQuoted(s string) bool {
	return len(s) >= 2 && s[0] == '"' && !strings.HasPrefix(s, `"""`) && !strings.Contains(s, "\n")
}

// summands returns the operands of a sum in order.
func summands(e ast.Expr) []ast.Expr {
	if b, ok := unparen(e).(*ast.Binary); ok && b.Op == ast.OpAdd {
		return append(summands(b.X), summands(b.Y)...)
	}
	return []ast.Expr{e}
}

// hasTexts reports whether the literal parts of an interpolated string are these texts.
func hasTexts(literal string, texts []string) bool {
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
