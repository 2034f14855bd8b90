package refactor

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// ifLetToMatch converts an `if let` to a match with two arms.
func ifLetToMatch(in *Input) []diag.Edit {
	n, ok := nearest[*ast.IfExpr](in)
	if !ok || !in.isComplete() || n.Then == nil {
		return nil
	}
	c, ok := n.Cond.(*ast.LetCond)
	if !ok || in.At.Start > n.Then.Sp.Start || in.At.End > n.Then.Sp.Start && in.At != n.Sp {
		return nil
	}
	retained := []ast.Node{c.Pattern, c.X, n.Then}
	otherwise := "{}"
	if n.Else != nil {
		retained = append(retained, n.Else)
		otherwise = in.armBody(n.Else)
	}
	if in.losesComment(n.Sp, retained...) {
		return nil
	}
	text := "match " + in.text(c.X) + " {\n" + in.text(c.Pattern) + " => " + in.blockBody(n.Then) + ",\n" + in.otherPattern(c.Pattern) + " => " + otherwise + ",\n}"
	if in.isElse(n) {
		text = "{\n" + text + "\n}"
	}
	return []diag.Edit{diag.Replace(n.Sp, text)}
}

// isElse reports whether an expression is the `else` branch of an `if`.
func (in *Input) isElse(n ast.Expr) bool {
	nodes := in.nodesAround(n.Span())
	for _, x := range nodes {
		if i, ok := x.(*ast.IfExpr); ok && i.Else == n {
			return true
		}
	}
	return false
}

// otherVariants maps each variant of Option and Result to a pattern for the other variant.
var otherVariants = map[string]string{"Some": "None", "None": "Some(_)", "Ok": "Err(_)", "Err": "Ok(_)"}

// otherPattern returns a pattern that matches all values that p does not match.
func (in *Input) otherPattern(p ast.Pattern) string {
	if name := in.variantName(p); in.catchesAll(p) && otherVariants[name] != "" {
		return otherVariants[name]
	}
	return "_"
}

// variantName returns the name of the variant that a pattern matches, or "" for other patterns.
func (in *Input) variantName(p ast.Pattern) string {
	if v := in.Info.Variant(p); v != nil {
		return v.Name
	}
	return ""
}

// catchesAll reports whether a variant's pattern matches all values of the variant.
func (in *Input) catchesAll(p ast.Pattern) bool {
	v, ok := p.(*ast.VariantPat)
	if !ok {
		return true
	}
	for _, e := range v.Elems {
		switch e := e.(type) {
		case *ast.WildPat:
		case *ast.NamePat:
			if _, local := in.Info.Object(e).(*sema.Local); !local {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// blockBody returns a block as the body of a match arm. If the block contains only an expression,
// the body is that expression.
func (in *Input) blockBody(b *ast.Block) string {
	if len(b.Stmts) == 0 && b.Tail != nil && !in.losesComment(b.Sp, b.Tail) && !strings.Contains(in.text(b.Tail), "\n") {
		if _, isMap := b.Tail.(*ast.MapLit); !isMap {
			return in.text(b.Tail)
		}
	}
	return in.text(b)
}

func (in *Input) armBody(e ast.Expr) string {
	if b, ok := e.(*ast.BlockExpr); ok {
		return in.blockBody(b.Block)
	}
	return in.text(e)
}

// matchToIfLet converts a match to an `if let`. The match must have two arms, and the second arm
// must match everything that the first one does not.
func matchToIfLet(in *Input) []diag.Edit {
	n, ok := nearest[*ast.MatchExpr](in)
	if !ok || !in.isComplete() || len(n.Arms) != 2 || in.At.Start > n.Head.End || in.At.End > n.Head.End+2 && in.At != n.Sp {
		return nil
	}
	a, b := n.Arms[0], n.Arms[1]
	if a.Guard != nil || b.Guard != nil {
		return nil
	}
	if bindsNames(in, b.Pattern) {
		if bindsNames(in, a.Pattern) || !in.areDifferent(a.Pattern, b.Pattern) {
			return nil
		}
		a, b = b, a
	}
	if _, wild := a.Pattern.(*ast.WildPat); wild || in.losesComment(n.Sp, n.Subject, a.Pattern, a.Body, b.Body) {
		return nil
	}
	if p, ok := a.Pattern.(*ast.NamePat); ok && in.Info.Variant(p) == nil {
		return nil // the first pattern matches every value
	}
	subject := in.text(n.Subject)
	head, body, otherwise := "if let "+in.text(a.Pattern)+" = "+subject+" ", in.blockText(a.Body), in.blockText(b.Body)
	if strings.Join(strings.Fields(otherwise), "") != "{}" {
		return []diag.Edit{diag.Replace(n.Sp, head+body+" else "+otherwise)}
	}
	text := head + body
	if _, block := a.Body.(*ast.BlockExpr); !block {
		text = head + "{\n" + in.text(a.Body) + ";\n}" // the value of the branch is not used
	}
	return []diag.Edit{diag.Replace(n.Sp, text)}
}

// areDifferent reports whether two patterns match different variants.
func (in *Input) areDifferent(a, b ast.Pattern) bool {
	x, y := in.variantName(a), in.variantName(b)
	return x != "" && y != "" && x != y
}

// bindsNames reports whether a pattern binds names.
func bindsNames(in *Input, p ast.Pattern) (any bool) {
	ast.Inspect(p, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.NamePat:
			if _, local := in.Info.Object(n).(*sema.Local); local {
				any = true
			}
		case *ast.BindPat:
			any = true
		}
		return true
	})
	return any
}

// blockText returns the text of an expression as a block.
func (in *Input) blockText(e ast.Expr) string {
	_, block := e.(*ast.BlockExpr)
	switch {
	case block:
		return in.text(e)
	case in.Info.TypeOf(e) == types.Nil:
		return "{\n" + in.text(e) + ";\n}"
	}
	return "{ " + in.text(e) + " }"
}

func spanFrom(a, b ast.Node) source.Span {
	return source.Span{Start: a.Span().Start, End: b.Span().End}
}
