package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/foreign"
	"github.com/concerto-lang/concerto/lexer"
)

// Parameters are a leaf of the forms: declarations and `fn` closures share
// them.

// params reads parameters up to the `)`, or to where none follows. typed says
// that each but self needs a type.
func (p *parser) params(typed bool) (list []*ast.Param) {
	for p.k != lexer.RParen {
		list = append(list, p.param(typed))
		if !p.eat(lexer.Comma) {
			if p.k != lexer.RParen {
				p.failParams()
			}
			break
		}
	}
	return list
}

// failParams reports what stands where `,` or `)` should.
func (p *parser) failParams() {
	if prev := p.toks[p.i-1].Kind; prev == lexer.Ident && p.kindAt(p.i-2) != lexer.Colon && (p.k == lexer.Ident || p.k == lexer.LParen) {
		p.fail(p.typeFirst(p.expected("`:`")))
	}
	p.failExpected("`,` or `)`")
}

// typeFirst adds the hint for a name with a type and no colon between them,
// whichever stands first.
func (p *parser) typeFirst(d *diag.Diagnostic) *diag.Diagnostic {
	first := p.prevText()
	isType := first[0] >= 'A' && first[0] <= 'Z'
	if w := foreign.Type.Find(first); len(w.Ours) > 0 {
		first, isType = w.Ours[0], true
	}
	if p.k == lexer.Ident && isType && !(p.text()[0] >= 'A' && p.text()[0] <= 'Z') {
		d.Hints = []string{"the name stands first: `" + p.text() + ": " + first + "`"}
		return d
	}
	return d.Hint("write `:` before %s", p.found())
}

// likelyType is a type for a parameter that lacks one: that of its default.
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
		p.report(diag.UntypedParameter.At(n.Name.Sp, "the parameter `%s` has no type", n.Name.Name).
			Hint("write its type after the name: `%s: %s`", n.Name.Name, p.likelyType()))
	}
	if p.eat(lexer.Assign) {
		n.Default = p.expr()
	}
	n.Sp = p.from(start)
	return n
}
