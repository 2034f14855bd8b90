package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// closure reads `|a, (b, c): T| body`. Its body extends as far right as possible.
func (p *parser) closure() ast.Expr {
	start, open := p.here(), p.i
	n := &ast.Closure{}
	if p.k == lexer.OrOr {
		p.next()
	} else {
		p.next()
		outer := p.setting.isolate()
		for p.k != lexer.Bar {
			n.Params = append(n.Params, p.closureParam())
			if !p.eat(lexer.Comma) || p.isPartMissing() || p.leavesBars(open) {
				break
			}
		}
		p.setting = outer
		if !p.isBarClosed(open) {
			n.Body = p.badExpr(p.baseAt(p.afterPrevious()))
			n.IDBase = p.base(start)
			return n
		}
	}
	p.deeper()
	if p.eat(lexer.Arrow) {
		n.Result = p.typ()
		n.Body = p.closureBlock()
	} else {
		since := p.progress()
		n.Body = p.operandOrMissing(since, p.bodyExpr())
	}
	p.setting.shallower()
	n.IDBase = p.base(start)
	return n
}

func (p *parser) closureBlock() ast.Expr {
	return p.blockExprOr(func() *diag.Diagnostic {
		return p.expected("`{`").Hint("the body of a closure with a result type must be a block")
	})
}

// leavesBars reports whether the current token is outside the parameters of the closure whose
// opening bar is token open. The token must start a line that is not indented more than the bar's
// line, and no other bar may follow in the statement.
func (p *parser) leavesBars(open int) bool {
	if !p.newLine() || p.indent(p.i) > p.indent(open) {
		return false
	}
	fields := 0 // number of open braces of struct patterns
	for i := p.i; i < len(p.toks); i++ {
		switch p.toks[i].Kind {
		case lexer.Bar:
			return false
		case lexer.LBrace:
			if p.k != lexer.Ident || p.toks[i-1].Kind != lexer.Ident {
				return true
			}
			fields++
		case lexer.RBrace:
			if fields--; fields < 0 {
				return true
			}
		case lexer.Semi, lexer.FatArrow:
			return true
		}
	}
	return true
}

// isBarClosed consumes the bar after a closure's parameters, and reports whether the bar is
// present.
func (p *parser) isBarClosed(open int) bool {
	switch {
	case p.k == lexer.Bar:
		p.next()
		return true
	case p.k == lexer.EOF:
		p.reportUnclosedBracket(open)
	default:
		d := p.expected("`,` or `|`")
		if p.prev(1) == lexer.Comma && p.leavesBars(open) {
			d = diag.Unexpected.At(p.afterPrevious(), "expected %s, found %s", "a parameter or `|`", endOfLine)
		}
		p.reportAndContinue(d.Label(p.toks[open].Span(), "the parameters of the closure start here"))
		if !p.isPartMissing() && !p.newLine() {
			panic(bailout{})
		}
	}
	return false
}

// closureParam reads `pattern [: type]`. A union type needs parentheses here, because a bar closes
// the parameters.
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
		p.fail(diag.Unexpected.At(p.span(), "a function with a name is not allowed in an expression").
			Hint("remove the name, or declare the function in its own statement"))
	}
	open := p.i
	p.expect(lexer.LParen)
	outer := p.setting.isolate()
	n := &ast.Closure{Fn: true}
	n.Params = p.params(false)
	n.Params = elementsBefore(p, n.Params, p.closeBracket(lexer.RParen, open, "`,` or `)`"))
	if p.eat(lexer.Arrow) {
		n.Result = p.typ()
	}
	p.setting = outer
	p.deeper()
	n.Body = p.blockExprOr(func() *diag.Diagnostic {
		return p.expected("`{`").Hint("the body of `fn` must be a block; `|x| x + 1` accepts any expression")
	})
	p.setting.shallower()
	n.IDBase = p.base(start)
	return n
}

// listenExpr reads `listen call { "type" => handler, … }`.
func (p *parser) listenExpr() ast.Expr {
	start := p.here()
	p.next()
	n := &ast.ListenExpr{}
	since := p.progress()
	n.Call = p.headOrMissing(since, p.inHeadOf(p.unary))
	n.Head = p.from(start)
	return p.listenRest(n, start)
}

// listenRest reads the handlers of the listen n, whose text starts at start.
func (p *parser) listenRest(n *ast.ListenExpr, start source.Pos) ast.Expr {
	var h *ast.Handler
	whole := p.rows(func(b braces) {
		h = &ast.Handler{}
		p.handler(b, h)
		n.Handlers = append(n.Handlers, h)
	}, func(start int) {
		if p.brokenHandler(h, start) {
			n.Handlers = append(n.Handlers, h)
		}
	})
	n.IDBase = p.base(start)
	if !whole {
		p.recordGuessedEnd(n)
	}
	return n
}

// brokenHandler completes a handler that has syntax errors. The handler starts at token start.
// brokenHandler returns false if the handler has no message type; the caller then drops the
// handler.
func (p *parser) brokenHandler(h *ast.Handler, start int) bool {
	h.Sp = p.from(p.toks[start].Start)
	if h.Type == nil {
		p.recordLostText(nil, start, p.i)
		return false
	}
	if h.Value == nil {
		for start < p.i && p.toks[start].Start < h.Type.Sp.End {
			start++
		}
		bad := &ast.BadExpr{IDBase: p.base(h.Type.Sp.End)}
		bad.Names = p.recordLostText(bad, start, p.i)
		h.Value = bad
	}
	return true
}

// handler reads `[on] "type" => closure or function` and the comma after the handler.
func (p *parser) handler(b braces, h *ast.Handler) {
	start := p.here()
	if p.isWord("on") && p.peek(1) != lexer.FatArrow {
		p.next()
		h.On = true
	}
	if p.k == lexer.Ident {
		d := p.expected("a message type")
		if p.peek(1) != lexer.FatArrow {
			p.fail(d.Hint("a message type is a string: `\"%s\" => …`", p.text()))
		}
		d.Hints, d.Fixes = nil, nil
		p.report(d.Repair(diag.SafeFix(diag.Replace(p.span(), `"`+p.text()+`"`), "Write `\"%s\"`", p.text()), "a message type is a string: `\"%s\" => …`", p.text()))
		h.Type = &ast.StringLit{IDBase: p.baseAt(p.span()), Value: p.text()}
		p.next()
	} else {
		h.Type = p.plainString("a message type")
	}
	if p.handlerBlockAhead() {
		h.Value = p.handlerBlock()
		h.Sp = p.from(start)
		p.armEnd(b)
		return
	}
	if p.k != lexer.FatArrow {
		p.reportAndContinue(p.expected("`=>`"))
		if !p.isPartMissing() && !p.newLine() {
			panic(bailout{})
		}
		h.Value = p.badExpr(p.baseAt(p.afterPrevious()))
		h.Sp = p.from(start)
		p.armEnd(b)
		return
	}
	p.next()
	since := p.progress()
	if h.Value = p.expr(); p.k == lexer.FatArrow && p.rewindToNextStmt(since) {
		p.reportAndContinue(p.missingValue())
		h.Value = p.badExpr(p.baseAt(p.afterPrevious()))
	}
	switch h.Value.(type) {
	case *ast.Closure, *ast.PathExpr, *ast.BadExpr:
	default:
		d := diag.BadHandler.At(h.Value.Span(), "a handler must be a closure or the name of a function").
			Repair(diag.UnsafeFix(diag.Insert(h.Value.Span().Start, "|_message| "), "Insert `|_message|`"), "write `|message| …`")
		if p.k == lexer.FatArrow {
			h.Value = nil
			p.fail(d) // another language's arrow is in the place of `=>`
		}
		p.report(d)
		p.flaws = append(p.flaws, ast.Flaw{Node: h.Value, Span: h.Value.Span()})
		h.Value = &ast.BadExpr{IDBase: p.baseAt(source.Span{Start: h.Value.Span().Start, End: h.Value.Span().End})}
	}
	h.Sp = p.from(start)
	p.armEnd(b)
}
