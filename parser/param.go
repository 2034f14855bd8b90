package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// Parameters are a leaf of the forms, because declarations and `fn` closures share them.

// params reads parameters up to the `)`, or up to a token that does not start a parameter. If typed
// is set, each parameter except self requires a type.
func (p *parser) params(typed bool) (list []*ast.Param) {
	for p.k != lexer.RParen {
		if len(list) > 0 && p.isPartMissing(lexer.LBrace) || len(list) == 0 && p.newLine() && p.isPartMissing() {
			p.reportAndContinue(p.unendedParams())
			return list
		}
		list = append(list, p.param(typed))
		if !p.eat(lexer.Comma) {
			if p.k != lexer.RParen {
				p.reportParamSeparator()
			}
			break
		}
	}
	return list
}

// unendedParams returns the diagnostic for an unexpected token after a parameter.
func (p *parser) unendedParams() *diag.Diagnostic {
	if p.newLine() && p.k != lexer.EOF {
		return diag.Unexpected.At(p.afterPrevious(), "expected a parameter or `)`, found %s", endOfLine)
	}
	return p.expected("a parameter or `)`")
}

// reportParamSeparator reports a token that is found instead of a `,` or `)`.
func (p *parser) reportParamSeparator() {
	d := p.expected("`,` or `)`")
	if prev := p.toks[p.i-1].Kind; prev == lexer.Ident && p.kindAt(p.i-2) != lexer.Colon && (p.k == lexer.Ident || p.k == lexer.LParen) {
		d = p.missingColonHint(p.expected("`:`"))
	}
	p.reportAndContinue(d)
}

// missingColonHint adds a hint to d if a name and a type are not separated by a colon. The name and
// the type may be in either order.
func (p *parser) missingColonHint(d *diag.Diagnostic) *diag.Diagnostic {
	first := p.prevText()
	isType := first[0] >= 'A' && first[0] <= 'Z'
	if w := foreign.Type.Find(first); len(w.Ours) > 0 {
		first, isType = w.Ours[0], true
	}
	if p.k == lexer.Ident && isType && !(p.text()[0] >= 'A' && p.text()[0] <= 'Z') {
		d.Hints, d.Fixes = nil, nil
		both := source.Span{Start: p.toks[p.i-1].Start, End: p.tok().End}
		text := p.text() + ": " + first
		return d.Repair(diag.UnsafeFix(diag.Replace(both, text), "Write `%s`", text), "write the name before the type: `%s`", text)
	}
	if first == "fn" {
		d.Hints, d.Fixes = nil, nil
		return d.Hint("declare methods in an `impl`: `impl Name { fn %s(self) { … } }`", p.text())
	}
	e := p.prevEnd()
	colon := diag.SafeFix(diag.Insert(e, ":"), "Insert `:`")
	if e == p.here() {
		colon.Edits[0].Text = ": "
	}
	return d.Repair(colon, "add `:` before %s", p.foundText())
}

// likelyType returns the type of the parameter's default as the likely type of a parameter without
// a type.
func (p *parser) likelyType() string {
	if p.k != lexer.Assign {
		return "String"
	}
	switch p.peek(1) {
	case lexer.Int:
		return "Int"
	case lexer.Float:
		return "Float"
	case lexer.True, lexer.False:
		return "Bool"
	}
	return "String"
}

// param reads `@decorator mut name: T = default`.
func (p *parser) param(typed bool) *ast.Param {
	start := p.here()
	n := &ast.Param{Decorators: p.decorators()}
	n.Mut = p.eat(lexer.Mut)
	n.IsSelf = p.k == lexer.Self
	if !n.IsSelf && p.k != lexer.Ident && !p.k.IsKeyword() {
		p.failExpected("a parameter or `)`")
	}
	if n.IsSelf {
		n.Name = p.ident()
	} else {
		n.Name = p.name()
	}
	switch {
	case p.eat(lexer.Colon):
		n.Type = p.typ()
	case typed && !n.IsSelf && (p.k == lexer.Comma || p.k == lexer.RParen || p.k == lexer.Assign):
		p.report(diag.UntypedParameter.At(n.Name.Sp, "parameter `%s` has no type", n.Name.Name).Advise(p.paramTypeAdvice(n.Name)))
	}
	if p.eat(lexer.Assign) {
		n.Default = p.expr()
	}
	n.Sp = p.from(start)
	return n
}
