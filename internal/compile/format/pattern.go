package format

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/lexer"
)

// pattern writes a pattern.
func (p *printer) pattern(n ast.Pattern) {
	parens := p.wrapped(n.Span().Start)
	switch n := n.(type) {
	case *ast.WildPat, *ast.NamePat:
		p.anyToken()
	case *ast.BindPat:
		p.anyToken()
		p.space()
		p.tok(lexer.At)
		p.space()
		p.pattern(n.Pattern)
	case *ast.LitPat:
		p.expr(n.Value)
	case *ast.RangePat:
		p.bounds(n.Lo, n.Hi)
	case *ast.OrPat:
		for p.at(lexer.Bar) { // bars before the first alternative
			p.anyToken()
			p.space()
		}
		p.alternatives(len(n.Alts), func(i int) { p.pattern(n.Alts[i]) })
	case *ast.TuplePat:
		p.patterns(lexer.LParen, lexer.RParen, n.Elems, style{one: true})
	case *ast.VariantPat:
		p.path(n.Path)
		p.withRest(lexer.LParen, lexer.RParen, n.Elems, n.Rest)
	case *ast.PathPat:
		p.path(n.Path)
	case *ast.ArrayPat:
		p.withRest(lexer.LBracket, lexer.RBracket, n.Elems, n.Rest)
	case *ast.StructPat:
		p.structPattern(n)
	case *ast.BadPat:
		panic("format: a pattern with syntax errors")
	}
	p.unwrap(parens)
}

func (p *printer) patterns(open, shut lexer.Kind, list []ast.Pattern, st style) {
	p.list(open, shut, len(list), st, func(i int) { p.pattern(list[i]) })
}

// bounds writes a range. Both of its ends are optional.
func (p *printer) bounds(lo, hi ast.Expr) {
	if lo != nil {
		p.expr(lo)
	}
	p.anyToken() // .. or ..=
	if hi != nil {
		p.expr(hi)
	}
}

// withRest writes patterns in brackets. One of them may be a `..` with an optional name.
func (p *printer) withRest(open, shut lexer.Kind, list []ast.Pattern, rest int) {
	count, elem := len(list), 0
	if rest >= 0 {
		count++
	}
	p.list(open, shut, count, style{}, func(i int) {
		if i != rest {
			p.pattern(list[elem])
			elem++
			return
		}
		p.tok(lexer.DotDot)
		if p.at(lexer.Ident) {
			p.anyToken()
		}
	})
}

func (p *printer) structPattern(n *ast.StructPat) {
	count := len(n.Fields)
	if n.Rest {
		count++
	}
	p.path(n.Path)
	p.space()
	p.list(lexer.LBrace, lexer.RBrace, count, style{spaced: true}, func(i int) {
		if i == len(n.Fields) {
			p.tok(lexer.DotDot)
			return
		}
		f := n.Fields[i]
		if !f.Short {
			p.anyToken()
			p.tok(lexer.Colon)
			p.space()
		}
		p.pattern(f.Pattern)
	})
}
