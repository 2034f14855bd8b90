package format

import (
	"fmt"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/lexer"
)

// block writes a block. It stays on one line if the source has it on one line and it contains at
// most one statement and a value. Its line ends belong to the enclosing group.
func (p *printer) block(b *ast.Block) { p.blockOpened(b, nil) }

// blockOpened writes a block. opened is called after the `{`.
func (p *printer) blockOpened(b *ast.Block, opened func()) {
	p.tok(lexer.LBrace)
	if opened != nil {
		opened()
	}
	n := len(b.Stmts)
	if b.Tail != nil {
		n++
	}
	p.body(n, len(b.Stmts) <= 1, func(i int, edge func(bool)) {
		if i > 0 {
			edge(p.gapBlank())
		}
		if i < len(b.Stmts) {
			p.stmt(b.Stmts[i])
		} else {
			p.expr(b.Tail)
		}
	})
}

// body writes n items and the `}`. The caller has written the `{`. If few is set and the source has
// the items on one line, they may stay on one line. item writes the i-th item and calls edge for
// the line ends around it.
func (p *printer) body(n int, few bool, item func(i int, edge func(withBlank bool))) {
	if n == 0 {
		p.closeEmpty(lexer.RBrace)
		return
	}
	edge := p.hard
	if few && !p.newLine() {
		edge = p.line
	}
	p.nest()
	edge(false)
	for i := range n {
		item(i, edge)
	}
	p.leads(true, true)
	p.unnest()
	edge(false)
	p.tok(lexer.RBrace)
}

func (p *printer) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.LetStmt:
		p.let(s)
	case *ast.ExprStmt:
		p.expr(s.X)
		if s.Semi {
			p.tok(lexer.Semi)
		}
	case *ast.DeclStmt:
		p.decl(s.Decl)
	case *ast.MockStmt:
		p.anyToken()
		p.space()
		p.anyToken()
		p.space()
		p.fields(s.Fields)
		if p.at(lexer.Semi) {
			p.anyToken()
		}
	case *ast.BadStmt:
		panic("format: a statement with syntax errors")
	}
}

func (p *printer) let(s *ast.LetStmt) {
	p.tok(lexer.Let)
	p.space()
	if s.Mut {
		p.tok(lexer.Mut)
		p.space()
	}
	p.pattern(s.Pattern)
	p.annotation(s.Type)
	p.initializer(s.Value)
	if s.Else != nil {
		p.gap()
		p.tok(lexer.Else)
		p.gap()
		p.group()
		p.block(s.Else)
		p.end()
	}
	p.tok(lexer.Semi)
}

// annotation writes `: T`, if there is a T.
func (p *printer) annotation(t ast.Type) {
	if t != nil {
		p.tok(lexer.Colon)
		p.space()
		p.typ(t)
	}
}

// initializer writes `= value`, if there is a value.
func (p *printer) initializer(e ast.Expr) {
	if e != nil {
		p.space()
		p.tok(lexer.Assign)
		p.rhs(e)
	}
}

// unexpected panics for a node that the formatter cannot write.
func (p *printer) unexpected(n ast.Node) { panic(fmt.Sprintf("format: no case for %T", n)) }

// control writes the expressions that have blocks.
func (p *printer) control(e ast.Expr) {
	p.group()
	defer p.end()
	switch e := e.(type) {
	case *ast.IfExpr:
		p.ifExpr(e)
	case *ast.LetCond:
		p.tok(lexer.Let)
		p.space()
		p.pattern(e.Pattern)
		p.initializer(e.X)
	case *ast.MatchExpr:
		p.anyToken()
		p.space()
		p.expr(e.Subject)
		p.gap()
		p.list(lexer.LBrace, lexer.RBrace, len(e.Arms), braces, func(i int) { p.arm(e.Arms[i]) })
	case *ast.ListenExpr:
		p.anyToken()
		p.space()
		p.expr(e.Call)
		p.gap()
		p.list(lexer.LBrace, lexer.RBrace, len(e.Handlers), braces, func(i int) { p.handler(e.Handlers[i]) })
	case *ast.ForExpr:
		p.label(e.Label)
		p.forEach(e.Pattern, e.Iter, e.Body)
	case *ast.ParallelFor:
		p.parallel(e)
	case *ast.WhileExpr:
		p.label(e.Label)
		p.anyToken()
		p.space()
		p.head(e.Cond, e.Body)
	case *ast.LoopExpr:
		p.label(e.Label)
		p.anyToken()
		p.gap()
		p.block(e.Body)
	case *ast.TryExpr:
		p.anyToken()
		p.gap()
		p.block(e.Body)
		for _, c := range e.Catches {
			p.gap()
			p.catch(c)
		}
	default: // expr writes the others; a file with syntax errors is not formatted
		p.unexpected(e)
	}
}

// ifExpr writes an if and all its branches. Either all of them are on one line, or each has
// separate lines.
func (p *printer) ifExpr(n *ast.IfExpr) {
	for {
		p.tok(lexer.If)
		p.space()
		p.head(n.Cond, n.Then)
		if n.Else == nil {
			return
		}
		p.gap()
		p.tok(lexer.Else)
		p.gap()
		next, ok := n.Else.(*ast.IfExpr)
		if !ok {
			p.block(n.Else.(*ast.BlockExpr).Block)
			return
		}
		n = next
	}
}

// head writes a condition and its block. If the operands of the condition are on several lines, the
// `{` is on a separate line, so that the condition is visibly separate from the first line of the
// block.
func (p *printer) head(cond ast.Expr, body *ast.Block) {
	b, ok := cond.(*ast.Binary)
	if !ok {
		p.expr(cond)
		p.gap()
		p.block(body)
		return
	}
	p.group()
	p.operands(b)
	p.line(false)
	p.blockOpened(body, p.end)
}

func (p *printer) arm(a *ast.Arm) {
	p.pattern(a.Pattern)
	if a.Guard != nil {
		p.space()
		p.tok(lexer.If)
		p.space()
		p.expr(a.Guard)
	}
	p.space()
	p.tok(lexer.FatArrow)
	p.rhs(a.Body)
}

func (p *printer) handler(h *ast.Handler) {
	if h.On {
		p.anyToken()
		p.space()
	}
	p.tok(lexer.String)
	p.space()
	p.tok(lexer.FatArrow)
	p.rhs(h.Value)
}

func (p *printer) label(l *ast.Ident) {
	if l != nil {
		p.tok(lexer.Label)
		p.tok(lexer.Colon)
		p.space()
	}
}

// forEach writes `for p in xs { }`.
func (p *printer) forEach(pat ast.Pattern, iter ast.Expr, body *ast.Block) {
	p.tok(lexer.For)
	p.space()
	p.pattern(pat)
	p.space()
	p.tok(lexer.In)
	p.space()
	p.expr(iter)
	p.gap()
	p.block(body)
}

func (p *printer) parallel(n *ast.ParallelFor) {
	if n.Limit != nil {
		p.tok(lexer.At)
		p.anyToken()
		p.exprs(lexer.LParen, lexer.RParen, []ast.Expr{n.Limit}, parens)
		p.afterDecorator(p.space)
	}
	p.anyToken()
	p.space()
	p.forEach(n.Pattern, n.Iter, n.Body)
}

func (p *printer) catch(c *ast.Catch) {
	p.tok(lexer.Catch)
	if c.Type != nil {
		p.space()
		p.typ(c.Type)
	}
	if c.Name != nil {
		p.tok(lexer.LParen)
		p.anyToken()
		p.tok(lexer.RParen)
	}
	p.gap()
	p.block(c.Body)
}
