package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// block reads `{ statements }`.
func (p *parser) block() *ast.Block { return p.blockOr(nil) }

// blockOr reads `{ statements }`. missing returns the diagnostic for a missing `{`; if missing is
// nil, a default is used.
func (p *parser) blockOr(missing func() *diag.Diagnostic) *ast.Block {
	start := p.here()
	outer := p.setting.isolate()
	b := &ast.Block{}
	braces, ok := p.openBraces(missing)
	if !ok {
		p.setting = outer
		b.Sp = p.afterPrevious()
		p.flaws = append(p.flaws, ast.Flaw{Node: b, Span: b.Sp})
		return b
	}
	for p.hasElement(braces) {
		p.stmtOrSync(b)
	}
	if !p.balance.closed {
		p.flushTail(b) // further statements may follow, so the expression is not yet the block's value
	}
	p.setting = outer
	b.Sp = p.from(start)
	p.recordGuessedEnd(b)
	return b
}

// recordGuessedEnd records a flaw if the block n does not end at a `}`.
func (p *parser) recordGuessedEnd(n ast.Node) {
	if !p.balance.closed {
		p.flaws = append(p.flaws, ast.Flaw{Kind: ast.Guessed, Node: n, Span: p.afterPrevious()})
	}
}

// stmtOrSync reads one statement into b. After a syntax error it skips the rest of the statement.
func (p *parser) stmtOrSync(b *ast.Block) {
	start, outer := p.i, p.setting
	p.reports.going = false
	p.flushTail(b)
	read := len(b.Stmts)
	done := false
	defer func() {
		if done || !p.reports.canRecover(outer) {
			return
		}
		p.reports.handlePanic(recover())
		p.setting = outer
		p.brokenStmt(b, start, read)
	}()
	p.stmt(b)
	done = true
	if p.i == start { // the parser consumed no token, so only the missing part was reported
		b.Tail = nil
		p.brokenStmt(b, start, read)
	}
}

// brokenStmt skips a statement that has syntax errors and starts at token start, and stores the
// parts that were read. read is the number of statements in b before this statement.
func (p *parser) brokenStmt(b *ast.Block, start, read int) {
	p.sync(start, inBlock)
	if len(b.Stmts) > read {
		if let, ok := b.Stmts[read].(*ast.LetStmt); ok {
			p.brokenLet(let, start)
			return
		}
	}
	bad := &ast.BadStmt{}
	bad.Sp = p.from(p.toks[start].Start)
	bad.Names = p.recordLostText(bad, start, p.i)
	b.Stmts = append(b.Stmts[:read], bad)
}

// brokenLet completes a `let` that has syntax errors and starts at token start.
func (p *parser) brokenLet(s *ast.LetStmt, start int) {
	at := p.toks[start].End
	if s.Pattern == nil {
		s.Pattern = &ast.BadPat{IDBase: p.baseAt(source.Span{Start: at, End: at})}
	}
	at = s.Pattern.Span().End
	if s.Type != nil {
		at = s.Type.Span().End
	}
	for start < p.i && p.toks[start].Start < at {
		start++
	}
	if s.Value == nil {
		bad := &ast.BadExpr{IDBase: p.base(at)}
		bad.Names = p.recordLostText(bad, start, p.i)
		s.Value = bad
	} else {
		p.recordLostText(s, start, p.i)
	}
	s.Sp = p.from(s.Sp.Start)
}

// flushTail converts the tail of the block to a statement, because another statement follows it.
func (p *parser) flushTail(b *ast.Block) {
	if b.Tail == nil {
		return
	}
	s := &ast.ExprStmt{X: b.Tail}
	s.Sp = b.Tail.Span()
	b.Stmts = append(b.Stmts, s)
	b.Tail = nil
}

func (p *parser) stmt(b *ast.Block) {
	switch k := p.k; {
	case p.isReservedUse():
		p.exprStmt(b)
	case k == lexer.Let:
		p.letStmt(b)
	case k == lexer.Semi:
		p.report(diag.Unexpected.At(p.span(), "expected a statement, found `;`").
			Repair(diag.SafeFix(diag.Remove(p.span()), "Remove the `;`"), "remove this `;`"))
		p.next()
	case k == lexer.Fn && p.peek(1) == lexer.LParen: // a closure in the form `fn(…) { … }`
		p.exprStmt(b)
	case startsDecl[k]:
		b.Stmts = append(b.Stmts, p.declStmt(p.prefix()))
	case k == lexer.At && !p.limitAhead():
		h := p.prefix()
		if !startsDecl[p.k] {
			d := diag.MisplacedDecorator.At(h.decorators[0].Sp, "decorator `@%s` without a declaration", h.decorators[0].Name.Name)
			if h.decorators[0].Name.Name == "limit" {
				d.Hint("write `@limit(n)` directly before `parallel for`")
			}
			d.Fixes = append(d.Fixes, p.removeDecoratorFix(h.decorators[0]))
			p.reportAndContinue(d)
			if !p.isPartMissing() {
				panic(bailout{})
			}
			bad := &ast.BadDecl{}
			bad.Decorators = h.decorators
			bad.Sp = p.from(h.start)
			p.flaws = append(p.flaws, ast.Flaw{Node: bad, Span: bad.Sp})
			s := &ast.DeclStmt{Decl: bad}
			s.Sp = bad.Sp
			b.Stmts = append(b.Stmts, s)
			return
		}
		b.Stmts = append(b.Stmts, p.declStmt(h))
	case k == lexer.Ident && p.peek(1) == lexer.Ident && p.peek(2) == lexer.LBrace && p.isWord("mock"):
		b.Stmts = append(b.Stmts, p.mockStmt())
	default:
		p.exprStmt(b)
	}
}

// declStmt reads a declaration in a block.
func (p *parser) declStmt(h head) *ast.DeclStmt {
	if h.pub {
		p.report(diag.MisplacedDecl.At(p.toks[p.i-1].Span(), "`pub` is not allowed in a block").
			Repair(diag.SafeFix(diag.Remove(source.Span{Start: p.toks[p.i-1].Start, End: p.here()}), "Remove `pub`"), "remove `pub`, or move the declaration to module level"))
	}
	if !inBlocks[p.k] {
		if startsDecl[p.k] {
			p.report(diag.MisplacedDecl.At(p.span(), "%s cannot be declared in a block", p.k).Advise(p.moveOutAdvice(h.start)))
		}
	}
	s := &ast.DeclStmt{Decl: p.declAfter(h)}
	s.Sp = s.Decl.Span()
	return s
}

// letStmt reads a `let` into b. If it has syntax errors, the tree contains the parts before the
// error.
func (p *parser) letStmt(b *ast.Block) {
	start := p.here()
	s := &ast.LetStmt{}
	s.Sp.Start = start
	b.Stmts = append(b.Stmts, s)
	p.next()
	s.Mut = p.eat(lexer.Mut)
	since, flaws := p.progress(), len(p.flaws)
	s.Pattern = p.pattern()
	if _, name := s.Pattern.(*ast.NamePat); p.i > since.at && p.k != lexer.Assign && p.k != lexer.Colon && p.k != lexer.Else && !(name && p.k == lexer.Semi) && p.rewindToNextStmt(since) {
		s.Pattern = p.missingPattern()
	}
	broken := len(p.flaws) > flaws
	if p.eat(lexer.Colon) {
		since = p.progress()
		if s.Type = p.typ(); p.k != lexer.Assign && p.k != lexer.Semi && p.i > since.at && p.rewindToNextStmt(since) {
			s.Type = p.reportNoType()
		}
	}
	if p.eat(lexer.Assign) {
		since = p.progress()
		s.Value = p.expr()
		if p.k != lexer.Semi && p.k != lexer.Else && (startsStmt[p.toks[since.at].Kind] || p.k == lexer.RBrace || p.k == lexer.EOF) && p.i > since.at && p.rewindToNextStmt(since) {
			p.reportAndContinue(p.missingValue().Hint("missing value after `=`"))
			s.Value = p.badExpr(p.baseAt(p.afterPrevious()))
		}
	}
	if p.k == lexer.Else {
		if s.Value == nil {
			p.report(diag.BadLetElse.At(p.span(), "`let … else` needs a value").
				Hint("write `let pattern = value else { … };`"))
		}
		if s.Value == nil {
			s.Value = p.badExpr(p.baseAt(p.afterPrevious()))
		}
		p.next()
		s.Else = p.block()
	}
	if s.Value == nil && broken { // the skipped text may have contained the value
		s.Value = p.badExpr(p.baseAt(s.Pattern.Span()))
	}
	if p.k != lexer.Semi {
		p.recordUnfinished(s.Value)
	}
	p.requireSemi(s.Value)
	s.Sp = p.from(start)
}

// recordUnfinished records a flaw for an expression that has no `;` and ends with a name or a call.
// The user may still be typing a `.` or `?` after it.
func (p *parser) recordUnfinished(x ast.Expr) {
	if x == nil {
		return
	}
	switch p.prev(1) {
	case lexer.Ident, lexer.Dot, lexer.RParen, lexer.RBracket:
		p.flaws = append(p.flaws, ast.Flaw{Node: x, Span: p.afterPrevious()})
	}
}

func (p *parser) mockStmt() *ast.MockStmt {
	start := p.here()
	var f mockHeader
	read(p, &f)
	s := &ast.MockStmt{Name: p.captured(f.Name)}
	s.Fields = p.configFields(s)
	p.eat(lexer.Semi)
	s.Sp = p.from(start)
	return s
}

// endsInBlock reports whether the current statement starts with an expression that ends at its `}`
// and therefore needs no `;`.
func (p *parser) endsInBlock() bool {
	switch p.k {
	case lexer.If, lexer.Match, lexer.Loop, lexer.For, lexer.While, lexer.Try, lexer.Listen, lexer.Label, lexer.At:
		return true
	case lexer.LBrace:
		return !p.mapAhead()
	case lexer.Ident:
		return p.peek(1) == lexer.For && p.isWord("parallel")
	}
	return false
}

// exprStmt reads an expression as a statement, or as the tail of the block.
func (p *parser) exprStmt(b *ast.Block) {
	var x ast.Expr
	start := p.here()
	if p.endsInBlock() {
		if p.k == lexer.LBrace {
			x = p.blockExpr()
		} else {
			x = p.primary()
		}
		// A `.` or `?` on the next line continues the statement, because neither can start one.
		if p.k != lexer.Dot && p.k != lexer.Question {
			if p.eat(lexer.Semi) {
				p.addExpr(b, x, start, true)
			} else {
				b.Tail = x
			}
			return
		}
		x = p.assignRest(p.binaryRest(p.postfix(x, false), ast.PrecPipe))
	} else {
		x = p.expr()
	}
	switch {
	case p.k == lexer.RBrace, p.k == lexer.EOF:
		b.Tail = x
	default:
		if p.k != lexer.Semi {
			p.recordUnfinished(x)
		}
		p.requireSemi(x)
		p.addExpr(b, x, start, true)
	}
}

func (p *parser) addExpr(b *ast.Block, x ast.Expr, start source.Pos, semi bool) {
	s := &ast.ExprStmt{X: x, Semi: semi}
	s.Sp = p.from(start)
	b.Stmts = append(b.Stmts, s)
}
