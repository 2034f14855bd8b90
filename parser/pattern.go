package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// pattern reads a pattern, including alternatives.
func (p *parser) pattern() ast.Pattern {
	start := p.here()
	p.eat(lexer.Bar) // optional bar before the first alternative
	first := p.patternAtom()
	if p.k != lexer.Bar {
		return first
	}
	alts := []ast.Pattern{first}
	for p.eat(lexer.Bar) {
		alts = append(alts, p.patternAtom())
	}
	return &ast.OrPat{IDBase: p.base(start), Alts: alts}
}

// patternAtom reads a pattern without alternatives, such as the pattern of a closure's parameter.
func (p *parser) patternAtom() ast.Pattern {
	p.deeper()
	pat := p.patternForm()
	p.setting.shallower()
	return pat
}

func (p *parser) patternForm() ast.Pattern {
	start := p.here()
	switch p.k {
	case lexer.Ident, lexer.SelfType:
		return p.namedPattern()
	case lexer.Int, lexer.Float, lexer.Minus:
		return p.rangeFrom(start, p.patternNumber())
	case lexer.String:
		return &ast.LitPat{Value: p.plainString("a pattern"), IDBase: p.base(start)}
	case lexer.StringHead:
		p.plainString("a pattern")
	case lexer.True, lexer.False:
		v := p.k == lexer.True
		p.next()
		lit := &ast.BoolLit{IDBase: p.base(start), Value: v}
		return &ast.LitPat{IDBase: p.base(start), Value: lit}
	case lexer.Nil:
		p.next()
		lit := &ast.NilLit{IDBase: p.base(start)}
		return &ast.LitPat{IDBase: p.base(start), Value: lit}
	case lexer.DotDot, lexer.DotDotEq:
		return p.rangeFrom(start, nil)
	case lexer.LParen:
		return p.tuplePattern()
	case lexer.LBracket:
		return p.arrayPattern()
	case lexer.Bad:
		p.next()
		return &ast.BadPat{IDBase: p.base(start)}
	}
	return p.reportNoPattern()
}

// requiresPattern contains the tokens after which a pattern is required.
var requiresPattern = [lexer.NumKinds]bool{
	lexer.Let: true, lexer.Mut: true, lexer.For: true, lexer.Bar: true, lexer.Colon: true, lexer.At: true,
}

// reportNoPattern reports that the current token does not start a pattern. If the pattern is
// missing, it returns a hole.
func (p *parser) reportNoPattern() ast.Pattern {
	at, found := p.unexpectedToken()
	if p.isIncomplete() && requiresPattern[p.prev(1)] {
		at, found = p.afterPrevious(), endOfLine
	}
	if p.k.IsKeyword() && p.k != lexer.Mut && (p.k != lexer.In || p.peek(1) == lexer.In) && found != endOfLine {
		if d := p.missingName(p.i); d.Info == diag.ReservedName && p.mayFollowName() && p.peek(1) != lexer.LParen {
			p.report(d)
			start := p.here()
			name := p.reservedName()
			return &ast.NamePat{IDBase: p.base(start), Name: name}
		}
		p.failName()
	}
	d := diag.NoPattern.At(at, "expected a pattern, found %s", found)
	switch p.k {
	case lexer.Mut:
		d.Hint("write `mut` directly after `let`; it applies to every name of the pattern")
	case lexer.OrOr:
		d.Hint("separate alternatives with a single `|`")
	case lexer.LBrace:
		if found != endOfLine {
			d.Hint("a struct pattern starts with the name of the struct: `Point { x, y }`")
		}
	}
	if found == endOfLine {
		p.reportAndContinue(d)
		return p.badPat(p.baseAt(p.afterPrevious()))
	}
	return p.badPat(p.reportMissing(d, lexer.Assign, lexer.In, lexer.Colon, lexer.If, lexer.Bar))
}

// missingPattern returns a hole for a pattern that is missing at the end of the previous line.
func (p *parser) missingPattern() ast.Pattern {
	p.reportAndContinue(diag.NoPattern.At(p.afterPrevious(), "expected a pattern, found %s", endOfLine))
	return p.badPat(p.baseAt(p.afterPrevious()))
}

// namedPattern reads a pattern that starts with a name: a binding, a path, a variant, a struct, or
// a range between consts.
func (p *parser) namedPattern() ast.Pattern {
	start := p.here()
	if p.k == lexer.Ident {
		switch next := p.peek(1); {
		case next == lexer.At:
			name := p.ident()
			p.next()
			inner := p.patternAtom()
			return &ast.BindPat{IDBase: p.base(start), Name: name, Pattern: inner}
		case next != lexer.PathSep && next != lexer.LParen && next != lexer.LBrace && next != lexer.DotDot && next != lexer.DotDotEq && !p.isDottedPath():
			if p.text() == "_" {
				p.next()
				return &ast.WildPat{IDBase: p.base(start)}
			}
			name := p.ident()
			return &ast.NamePat{IDBase: p.base(start), Name: name}
		}
	}
	path := p.patternPath()
	switch p.k {
	case lexer.LParen:
		return p.variantPattern(path)
	case lexer.LBrace:
		return p.structPattern(path)
	case lexer.DotDot, lexer.DotDotEq:
		return p.rangeFrom(start, path)
	}
	if len(path.Segments) == 1 {
		p.failExpected("`(`, `{` or `::`")
	}
	return &ast.PathPat{IDBase: p.base(start), Path: path}
}

func (p *parser) patternPath() *ast.PathExpr {
	start := p.here()
	dotted := p.isDottedPath()
	n := &ast.PathExpr{Segments: []*ast.Ident{p.ident()}, ArgsAt: -1}
	if dotted {
		p.report(diag.Unexpected.At(p.span(), "expected `::`, found `.`").
			Repair(diag.SafeFix(diag.Replace(p.span(), "::"), "Change to `::`"), "write `::` before a variant: `%s::%s`", p.prevText(), p.textAt(p.i+1)))
		p.next()
		n.Segments = append(n.Segments, p.name())
	}
	for p.eat(lexer.PathSep) {
		n.Segments = append(n.Segments, p.name())
	}
	n.IDBase = p.base(start)
	return n
}

// patternNumber reads a number with an optional minus sign.
func (p *parser) patternNumber() ast.Expr {
	start := p.here()
	if p.eat(lexer.Minus) {
		if p.k != lexer.Int && p.k != lexer.Float {
			p.failExpected("a number")
		}
		x := p.number()
		return &ast.Unary{IDBase: p.base(start), Op: ast.OpNeg, X: x}
	}
	return p.number()
}

// rangeFrom reads the rest of a range pattern. lo is the lower end, or nil without a lower end.
// Without a `..`, rangeFrom returns the pattern of the literal lo.
func (p *parser) rangeFrom(start source.Pos, lo ast.Expr) ast.Pattern {
	if p.k != lexer.DotDot && p.k != lexer.DotDotEq {
		return &ast.LitPat{IDBase: p.base(start), Value: lo}
	}
	n := &ast.RangePat{Lo: lo, Inclusive: p.k == lexer.DotDotEq}
	p.next()
	switch p.k {
	case lexer.Int, lexer.Float, lexer.Minus:
		n.Hi = p.patternNumber()
	case lexer.Ident, lexer.SelfType:
		n.Hi = p.patternPath()
	default:
		if lo == nil || n.Inclusive {
			p.failExpected("the end of the range")
		}
	}
	n.IDBase = p.base(start)
	return n
}

// tuplePattern reads `(a, b)`. It returns the pattern p for `(p)`.
func (p *parser) tuplePattern() ast.Pattern {
	start, open := p.here(), p.i
	p.next()
	var elems []ast.Pattern
	comma := false
	for p.k != lexer.RParen {
		elems = append(elems, p.pattern())
		if !p.eat(lexer.Comma) {
			comma = false
			break
		}
		if comma = true; p.isPartMissing() {
			break
		}
	}
	elems = elementsBefore(p, elems, p.closeBracket(lexer.RParen, open, "`,` or `)`"))
	if len(elems) == 1 && !comma {
		return elems[0]
	}
	return &ast.TuplePat{IDBase: p.base(start), Elems: elems}
}

// arrayPattern reads `[a, ..rest, b]`. A `..` directly before a number starts a range pattern; any
// other `..` matches the rest of the array.
func (p *parser) arrayPattern() ast.Pattern {
	start, open := p.here(), p.i
	p.next()
	n := &ast.ArrayPat{Rest: -1}
	for p.k != lexer.RBracket {
		if next := p.peek(1); p.k == lexer.DotDot && next != lexer.Int && next != lexer.Float && next != lexer.Minus {
			p.restPattern(n)
		} else {
			n.Elems = append(n.Elems, p.pattern())
		}
		if !p.eat(lexer.Comma) || p.isPartMissing() {
			break
		}
	}
	n.Elems = elementsBefore(p, n.Elems, p.closeBracket(lexer.RBracket, open, "`,` or `]`"))
	n.IDBase = p.base(start)
	return n
}

func (p *parser) restPattern(n *ast.ArrayPat) {
	p.reportSecondRest(n.Rest)
	p.next()
	n.Rest = len(n.Elems)
	if p.k == lexer.Ident {
		start := p.here()
		name := p.ident()
		if name.Name != "_" {
			n.RestName = &ast.NamePat{IDBase: p.base(start), Name: name}
		}
	}
}

// reportSecondRest reports a second `..` in a pattern. rest is the index of the first `..`, or -1
// if this is the first.
func (p *parser) reportSecondRest(rest int) {
	if rest >= 0 {
		d := diag.TwoRests.At(p.span(), "duplicate `..` in this pattern")
		d.Fixes = append(d.Fixes, p.removeRestFix())
		p.fail(d)
	}
}

// variantPattern reads the payload of a variant pattern `Path(a, b)`.
func (p *parser) variantPattern(path *ast.PathExpr) ast.Pattern {
	open := p.i
	p.next()
	n := &ast.VariantPat{Path: path, Rest: -1}
	for p.k != lexer.RParen {
		if next := p.peek(1); p.k == lexer.DotDot && (next == lexer.RParen || next == lexer.Comma) {
			p.reportSecondRest(n.Rest)
			n.Rest = len(n.Elems)
			p.next()
		} else {
			n.Elems = append(n.Elems, p.pattern())
		}
		if !p.eat(lexer.Comma) || p.isPartMissing() {
			break
		}
	}
	n.Elems = elementsBefore(p, n.Elems, p.closeBracket(lexer.RParen, open, "`,` or `)`"))
	n.IDBase = p.base(path.Sp.Start)
	return n
}

// structPattern reads the fields of `Path { x, y: p, .. }`.
func (p *parser) structPattern(path *ast.PathExpr) ast.Pattern {
	open := p.i
	p.next()
	n := &ast.StructPat{Path: path}
	for p.k != lexer.RBrace {
		if p.eat(lexer.DotDot) {
			n.Rest = true
			p.eat(lexer.Comma)
			break
		}
		n.Fields = append(n.Fields, p.fieldPattern())
		if !p.eat(lexer.Comma) || p.endsRows() {
			break
		}
	}
	n.Fields = elementsBefore(p, n.Fields, p.closeBracket(lexer.RBrace, open, "`,` or `}`"))
	n.IDBase = p.base(path.Sp.Start)
	return n
}

func (p *parser) fieldPattern() *ast.FieldPat {
	start := p.here()
	if p.k.IsWord() && p.peek(1) == lexer.Colon {
		f := &ast.FieldPat{Name: p.ident()}
		p.next()
		f.Pattern = p.pattern()
		f.Sp = p.from(start)
		return f
	}
	p.reportShortField("name")
	f := &ast.FieldPat{Name: p.name(), Short: true}
	f.Sp = f.Name.Sp
	f.Pattern = &ast.NamePat{IDBase: p.baseAt(f.Sp), Name: f.Name}
	return f
}
