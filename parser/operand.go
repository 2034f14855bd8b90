package parser

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// primary reads an operand without the postfix operators after it.
func (p *parser) primary() ast.Expr {
	if p.isReservedUse() {
		return p.nameOrContext()
	}
	switch p.k {
	case lexer.Ident, lexer.SelfType:
		if next := p.peek(1); next == lexer.FatArrow || next == lexer.Arrow {
			if arrow := p.arrowAhead(); arrow > 0 {
				return p.arrowClosure(arrow)
			}
		}
		if p.switchAhead() {
			return p.switchExpr()
		}
		return p.nameOrContext()
	case lexer.Self:
		return p.path()
	case lexer.Int, lexer.Float:
		return p.number()
	case lexer.String:
		start := p.here()
		v := lexer.StringValue(p.text())
		p.next()
		return &ast.StringLit{IDBase: p.base(start), Value: v}
	case lexer.StringHead:
		return p.interpolated()
	case lexer.True, lexer.False:
		start, v := p.here(), p.k == lexer.True
		p.next()
		return &ast.BoolLit{IDBase: p.base(start), Value: v}
	case lexer.Nil:
		start := p.here()
		p.next()
		return &ast.NilLit{IDBase: p.base(start)}
	case lexer.LParen:
		if next := p.peek(1); next == lexer.Ident || next == lexer.RParen {
			if arrow := p.arrowAhead(); arrow > 0 {
				return p.arrowClosure(arrow)
			}
		}
		return p.paren()
	case lexer.LBracket:
		return p.array()
	case lexer.LBrace:
		return p.brace()
	case lexer.Bar, lexer.OrOr:
		return p.closure()
	case lexer.Emit:
		return p.emit()
	case lexer.Bad:
		start := p.here()
		p.next()
		return &ast.BadExpr{IDBase: p.base(start)}
	}
	return p.keywordExpr()
}

// keywordExpr reads an operand that starts with a reserved word, a label or a decorator.
func (p *parser) keywordExpr() ast.Expr {
	switch p.k {
	case lexer.If:
		return p.ifExpr()
	case lexer.Match:
		return p.matchExpr()
	case lexer.For, lexer.While, lexer.Loop, lexer.Label:
		return p.loopExpr()
	case lexer.Try:
		return p.tryExpr()
	case lexer.Listen:
		return p.listenExpr()
	case lexer.Fn:
		if p.peek(1) == lexer.Ident && p.newLine() && p.isPartMissing() { // the words start the next declaration
			return p.reportNoExpression()
		}
		return p.fnClosure()
	case lexer.Return, lexer.Throw, lexer.Break, lexer.Continue:
		return p.jump()
	case lexer.At:
		if p.mayBeNextStmt(p.i) && !p.limitAhead() { // the decorator belongs to the next declaration
			p.reportAndContinue(p.missingValue())
			return p.badExpr(p.baseAt(p.afterPrevious()))
		}
		return p.parallelFor()
	case lexer.Await:
		return p.await()
	}
	return p.reportNoExpression()
}

// reportNoExpression reports that the current token does not start an expression. For common errors
// it adds a fix. If the expression is missing, it returns a hole.
func (p *parser) reportNoExpression() ast.Expr {
	at, found := p.unexpectedToken()
	d := diag.NoExpression.At(at, "expected an expression, found %s", found)
	prev := lexer.EOF
	if p.i > 0 {
		prev = p.toks[p.i-1].Kind
	}
	switch {
	case found == endOfLine && binaryOps[prev] != ast.OpNone:
		d.Hint("add the right operand of `%s`", p.prevText())
	case found == endOfLine && prev == lexer.Assign:
		d.Hint("add a value after `=`")
	case found == endOfLine:
	case p.k == lexer.Less && p.peek(1) == lexer.Ident && p.peek(2) == lexer.Greater && p.peek(3) == lexer.Ident:
		at, cast := source.Span{Start: p.here(), End: p.toks[p.i+3].End}, p.textAt(p.i+3)+" as "+p.textAt(p.i+1)
		d.Repair(diag.Change(at, cast, cast, false), "write `as` to convert a value: `%s`", cast)
	case p.k == lexer.LBrace && p.setting.inHead && p.mapAhead():
		d.Hint("`{` starts the body here; put a map or struct in parentheses")
	case p.k == lexer.Plus && prev == lexer.Plus:
		d.WithFixes(p.stepFix("+=")...).Hint("Concerto has no `++`: write `x += 1`")
	case prev == lexer.Minus && p.i > 1 && p.toks[p.i-2].Kind == lexer.Minus:
		d.Hint("Concerto has no `--`: write `x -= 1`")
	case p.k == lexer.Assign && prev == lexer.EqEq:
		d.Repair(diag.SafeFix(diag.Remove(p.span()), "Change to `==`"), "Concerto has no `===`: write `==` to compare values")
	case p.k == lexer.Assign && prev == lexer.NotEq:
		d.Repair(diag.SafeFix(diag.Remove(p.span()), "Change to `!=`"), "Concerto has no `!==`: write `!=` to compare values")
	case (p.k == lexer.Less || p.k == lexer.Greater) && prev == p.k:
		d.Hint("Concerto has no bitwise operators: write `x.%s(n)`", map[bool]string{true: "shl", false: "shr"}[prev == lexer.Less])
	case p.k == lexer.Star && prev == lexer.Star:
		d.Hint("write `x.pow(n)` to compute a power")
	case p.k == lexer.Star || p.k == lexer.AndAnd:
		d.Hint("remove it: Concerto has no pointers, values are copied")
	case p.k == lexer.DotDot && p.peek(1) == lexer.Dot:
		d.Hint("write `xs + [x]` to append to an array, or `.merge(…)` to combine maps")
	case p.k == lexer.DotDot || p.k == lexer.DotDotEq:
		d.Hint("add the start of the range: `0..n`")
	case p.k == lexer.Type && p.peek(1) == lexer.LParen:
		d.Repair(diag.Change(p.span(), "typeof", "typeof", true), "write `typeof(x)`")
	case p.k == lexer.Async:
		d.Hint("only functions can be async: declare `async fn name() { … }` and call it")
	case p.k == lexer.Else:
		d.Hint("write `else` directly after the `}` of its `if`")
	case p.k.IsKeyword() && (prev == lexer.Assign || prev == lexer.LParen || prev == lexer.Comma):
		d.Hint("`%s` is a reserved word", p.text())
	case binaryOps[prev] != ast.OpNone && (isClosing(p.k) || p.k == lexer.Semi || p.k == lexer.Comma || p.k == lexer.EOF):
		d.Hint("add the right operand of `%s`", p.prevText())
	case prev == lexer.Assign:
		d.Hint("add a value after `=`")
	}
	return p.badExpr(p.reportMissing(d))
}

// nameOrContext reads an operand that starts with a name: a path, a struct literal, or an
// expression that starts with a contextual keyword.
func (p *parser) nameOrContext() ast.Expr {
	switch p.peek(1) {
	case lexer.LParen:
		if p.text() == "race" {
			start := p.here()
			p.next()
			elems, _ := p.parenList()
			return &ast.Race{IDBase: p.base(start), Elems: elems}
		}
	case lexer.For:
		if p.text() == "parallel" {
			return p.parallelFor()
		}
	case lexer.Colon:
		if p.newLine() && (p.after(lexer.Colon) || p.after(lexer.Assign)) { // the name starts the next row
			p.reportAndContinue(p.missingValue())
			return p.badExpr(p.baseAt(p.afterPrevious()))
		}
	}
	path := p.path()
	if p.k == lexer.LBrace && !p.setting.inHead {
		if hint := p.blockWordHint(path); hint != "" {
			p.fail(diag.Unexpected.At(path.Sp, "unexpected `%s`", path.Segments[0].Name).WithFixes(p.raceFix()...).Hint("%s", hint))
		}
		return p.structLit(path)
	}
	return path
}

// path reads `a::b<T>::c`.
func (p *parser) path() *ast.PathExpr {
	start := p.here()
	n := p.newPath()
	n.ArgsAt = -1
	n.Segments = p.sliceOf(p.ident())
	for {
		switch {
		case p.k == lexer.PathSep:
			p.next()
			if p.k == lexer.Less {
				p.fail(p.expected("a name").Hint("write type arguments directly after the name: `f<T>(…)`"))
			}
			n.Segments = append(n.Segments, p.pathSegment())
		case p.k == lexer.Less && p.typeArgsAhead():
			at := p.span()
			args := p.typeArgs()
			if n.ArgsAt >= 0 {
				p.report(diag.TwiceTypeArguments.At(at, "duplicate type arguments").
					Repair(diag.UnsafeFix(diag.Remove(p.from(at.Start)), "Remove `%s`", p.src[at.Start:p.prevEnd()]), "remove one of the two; type arguments can be inferred"))
				continue
			}
			n.TypeArgs, n.ArgsAt = args, len(n.Segments)-1
		default:
			n.IDBase = p.base(start)
			return n
		}
	}
}

// pathSegment reads the name after a `::`. The name is missing if the next token starts a statement
// on a later line that is not indented more. If a comment is between the `::` and the next line,
// the path continues on that line.
func (p *parser) pathSegment() *ast.Ident {
	if next := p.peek(1); p.k != lexer.Ident || ends[next] || !p.mayBeNextStmt(p.i) || strings.TrimSpace(p.src[p.prevEnd():p.here()]) != "" {
		return p.name()
	}
	p.reportAndContinue(diag.Unexpected.At(p.afterPrevious(), "expected a name, found %s", endOfLine))
	return p.noIdent()
}

// structLit reads the fields of `Path { x: 1, y, ..base }`.
func (p *parser) structLit(path *ast.PathExpr) ast.Expr {
	open := p.i
	p.next()
	outer := p.nest(-1)
	n := &ast.StructLit{Path: path}
	for p.k != lexer.RBrace {
		if p.k == lexer.DotDot {
			if p.structBase(n, open) {
				continue
			}
			break
		}
		if p.endsRows() {
			break
		}
		n.Fields = append(n.Fields, p.fieldInit())
		if !p.hasNextElement(lexer.RBrace, open, "`,` or `}`") {
			break
		}
	}
	p.setting = outer
	end := p.closeBracket(lexer.RBrace, open, "`,` or `}`")
	n.Fields = elementsBefore(p, n.Fields, end)
	n.IDBase = p.base(path.Sp.Start)
	p.mark(end, n)
	return n
}

func (p *parser) fieldInit() *ast.FieldInit {
	start := p.here()
	if p.k.IsWord() && p.peek(1) == lexer.Colon {
		f := &ast.FieldInit{Name: p.ident()}
		p.next()
		f.Value = p.rowValue()
		f.Sp = p.from(start)
		return f
	}
	p.reportShortField("value")
	f := &ast.FieldInit{Name: p.name(), Short: true}
	f.Sp = f.Name.Sp
	f.Value = &ast.PathExpr{IDBase: p.baseAt(f.Sp), Segments: []*ast.Ident{f.Name}, ArgsAt: -1}
	if p.k == lexer.Assign {
		d := diag.Unexpected.At(p.span(), "expected `:`, found `=`")
		at := source.Span{Start: p.prevEnd(), End: p.tok().End}
		p.next()
		f.Value, f.Short = p.rowValue(), false
		f.Sp = p.from(start)
		p.report(d.Repair(diag.SafeFix(diag.Replace(at, ":"), "Change to `:`"), "write `:` before the value of a field: `%s: %s`", f.Name.Name, p.textOf(f.Value.Span(), "…")))
	}
	return f
}

// paren reads `(x)` or a tuple.
func (p *parser) paren() ast.Expr {
	start := p.here()
	elems, comma := p.parenList()
	if comma {
		return &ast.TupleLit{IDBase: p.base(start), Elems: elems}
	}
	return &ast.ParenExpr{IDBase: p.base(start), X: elems[0]}
}

// parenList reads `(a, b)` with at least one element. comma reports whether a comma follows an
// element: `(a,)` is a tuple.
func (p *parser) parenList() (elems []ast.Expr, comma bool) {
	open := p.i
	p.next()
	outer := p.nest(-1)
	if p.k == lexer.RParen {
		elems = append(elems, p.badExpr(p.reportMissing(diag.NoExpression.At(p.span(), "expected an expression, found `)`").
			Hint("write `nil` for no value"))))
	}
	for p.k != lexer.RParen {
		elems = append(elems, p.expr())
		if !p.hasNextElement(lexer.RParen, open, "`,` or `)`") {
			comma = comma || p.prev(1) == lexer.Comma
			break
		}
		comma = true
		if p.endsList() {
			break
		}
	}
	p.setting = outer
	end := p.closeBracket(lexer.RParen, open, "`,` or `)`")
	if elems = elementsBefore(p, elems, end); len(elems) == 0 {
		elems = append(elems, p.badExpr(p.baseAt(p.afterPrevious())))
	}
	return elems, comma
}

func (p *parser) array() ast.Expr {
	start, open := p.here(), p.i
	p.next()
	outer := p.nest(-1)
	n := &ast.ArrayLit{}
	for p.k != lexer.RBracket {
		n.Elems = append(n.Elems, p.expr())
		if !p.hasNextElement(lexer.RBracket, open, "`,` or `]`") || p.endsList() {
			break
		}
	}
	p.setting = outer
	end := p.closeBracket(lexer.RBracket, open, "`,` or `]`")
	n.Elems = elementsBefore(p, n.Elems, end)
	n.IDBase = p.base(start)
	p.mark(end, n)
	return n
}

// brace reads an operand that starts with a `{`, which is a map or a block.
func (p *parser) brace() ast.Expr {
	if p.setting.inHead {
		return p.reportNoExpression()
	}
	if p.peek(1) == lexer.RBrace || p.mapAhead() {
		return p.mapLit()
	}
	return p.blockExpr()
}

// bodyExpr reads the body of a closure. In a body, `{}` is a block and not a map.
func (p *parser) bodyExpr() ast.Expr {
	if p.k == lexer.Let || p.k == lexer.LBrace && p.peek(1) == lexer.RBrace {
		return p.bodyBlock()
	}
	return p.expr()
}

// bodyBlock reads a block that is the body of a construct.
func (p *parser) bodyBlock() *ast.BlockExpr {
	return p.blockExprOr(func() *diag.Diagnostic {
		return p.expected("`{`").Hint("put several statements into a block: `{ … }`")
	})
}

func (p *parser) blockExpr() *ast.BlockExpr { return p.blockExprOr(nil) }

// blockExprOr reads a block expression. missing returns the diagnostic for a missing `{`.
func (p *parser) blockExprOr(missing func() *diag.Diagnostic) *ast.BlockExpr {
	b := p.blockOr(missing)
	return &ast.BlockExpr{IDBase: p.baseAt(b.Sp), Block: b}
}

func (p *parser) mapLit() ast.Expr {
	start, open := p.here(), p.i
	p.next()
	outer := p.nest(-1)
	n := &ast.MapLit{}
	for p.k != lexer.RBrace && !p.endsRows() {
		n.Entries = append(n.Entries, p.mapEntry())
		if !p.hasNextElement(lexer.RBrace, open, "`,` or `}`") {
			break
		}
	}
	p.setting = outer
	end := p.closeBracket(lexer.RBrace, open, "`,` or `}`")
	n.Entries = elementsBefore(p, n.Entries, end)
	n.IDBase = p.base(start)
	p.mark(end, n)
	return n
}

func (p *parser) mapEntry() *ast.MapEntry {
	start := p.here()
	e := &ast.MapEntry{}
	switch {
	case p.k == lexer.String, p.k == lexer.StringHead, p.k == lexer.Int, p.k == lexer.True, p.k == lexer.False:
		e.Key = p.primary()
	case p.k == lexer.LBracket:
		open := p.i
		p.next()
		e.Key, e.Computed = p.expr(), true
		p.closeBracket(lexer.RBracket, open, "`]`")
	case p.k.IsWord():
		id := p.ident()
		e.Key = &ast.StringLit{IDBase: p.baseAt(id.Sp), Value: id.Name}
	default:
		p.fail(p.expected("a key").Hint("a key must be a string, a name, an integer, true, false or `[expression]`"))
	}
	if p.k != lexer.Colon {
		e.Value = p.badExpr(p.reportMissing(p.expected("`:`")))
	} else {
		p.next()
		e.Value = p.rowValue()
	}
	e.Sp = p.from(start)
	return e
}

// rowValue reads the value of a field or a map entry. It reports a missing value if the next
// statement is on a later line.
func (p *parser) rowValue() ast.Expr {
	since := p.progress()
	x := p.expr()
	if p.k != lexer.Comma && p.k != lexer.RBrace && p.i > since.at && p.rewindToNextStmt(since) {
		p.reportAndContinue(p.missingValue())
		return p.badExpr(p.baseAt(p.afterPrevious()))
	}
	return x
}

// missingValue returns the diagnostic for an expression that is missing at the end of the previous
// line.
func (p *parser) missingValue() *diag.Diagnostic {
	return diag.NoExpression.At(p.afterPrevious(), "expected an expression, found %s", endOfLine)
}
