package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// typ reads a type, which may be a union.
func (p *parser) typ() ast.Type {
	start := p.here()
	first := p.plainType()
	if p.k != lexer.Bar {
		return first
	}
	alts := []ast.Type{first}
	for p.eat(lexer.Bar) {
		alts = append(alts, p.plainType())
	}
	return &ast.UnionType{IDBase: p.base(start), Alts: alts}
}

// plainType reads a type that is no union, including its `?` suffixes.
func (p *parser) plainType() ast.Type {
	p.deeper()
	start := p.here()
	t := p.typeAtom()
	for n := 0; ; n++ {
		switch p.k {
		case lexer.LBracket: // for example `T[]`
			if p.peek(1) != lexer.RBracket || p.newLine() {
				p.setting.shallower()
				return t
			}
			t = p.arraySuffixes(t, start)
		case lexer.Question:
			p.next()
			t = &ast.OptionType{IDBase: p.base(start), Elem: t}
		case lexer.Coalesce: // for example `T??`
			p.next()
			inner := p.from(start)
			inner.End--
			t = &ast.OptionType{IDBase: p.baseAt(inner), Elem: t}
			t = &ast.OptionType{IDBase: p.base(start), Elem: t}
		default:
			p.setting.shallower()
			return t
		}
		if n >= maxNesting {
			p.failDeep()
		}
	}
}

func (p *parser) typeAtom() ast.Type {
	start := p.here()
	switch p.k {
	case lexer.Ident, lexer.SelfType:
		if p.peek(1) == lexer.Colon && p.newLine() { // the token starts the next row
			break
		}
		return p.namedType(true)
	case lexer.String:
		v := lexer.StringValue(p.text())
		p.next()
		return &ast.LitType{IDBase: p.base(start), Value: v}
	case lexer.StringHead:
		p.plainString("a type")
	case lexer.LParen:
		return p.parenType()
	case lexer.Fn:
		if p.peek(1) != lexer.LParen && p.newLine() { // the token starts a function's declaration
			break
		}
		return p.fnType()
	case lexer.LBracket:
		if p.bracketTypeAhead() {
			return p.bracketType()
		}
	case lexer.Bad:
		p.next()
		return &ast.BadType{IDBase: p.base(start)}
	}
	return p.reportNoType()
}

// reportNoType reports that the current token does not start a type. If the type is missing, it
// returns a hole.
func (p *parser) reportNoType() ast.Type {
	at, found := p.unexpectedToken()
	if p.newLine() && p.k != lexer.EOF && p.prev(1) != lexer.LBrace {
		at, found = p.afterPrevious(), endOfLine
	}
	d := diag.NoType.At(at, "expected a type, found %s", found)
	prev := p.kindAt(max(p.i-1, 0))
	switch {
	case p.k == lexer.LBrace && prev == lexer.Arrow:
		d.Hint("remove `->`, or add a result type after it")
	case p.k == lexer.Nil && prev == lexer.Bar && p.prev(2) == lexer.Ident:
		elem := p.textAt(p.i - 2)
		if w := foreign.Type.Find(elem); len(w.Ours) == 1 {
			elem = w.Ours[0]
		}
		option := source.Span{Start: p.toks[p.i-2].Start, End: p.tok().End}
		d.Repair(diag.Change(option, elem+"?", elem+"?", false), "write `%s?` for a value that can be missing", elem)
	case p.k == lexer.Nil:
		d.Repair(diag.Change(p.span(), "Nil", "Nil", false), "the type of `nil` is `Nil`")
	case p.k == lexer.LBracket:
		d.Hint("write an array type as `Array<T>`")
	case p.k == lexer.LBrace && prev == lexer.Colon:
		d.Hint("write a map type as `Map<String, T>`; declare a struct or schema for named fields")
	case p.k.IsKeyword():
		d.Hint("`%s` is a reserved word", p.text())
	}
	if found == endOfLine {
		d.Hints = nil
		p.reportAndContinue(d)
		return p.badType(p.baseAt(p.afterPrevious()))
	}
	return p.badType(p.reportMissing(d, lexer.Assign, lexer.LBrace, lexer.Greater, lexer.Bar, lexer.Arrow))
}

// namedType reads `a::Name<T>`. If args is set, a `<` always starts type arguments. Otherwise it
// does so only if closedTypeArgs reports true.
func (p *parser) namedType(args bool) *ast.NamedType {
	start := p.here()
	n := &ast.NamedType{Segments: []*ast.Ident{p.ident()}}
	for p.k == lexer.PathSep {
		p.next()
		n.Segments = append(n.Segments, p.name())
	}
	if p.k == lexer.Less && (args || p.closedTypeArgs()) {
		n.Args = p.typeArgs()
	}
	n.IDBase = p.base(start)
	return n
}

// bound reads one trait in the bounds of a type parameter.
func (p *parser) bound() *ast.NamedType {
	if p.k != lexer.Ident {
		p.fail(diag.Unexpected.At(p.span(), "expected the name of a trait, found %s", p.foundText()))
	}
	return p.namedType(true)
}

// typeArgs reads `<A, B>`.
func (p *parser) typeArgs() []ast.Type {
	open := p.i
	p.expect(lexer.Less)
	var args []ast.Type
	for p.k != lexer.Greater {
		args = append(args, p.typ())
		if !p.eat(lexer.Comma) || p.isPartMissing() {
			break
		}
	}
	if len(args) == 0 {
		args = append(args, p.reportNoType())
	}
	return elementsBefore(p, args, p.closeBracket(lexer.Greater, open, "`,` or `>`"))
}

// parenType reads `(A, B)`. It returns the type T for `(T)`.
func (p *parser) parenType() ast.Type {
	start, open := p.here(), p.i
	p.next()
	if p.k == lexer.RParen {
		t := p.badType(p.reportMissing(diag.NoType.At(p.span(), "expected a type, found `)`").Hint("write `Nil` for no value")))
		p.next()
		return t
	}
	elems := []ast.Type{p.typ()}
	comma := false
	for p.eat(lexer.Comma) {
		comma = true
		if p.k == lexer.RParen {
			break
		}
		elems = append(elems, p.typ())
	}
	end := p.closeBracket(lexer.RParen, open, "`,` or `)`")
	if elems = elementsBefore(p, elems, end); len(elems) == 0 {
		return p.badType(p.baseAt(p.afterPrevious()))
	}
	if !comma {
		return elems[0]
	}
	return &ast.TupleType{IDBase: p.base(start), Elems: elems}
}

// fnType reads `fn(A, B) -> C`.
func (p *parser) fnType() ast.Type {
	start := p.here()
	p.next()
	open := p.i
	p.expect(lexer.LParen)
	var params []ast.Type
	for p.k != lexer.RParen {
		params = append(params, p.typ())
		if !p.eat(lexer.Comma) || p.isPartMissing() {
			break
		}
	}
	params = elementsBefore(p, params, p.closeBracket(lexer.RParen, open, "`,` or `)`"))
	n := &ast.FnType{Params: params}
	if p.eat(lexer.Arrow) {
		n.Result = p.plainType()
	}
	n.IDBase = p.base(start)
	return n
}

// plainString reads a string without interpolation. what describes the string in messages.
func (p *parser) plainString(what string) *ast.StringLit {
	start := p.here()
	switch p.k {
	case lexer.String:
		v := lexer.StringValue(p.text())
		p.next()
		return &ast.StringLit{IDBase: p.base(start), Value: v}
	case lexer.StringHead:
		s := source.Span{Start: start, End: p.toks[p.closingOrEnd(p.i)].End}
		p.fail(diag.PlainString.At(s, "%s cannot contain `${ }`", what).
			Repair(p.escapeHolesFix(), "write the text itself; `\\${` inserts the characters `${`"))
	}
	p.failExpected("a string")
	return nil
}
