package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// number reads an integer or float.
func (p *parser) number() ast.Expr {
	start, text, k := p.here(), p.text(), p.k
	p.next()
	if k == lexer.Float {
		return &ast.FloatLit{IDBase: p.base(start), Value: lexer.FloatValue(text)}
	}
	v, over := lexer.IntValue(text)
	return &ast.IntLit{IDBase: p.base(start), Value: v, Overflow: over}
}

// interpolated reads a string with `${ }`.
func (p *parser) interpolated() ast.Expr {
	start, open := p.here(), p.i
	outer := p.nest(-1)
	n := &ast.InterpLit{}
	var parts []lexer.Token
	for {
		parts = append(parts, p.tok())
		if p.k == lexer.StringTail {
			p.next()
			break
		}
		opening := source.Span{Start: p.tok().End - 2, End: p.tok().End}
		p.next()
		n.Exprs = append(n.Exprs, p.interpolationHole(opening))
		if p.k != lexer.StringMid && p.k != lexer.StringTail {
			if p.k == lexer.EOF {
				p.failUnclosedBrace(open)
			}
			p.fail(p.expected("`}`").Label(opening, "to close this `${`"))
		}
	}
	p.setting = outer
	n.Texts = lexer.Strings(p.src, parts...)
	n.IDBase = p.base(start)
	return n
}

// interpolationHole reads the expression of one `${ }`.
func (p *parser) interpolationHole(opening source.Span) ast.Expr {
	if p.k == lexer.StringMid || p.k == lexer.StringTail {
		at := source.Span{Start: opening.Start, End: p.here() + 1}
		p.report(diag.EmptyInterpolation.At(at, "empty interpolation `${}`").
			Repair(diag.UnsafeFix(diag.Insert(at.Start, `\`), "Write `\\${}`"), "write an expression between the braces, or `\\${}` to get the characters themselves"))
		return &ast.BadExpr{IDBase: p.baseAt(at)}
	}
	return p.expr()
}
