package format

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// wrapped writes the parentheses and leading bars before a type or pattern that begins at start.
// They are not in the syntax tree. It returns the number of opening parentheses, for unwrap.
func (p *printer) wrapped(start source.Pos) (parens int) {
	for p.toks[p.i].Start < start {
		if p.at(lexer.Bar) {
			p.anyToken()
			p.space()
			continue
		}
		p.tok(lexer.LParen)
		parens++
	}
	return parens
}

func (p *printer) unwrap(parens int) {
	for range parens {
		p.tok(lexer.RParen)
	}
}

// typ writes a type.
func (p *printer) typ(t ast.Type) {
	parens := p.wrapped(t.Span().Start)
	switch t := t.(type) {
	case *ast.NamedType:
		p.segments(len(t.Segments))
		if len(t.Args) > 0 {
			p.typeArgs(t.Args)
		}
	case *ast.OptionType:
		p.typ(t.Elem)
		p.question()
	case *ast.TupleType:
		p.types(lexer.LParen, lexer.RParen, t.Elems, style{one: true, rigid: p.rigid})
	case *ast.FnType:
		p.tok(lexer.Fn)
		p.types(lexer.LParen, lexer.RParen, t.Params, style{rigid: p.rigid})
		p.result(t.Result)
	case *ast.LitType:
		p.tok(lexer.String)
	case *ast.UnionType:
		p.alternatives(len(t.Alts), func(i int) { p.typ(t.Alts[i]) })
	case *ast.BadType:
		panic("format: a type with syntax errors")
	}
	p.unwrap(parens)
}

func (p *printer) types(open, shut lexer.Kind, list []ast.Type, st style) {
	p.list(open, shut, len(list), st, func(i int) { p.typ(list[i]) })
}

// typeArgs writes `<A, B>`. The list of a single argument is not broken; only the argument itself
// can be.
func (p *printer) typeArgs(list []ast.Type) {
	p.types(lexer.Less, lexer.Greater, list, style{bare: true, rigid: p.rigid || len(list) == 1})
}

// result writes `-> T`, if there is a T.
func (p *printer) result(t ast.Type) {
	if t != nil {
		p.space()
		p.tok(lexer.Arrow)
		p.space()
		p.typ(t)
	}
}

// alternatives writes `a | b | c`.
func (p *printer) alternatives(n int, one func(i int)) {
	p.group()
	one(0)
	p.nest()
	for i := 1; i < n; i++ {
		p.line(false)
		p.tok(lexer.Bar)
		p.space()
		one(i)
	}
	p.unnest()
	p.end()
}

// segments writes `a::b::c`.
func (p *printer) segments(n int) {
	for i := range n {
		if i > 0 {
			p.tok(lexer.PathSep)
		}
		p.anyToken()
	}
}

// generics writes `<T: A + B>`, if there are any.
func (p *printer) generics(list []*ast.TypeParam) {
	if len(list) == 0 {
		return
	}
	p.list(lexer.Less, lexer.Greater, len(list), style{bare: true}, func(i int) {
		p.anyToken()
		for j := range list[i].Bounds {
			if j == 0 {
				p.tok(lexer.Colon)
			} else {
				p.space()
				p.tok(lexer.Plus)
			}
			p.space()
			p.typ(list[i].Bounds[j])
		}
	})
}
