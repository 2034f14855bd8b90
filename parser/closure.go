package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/lexer"
)

// closure reads `|a, (b, c): T| body`; its body extends as far right as it
// can.
func (p *parser) closure() ast.Expr {
	start, open := p.here(), p.i
	n := &ast.Closure{}
	if p.k == lexer.OrOr {
		p.next()
	} else {
		p.next()
		outer := p.apart()
		for p.k != lexer.Bar {
			n.Params = append(n.Params, p.closureParam())
			if !p.eat(lexer.Comma) {
				break
			}
		}
		p.setting = outer
		p.closeBar(open)
	}
	p.deeper()
	if p.eat(lexer.Arrow) {
		n.Result = p.typ()
		n.Body = p.closureBlock()
	} else {
		n.Body = p.bodyExpr()
	}
	p.shallower()
	n.IDBase = p.base(start)
	return n
}

func (p *parser) closureBlock() ast.Expr {
	return p.blockExprOr(func() *diag.Diagnostic {
		return p.expected("`{`").Hint("a closure with a result type has a block as its body")
	})
}

func (p *parser) closeBar(open int) {
	if p.k == lexer.EOF {
		p.failUnclosed(open)
	}
	if p.k != lexer.Bar {
		p.fail(p.expected("`,` or `|`").Label(p.toks[open].Span(), "the closure's parameters start here"))
	}
	p.next()
}

// closureParam reads `pattern [: type]`. Unions stand in parentheses here,
// since a bar ends the parameters.
func (p *parser) closureParam() *ast.Param {
	start := p.here()
	n := &ast.Param{Mut: p.eat(lexer.Mut)}
	if next := p.peek(1); p.k == lexer.Ident && (next == lexer.Colon || next == lexer.Comma || next == lexer.Bar) && p.text() != "_" {
		n.Name = p.ident()
	} else {
		n.Pattern = p.patternAtom()
		if np, ok := n.Pattern.(*ast.NamePat); ok {
			n.Name, n.Pattern = np.Name, nil
		}
	}
	if p.eat(lexer.Colon) {
		n.Type = p.plainType()
	}
	n.Sp = p.from(start)
	return n
}

// fnClosure reads `fn(a, b: T) -> T { … }`.
func (p *parser) fnClosure() ast.Expr {
	start := p.here()
	p.next()
	if p.k == lexer.Ident {
		p.fail(diag.Unexpected.At(p.span(), "a function with a name cannot stand in an expression").
			Hint("leave out the name, or declare it as a statement of its own"))
	}
	open := p.i
	p.want(lexer.LParen)
	outer := p.apart()
	n := &ast.Closure{Fn: true}
	n.Params = p.params(false)
	p.closeBracket(lexer.RParen, open, "`,` or `)`")
	if p.eat(lexer.Arrow) {
		n.Result = p.typ()
	}
	p.setting = outer
	p.deeper()
	n.Body = p.blockExprOr(func() *diag.Diagnostic {
		return p.expected("`{`").Hint("an `fn` has a block as its body; `|x| x + 1` takes any expression")
	})
	p.shallower()
	n.IDBase = p.base(start)
	return n
}

// listenExpr reads `listen call { "type" => handler, … }`.
func (p *parser) listenExpr() ast.Expr {
	start := p.here()
	p.next()
	n := &ast.ListenExpr{}
	n.Call = p.inHeadOf(p.unary)
	n.Head = p.from(start)
	p.rows(func(b braces) { n.Handlers = append(n.Handlers, p.handler(b)) })
	n.IDBase = p.base(start)
	return n
}

// handler reads `[on] "type" => closure or function`, with its comma.
func (p *parser) handler(b braces) *ast.Handler {
	start := p.here()
	h := &ast.Handler{}
	if p.isWord("on") && p.peek(1) != lexer.FatArrow {
		p.next()
		h.On = true
	}
	if p.k == lexer.Ident {
		p.fail(p.expected("a message type").Hint("message types are strings: `\"%s\" => …`", p.text()))
	}
	h.Type = p.plainString("a message type")
	p.want(lexer.FatArrow)
	h.Value = p.expr()
	switch h.Value.(type) {
	case *ast.Closure, *ast.PathExpr, *ast.BadExpr:
	default:
		d := diag.BadHandler.At(h.Value.Span(), "a handler is a closure or the name of a function").Hint("write `|message| …`")
		if p.k == lexer.FatArrow {
			p.fail(d) // an arrow of another language, which follows from it
		}
		p.report(d)
		h.Value = &ast.BadExpr{IDBase: p.baseAt(source.Span{Start: h.Value.Span().Start, End: h.Value.Span().End})}
	}
	h.Sp = p.from(start)
	p.armEnd(b)
	return h
}
