package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// inHeadOf calls read for the head of a match, a listen or a similar construct. In a head, a `{`
// that is not in parentheses starts the body.
func (p *parser) inHeadOf(read func() ast.Expr) ast.Expr {
	head := p.setting.inHead
	p.setting.inHead = true
	x := read()
	p.setting.inHead = head
	return x
}

func (p *parser) headExpr() ast.Expr {
	head := p.setting.inHead
	p.setting.inHead = true
	x := p.binary(ast.PrecPipe)
	p.setting.inHead = head
	if p.k == lexer.Assign {
		p.fail(p.expected("`{`").Repair(diag.UnsafeFix(diag.Replace(p.span(), "=="), "Change to `==`"), "write `==` to compare: `%s == %s`", p.textOf(x.Span(), "x"), p.textAt(min(p.i+1, len(p.toks)-1))))
	}
	return x
}

// headOrMissing returns the head x, which the parser has read from the position since. If x is
// really the next statement, headOrMissing reports that the head is missing, and returns a hole.
func (p *parser) headOrMissing(since progress, x ast.Expr) ast.Expr {
	if p.k != lexer.LBrace && p.i > since.at && p.rewindToNextStmt(since) {
		p.reportAndContinue(p.missingValue())
		return p.badExpr(p.baseAt(p.afterPrevious()))
	}
	return x
}

// headStruct returns the diagnostic for a struct literal in a head if the current `{` belongs to
// one, else nil.
func (p *parser) headStruct() *diag.Diagnostic {
	if p.k != lexer.LBrace || p.prev(1) != lexer.Ident || p.peek(1) != lexer.Ident || p.peek(2) != lexer.Colon {
		return nil
	}
	end := p.closingOrEnd(p.i)
	if after := p.kindAt(end + 1); after != lexer.LBrace && binaryOps[after] == ast.OpNone {
		return nil
	}
	start := p.toks[p.pathBefore(p.i)].Start
	return diag.HeadStruct.At(source.Span{Start: start, End: p.toks[end].End}, "a struct literal is not allowed here, because `{` starts the body").
		Repair(p.parenthesesFix(), "put it in parentheses: `(%s { … })`", p.src[start:p.prevEnd()])
}

// body reads the block after the head of a construct.
func (p *parser) body() *ast.Block {
	if d := p.headStruct(); d != nil {
		p.fail(d)
	}
	return p.blockOr(func() *diag.Diagnostic {
		d := p.expected("`{`")
		if len(d.Hints) == 0 {
			d.Hint("the body must be in braces: `{ … }`")
		}
		return d
	})
}

// condition reads the condition of an if or a while: an expression or `let p = e`.
func (p *parser) condition() ast.Expr {
	since := p.progress()
	switch {
	case p.k != lexer.Let:
		return p.headOrMissing(since, p.headExpr())
	case p.mayBeNextStmt(p.i):
		return p.reportNoExpression()
	}
	start := p.here()
	p.next()
	since = p.progress()
	n := &ast.LetCond{Pattern: p.pattern()}
	if p.k != lexer.Assign && p.i > since.at && p.rewindToNextStmt(since) {
		n.Pattern = p.missingPattern()
		n.X = p.badExpr(p.baseAt(p.afterPrevious()))
		n.IDBase = p.base(start)
		return n
	}
	if p.k != lexer.Assign {
		n.X = p.badExpr(p.reportMissing(p.expected("`=`"), lexer.LBrace))
	} else {
		p.next()
		since = p.progress()
		n.X = p.headOrMissing(since, p.headExpr())
		p.rejectSecondCondition(n)
	}
	n.IDBase = p.base(start)
	return n
}

// rejectSecondCondition reports a `&&` with a second condition after the value of `if let`.
func (p *parser) rejectSecondCondition(n *ast.LetCond) {
	and, ok := n.X.(*ast.Binary)
	if !ok || and.Op != ast.OpAnd {
		return
	}
	switch n.Pattern.(type) {
	case *ast.TuplePat, *ast.StructPat, *ast.VariantPat:
	default:
		return
	}
	p.report(diag.Unexpected.At(and.OpSpan, "a condition is not allowed after the value of `if let`").
		Hint("move it into the block: `if let %s = %s { if %s { … } }`", shorten(p.src[n.Pattern.Span().Start:n.Pattern.Span().End]),
			shorten(p.src[and.X.Span().Start:and.X.Span().End]), shorten(p.src[and.Y.Span().Start:and.Y.Span().End])))
	n.X = and.X
}

func (p *parser) ifExpr() ast.Expr {
	start := p.here()
	p.next()
	p.deeper()
	n := &ast.IfExpr{Cond: p.condition()}
	n.Then = p.body()
	if p.eat(lexer.Else) {
		switch p.k {
		case lexer.If:
			n.Else = p.ifExpr()
		case lexer.LBrace:
			n.Else = p.blockExpr()
		default:
			p.reportAndContinue(p.expected("`{` or `if`"))
			if !p.isPartMissing() {
				panic(bailout{})
			}
			n.Else = p.badExpr(p.baseAt(p.afterPrevious()))
		}
	}
	p.setting.shallower()
	n.IDBase = p.base(start)
	return n
}

func (p *parser) matchExpr() ast.Expr {
	start := p.here()
	p.next()
	since := p.progress()
	n := &ast.MatchExpr{Subject: p.headOrMissing(since, p.headExpr())}
	if d := p.headStruct(); d != nil && p.kindAt(p.closingOrEnd(p.i)+1) == lexer.LBrace {
		p.reportAndContinue(d)
		at := p.i
		p.seek(p.closingOrEnd(p.i) + 1)
		p.recordLostText(n.Subject, at, p.i)
		n.Subject = p.badExpr(p.base(n.Subject.Span().Start))
	}
	n.Head = p.from(start)
	var a *ast.Arm
	whole := p.rows(func(b braces) {
		a = &ast.Arm{}
		n.Arms = append(n.Arms, a)
		p.arm(b, a)
	}, func(start int) { p.brokenArm(a, start) })
	n.IDBase = p.base(start)
	if !whole {
		p.recordGuessedEnd(n)
	}
	return n
}

// rows reads the braces of a match or a listen. An error in one row does not affect the other rows.
// A row is not part of the enclosing head or slice. broken completes a row that has syntax errors
// and starts at token start. whole reports whether the rows end at their `}`.
func (p *parser) rows(one func(b braces), broken func(start int)) (whole bool) {
	outer := p.setting.isolate()
	b, ok := p.openBraces(nil)
	if !ok {
		p.setting = outer
		return false
	}
	for p.hasElement(b) {
		start := p.i
		p.reports.going = false
		if !p.guard(func() { one(b) }) || p.i == start {
			p.sync(start, inList)
			broken(start)
		}
	}
	p.setting = outer
	return p.balance.closed
}

// brokenArm completes an arm that has syntax errors and starts at token start.
func (p *parser) brokenArm(a *ast.Arm, start int) {
	a.Sp = p.from(p.toks[start].Start)
	if a.Pattern == nil {
		a.Pattern = p.badPat(p.baseAt(source.Span{Start: a.Sp.Start, End: a.Sp.Start}))
	}
	if a.Body == nil {
		at := a.Pattern.Span().End
		if a.Guard != nil {
			at = a.Guard.Span().End
		}
		for start < p.i && p.toks[start].Start < at {
			start++
		}
		bad := &ast.BadExpr{IDBase: p.base(at)}
		bad.Names = p.recordLostText(bad, start, p.i)
		a.Body = bad
	}
}

// arm reads `pattern if guard => body` and the comma after the arm.
func (p *parser) arm(b braces, a *ast.Arm) {
	start := p.here()
	a.Pattern = p.pattern()
	if p.eat(lexer.If) {
		a.Guard = p.binary(ast.PrecPipe)
	}
	if (p.k == lexer.Arrow || p.k == lexer.Colon) && startsExpr[p.peek(1)] {
		at := source.Span{Start: p.prevEnd(), End: p.tok().End}
		p.report(diag.Unexpected.At(p.span(), "expected `=>`, found %s", p.foundText()).
			Repair(diag.SafeFix(diag.Replace(at, " =>"), "Change to `=>`"), "write `=>` after the pattern: `%s => …`", p.textOf(a.Pattern.Span(), "pattern")))
	} else if p.k != lexer.FatArrow {
		d := p.expected("`=>`")
		if p.k == lexer.Comma {
			d.Hint("write alternatives with `|`: `%s | %s => …`", p.prevText(), p.textAt(p.i+1))
		} else if binaryOps[p.k] != ast.OpNone {
			d.Hints = []string{"write `if` before the condition: `" + p.prevText() + " if " + p.prevText() + " " + p.text() + " … => …`"}
		}
		p.reportAndContinue(d)
		if !p.isPartMissing() && !p.newLine() {
			panic(bailout{})
		}
		a.Body = p.badExpr(p.baseAt(p.afterPrevious()))
		a.Sp = p.from(start)
		p.armEnd(b)
		return
	}
	p.next()
	if p.k == lexer.Let || p.k == lexer.LBrace && !p.mapAhead() {
		a.Body = p.bodyBlock()
		if p.k != lexer.Dot && p.k != lexer.Question {
			a.Sp = p.from(start)
			p.eat(lexer.Comma)
			return
		}
		a.Body = p.assignRest(p.binaryRest(p.postfix(a.Body, false), ast.PrecPipe))
	} else {
		since := p.progress()
		if a.Body = p.expr(); (p.k == lexer.FatArrow || p.k == lexer.If) && p.rewindToNextStmt(since) {
			p.reportAndContinue(p.missingValue())
			a.Body = p.badExpr(p.baseAt(p.afterPrevious()))
		}
	}
	a.Sp = p.from(start)
	p.armEnd(b)
}

// armEnd requires a comma after an arm or a handler. If the comma is missing at the end of a line,
// armEnd reports it there, and the list continues on the next line.
func (p *parser) armEnd(b braces) {
	if p.eat(lexer.Comma) || p.k == lexer.RBrace {
		return
	}
	d := p.expected("`,` or `}`")
	if p.newLine() && p.k != lexer.EOF {
		if !p.leftBraces(b) {
			e := p.prevEnd()
			d.Span = source.Span{Start: e, End: e}
			p.report(d.Repair(diag.UnsafeFix(diag.Insert(e, ","), "Insert `,`"), "add `,` after this arm"))
		}
		return
	}
	if p.k == lexer.Semi {
		p.report(d.Repair(diag.UnsafeFix(diag.Replace(p.span(), ","), "Change to `,`"), "end the arm with `,`, or put several statements into a block"))
		p.next()
		return
	}
	p.fail(d)
}

// loopExpr reads a for, while or loop with an optional label.
func (p *parser) loopExpr() ast.Expr {
	start := p.here()
	var label *ast.Ident
	if p.k == lexer.Label {
		label = p.label()
		p.expect(lexer.Colon)
	}
	switch p.k {
	case lexer.For:
		p.next()
		if p.foreignHeader() {
			p.block()
			return &ast.BadExpr{IDBase: p.base(start)}
		}
		n := &ast.ForExpr{Label: label, Pattern: p.loopPattern()}
		n.Iter = p.iterated()
		n.Body = p.body()
		n.IDBase = p.base(start)
		return n
	case lexer.While:
		p.next()
		n := &ast.WhileExpr{Label: label, Cond: p.condition()}
		n.Body = p.body()
		n.IDBase = p.base(start)
		return n
	case lexer.Loop:
		p.next()
		n := &ast.LoopExpr{Label: label, Body: p.block()}
		n.IDBase = p.base(start)
		return n
	}
	p.failExpected("`for`, `while` or `loop`")
	return nil
}

// foreignHeader consumes and reports the header of a `for` in another language, such as `(let i =
// 0; …)` or `(const x of xs)`. It returns false if there is no such header.
func (p *parser) foreignHeader() bool {
	if p.k != lexer.LParen {
		return false
	}
	switch p.peek(1) {
	case lexer.Let, lexer.Const:
	case lexer.Ident:
		if !foreign.Start.Declares(p.textAt(p.i + 1)) {
			return false
		}
	default:
		return false
	}
	hint := "write `for i in 0..n { … }` or a `while` loop"
	end := p.closingOrEnd(p.i)
	for i := p.i; i < end; i++ {
		if t := p.textAt(i); p.kindAt(i) == lexer.Ident && t == "of" || p.kindAt(i) == lexer.In {
			hint = "write `for " + p.textAt(p.i+2) + " in …` without parentheses"
		}
	}
	p.report(diag.Unexpected.At(p.span(), "`for` does not take a header in parentheses").Hint("%s", hint))
	p.seek(max(end, p.i))
	p.markLost()
	p.next()
	return true
}

// iterated reads the `in xs` of a for.
func (p *parser) iterated() ast.Expr {
	if p.k != lexer.In {
		d := p.expected("`in`")
		if p.k == lexer.Assign || p.k == lexer.Semi && !p.stmtEnds() {
			p.reportAndContinue(d.Hint("`for` iterates over a collection: `for i in 0..n { … }`"))
			for p.next(); p.k != lexer.LBrace && p.k != lexer.EOF && !p.newLine(); {
				p.next()
			}
			return p.badExpr(p.base(d.Span.Start))
		}
		p.reportAndContinue(d)
		if !p.isPartMissing(lexer.LBrace) && !p.newLine() {
			panic(bailout{})
		}
		return p.badExpr(p.baseAt(p.afterPrevious()))
	}
	p.next()
	since := p.progress()
	return p.headOrMissing(since, p.headExpr())
}

// stmtEnds reports whether the `;` here is the last token of its line.
func (p *parser) stmtEnds() bool { return p.i+1 >= len(p.toks) || p.startsLine(p.i+1) }

// loopPattern reads the pattern of a `for`.
func (p *parser) loopPattern() ast.Pattern {
	since := p.progress()
	pat := p.pattern()
	if p.k != lexer.In && p.i > since.at && p.rewindToNextStmt(since) {
		return p.missingPattern()
	}
	return pat
}

// label reads a label. Its name does not include the quote.
func (p *parser) label() *ast.Ident {
	n := p.ident()
	n.Name = n.Name[1:]
	return n
}

// limitAhead reports whether `@limit(n) parallel for` starts at the current token.
func (p *parser) limitAhead() bool {
	if p.peek(1) != lexer.Ident || p.textAt(p.i+1) != "limit" || p.peek(2) != lexer.LParen {
		return false
	}
	i := p.closingOrEnd(p.i+2) + 1
	return p.kindAt(i) == lexer.Ident && p.textAt(i) == "parallel" && p.kindAt(i+1) == lexer.For
}

// parallelFor reads `@limit(n) parallel for p in xs { }`.
func (p *parser) parallelFor() ast.Expr {
	start := p.here()
	n := &ast.ParallelFor{}
	if p.k == lexer.At {
		if !p.limitAhead() {
			p.fail(diag.MisplacedDecorator.At(p.span(), "a decorator is not allowed here").
				Hint("write `@limit(n)` directly before `parallel for`"))
		}
		p.next()
		p.next()
		at := p.span()
		args, _ := p.args()
		if len(args) != 1 || args[0].Name != nil {
			p.fail(diag.Unexpected.At(at, "`@limit` takes exactly one number"))
		}
		n.Limit = args[0].Value
	}
	p.next()
	p.next()
	n.Pattern = p.loopPattern()
	n.Iter = p.iterated()
	n.Body = p.body()
	n.IDBase = p.base(start)
	return n
}

func (p *parser) tryExpr() ast.Expr {
	start := p.here()
	p.next()
	n := &ast.TryExpr{Body: p.block()}
	for p.k == lexer.Catch {
		n.Catches = append(n.Catches, p.catchClause())
	}
	if p.k == lexer.Ident && p.peek(1) == lexer.LBrace {
		if hint := foreign.Between.Hint(p.text()); hint != "" && !p.newLine() && len(foreign.Between.Find(p.text()).Ours) == 0 {
			word := p.text()
			p.report(diag.Unexpected.At(p.span(), "`%s` is not part of `try`", word).
				Repair(diag.UnsafeFix(diag.Remove(source.Span{Start: p.here(), End: p.here() + source.Pos(len(word)+1)}), "Remove `%s`", word), "%s", hint))
			p.markLost()
			p.next()
		}
	}
	n.IDBase = p.base(start)
	return n
}

// catchClause reads `catch T(e) { }`, `catch T { }` and `catch { }`.
func (p *parser) catchClause() *ast.Catch {
	start := p.here()
	p.next()
	c := &ast.Catch{}
	if p.k != lexer.LBrace {
		if p.k != lexer.Ident && p.k != lexer.SelfType {
			d := p.expected("an error type or `{`")
			if p.k == lexer.LParen && p.peek(1) == lexer.Ident && p.peek(2) == lexer.RParen {
				d.Hints, d.Fixes = nil, nil
				p.fail(d.Repair(diag.Change(source.Span{Start: p.toks[p.i-1].End, End: p.here()}, "catch Error", " Error", false), "name the error type: `catch Error(%s) { … }` catches every error, `catch HostError(%[1]s) { … }` only one kind", p.textAt(p.i+1)))
			}
			p.fail(d.Hint("name the error type: `catch Error(e) { … }` catches every error, `catch HostError(e) { … }` only one kind"))
		}
		c.Type = p.namedType(true)
		if p.k == lexer.LParen {
			open := p.i
			p.next()
			c.Name = p.name()
			p.closeBracket(lexer.RParen, open, "`)`")
		}
	}
	c.Body = p.block()
	c.Sp = p.from(start)
	return c
}

// jump reads a return, throw, break or continue.
func (p *parser) jump() ast.Expr {
	start, k := p.here(), p.k
	p.next()
	switch k {
	case lexer.Return:
		n := &ast.ReturnExpr{X: p.valueOfJump()}
		if n.X != nil && p.k == lexer.Comma {
			n.X = p.valuesOfReturn(n.X)
		}
		if n.X == nil && p.stmtMissesEnd() {
			n.X = p.badExpr(p.baseAt(p.afterPrevious()))
		}
		n.IDBase = p.base(start)
		return n
	case lexer.Throw:
		since := p.progress()
		n := &ast.ThrowExpr{X: p.operandOrMissing(since, p.operandOfJump())}
		n.IDBase = p.base(start)
		return n
	}
	var label *ast.Ident
	if p.k == lexer.Label {
		label = p.label()
	}
	if k == lexer.Break {
		n := &ast.BreakExpr{Label: label, X: p.valueOfJump()}
		n.IDBase = p.base(start)
		p.recordUnendedJump(n)
		return n
	}
	n := &ast.ContinueExpr{IDBase: p.base(start), Label: label}
	p.recordUnendedJump(n)
	return n
}

// stmtMissesEnd reports whether the current token starts the next statement although no `;` ends
// the statement before it.
func (p *parser) stmtMissesEnd() bool {
	return !ends[p.k] && p.mayBeNextStmt(p.i)
}

// recordUnendedJump records a flaw for a return, throw, break or continue without its `;`, because
// its value may be incomplete.
func (p *parser) recordUnendedJump(n ast.Expr) {
	if p.stmtMissesEnd() {
		p.flaws = append(p.flaws, ast.Flaw{Node: n, Span: p.afterPrevious()})
	}
}

// valueOfJump reads the optional value of a return or a break.
func (p *parser) valueOfJump() ast.Expr {
	if !startsExpr[p.k] || p.setting.inHead && p.k == lexer.LBrace {
		return nil
	}
	since := p.progress()
	x := p.operandOfJump()
	if startsStmt[p.toks[since.at].Kind] && p.stmtMissesEnd() && p.rewindToNextStmt(since) { // the text is the next statement, not the value
		return nil
	}
	return x
}

func (p *parser) operandOfJump() ast.Expr {
	p.deeper()
	x := p.expr()
	p.setting.shallower()
	return x
}
