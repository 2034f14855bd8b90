package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/lexer"
)

// block reads `{ statements }`.
func (p *parser) block() *ast.Block { return p.blockOr(nil) }

// blockOr is block with the diagnostic for a missing `{`.
func (p *parser) blockOr(missing func() *diag.Diagnostic) *ast.Block {
	start := p.here()
	outer := p.apart()
	braces := p.openBraces(missing)
	b := &ast.Block{}
	for p.within(braces) {
		p.stmtOrSync(b)
	}
	p.setting = outer
	b.Sp = p.from(start)
	return b
}

// stmtOrSync reads one statement into b. A broken one is passed over.
func (p *parser) stmtOrSync(b *ast.Block) {
	start, outer := p.i, p.setting
	done := false
	defer func() {
		if done || !p.recovers(outer) {
			return
		}
		p.caught(recover())
		p.setting = outer
		p.sync(start, inBlock)
		bad := &ast.BadStmt{}
		bad.Sp = p.from(p.toks[start].Start)
		b.Stmts = append(b.Stmts, bad)
	}()
	p.flushTail(b)
	p.stmt(b)
	done = true
}

// flushTail makes a statement of the tail when another statement follows it.
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
	case k == lexer.Let:
		b.Stmts = append(b.Stmts, p.letStmt())
	case k == lexer.Semi:
		p.report(diag.Unexpected.At(p.span(), "expected a statement, found `;`").Hint("remove this `;`"))
		p.next()
	case k == lexer.Fn && p.peek(1) == lexer.LParen: // a closure
		p.exprStmt(b)
	case startsDecl[k]:
		b.Stmts = append(b.Stmts, p.declStmt(p.prefix()))
	case k == lexer.At && !p.limitAhead():
		h := p.prefix()
		if !startsDecl[p.k] {
			d := diag.StrayDecorator.At(h.decorators[0].Sp, "`@%s` decorates nothing here", h.decorators[0].Name.Name)
			if h.decorators[0].Name.Name == "limit" {
				d.Hint("`@limit(n)` stands right before `parallel for`")
			}
			p.fail(d)
		}
		b.Stmts = append(b.Stmts, p.declStmt(h))
	case k == lexer.Ident && p.peek(1) == lexer.Ident && p.peek(2) == lexer.LBrace && p.isWord("mock"):
		b.Stmts = append(b.Stmts, p.mockStmt())
	default:
		p.exprStmt(b)
	}
}

// declStmt reads a declaration within a block.
func (p *parser) declStmt(h head) *ast.DeclStmt {
	if h.pub {
		p.report(diag.MisplacedDecl.At(p.toks[p.i-1].Span(), "nothing in a block is `pub`").
			Hint("remove `pub`, or move the declaration to module level"))
	}
	if !inBlocks[p.k] {
		if startsDecl[p.k] {
			p.report(diag.MisplacedDecl.At(p.span(), "%s cannot be declared in a block", p.k).
				Hint("move it to module level"))
		}
	}
	s := &ast.DeclStmt{Decl: p.declAfter(h)}
	s.Sp = s.Decl.Span()
	return s
}

func (p *parser) letStmt() *ast.LetStmt {
	start := p.here()
	p.next()
	s := &ast.LetStmt{Mut: p.eat(lexer.Mut), Pattern: p.pattern()}
	if p.eat(lexer.Colon) {
		s.Type = p.typ()
	}
	if p.eat(lexer.Assign) {
		s.Value = p.expr()
	}
	if p.k == lexer.Else {
		if s.Value == nil {
			p.report(diag.BadLetElse.At(p.span(), "`else` needs a value to take apart").
				Hint("write `let pattern = value else { … };`"))
		}
		p.next()
		s.Else = p.block()
	}
	p.semi()
	s.Sp = p.from(start)
	return s
}

func (p *parser) mockStmt() *ast.MockStmt {
	start := p.here()
	var f mockHeader
	f.read(p)
	s := &ast.MockStmt{Name: (*ast.Ident)(f.Name)}
	s.Fields = p.configFields()
	p.eat(lexer.Semi)
	s.Sp = p.from(start)
	return s
}

// endsInBlock says whether the statement here starts with an expression that
// ends at its `}` and needs no `;`.
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

// exprStmt reads an expression statement, or the block's tail.
func (p *parser) exprStmt(b *ast.Block) {
	var x ast.Expr
	start := p.here()
	if p.endsInBlock() {
		if p.k == lexer.LBrace {
			x = p.blockExpr()
		} else {
			x = p.primary()
		}
		// A statement cannot start with `.` or `?`: these go on with it.
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
		p.semi()
		p.addExpr(b, x, start, true)
	}
}

func (p *parser) addExpr(b *ast.Block, x ast.Expr, start source.Pos, semi bool) {
	s := &ast.ExprStmt{X: x, Semi: semi}
	s.Sp = p.from(start)
	b.Stmts = append(b.Stmts, s)
}
