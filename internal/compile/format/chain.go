package format

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// links splits a postfix expression into the expression at its start and its links: fields,
// indices, calls, `?` and `.await`, in the order of the text.
func links(e ast.Expr) (root ast.Expr, list []ast.Expr) {
	for {
		var x ast.Expr
		switch n := e.(type) {
		case *ast.Call:
			x = n.Fn
		case *ast.MethodCall:
			x = n.Recv
		case *ast.FieldExpr:
			x = n.X
		case *ast.TupleIndex:
			x = n.X
		case *ast.IndexExpr:
			x = n.X
		case *ast.Question:
			x = n.X
		case *ast.Await:
			if n.Postfix {
				x = n.X
			}
		default: // the others are the root of a chain
		}
		if x == nil {
			break
		}
		list = append(list, e)
		e = x
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return e, list
}

// chain writes a postfix expression. An expression with several method calls is either on one line,
// except for the arguments of its last call, or it has a line for each call. It has a line for each
// call also if the source has a line end before a call.
func (p *printer) chain(e ast.Expr) {
	root, list := links(e)
	calls, first, last := 0, -1, -1 // first and last call that may start a line
	broken := false
	for i, l := range list {
		m, ok := l.(*ast.MethodCall)
		if !ok {
			continue
		}
		if calls++; calls == 1 && i == 0 && isShort(root) {
			continue // a short name such as `xs` stays on the line of its first call
		}
		if first < 0 {
			first = i
		}
		last = i
		broken = broken || p.endsLine(m.Recv, m.Name)
	}
	if !broken && (calls < 2 || first < 0) {
		p.expr(root)
		for _, l := range list {
			p.link(l)
		}
		return
	}
	p.group()
	p.expr(root)
	p.nest()
	for i, l := range list {
		if m, ok := l.(*ast.MethodCall); ok && i >= first {
			if broken {
				p.hard(false)
			} else {
				p.soft()
			}
			if n := len(m.Args); i == last && n > 0 && (endsInBody(m.Args) || isLiteral(m.Args[n-1].Value)) && !p.hasComment() {
				p.hug()
			}
		}
		p.link(l)
	}
	p.endHug()
	p.unnest()
	p.end()
}

// isShort reports whether an expression is a path that is not longer than one level of indentation.
// The layout of the source does not matter.
func isShort(e ast.Expr) bool {
	n, ok := e.(*ast.PathExpr)
	if !ok || len(n.TypeArgs) > 0 {
		return false
	}
	length := len("::") * (len(n.Segments) - 1)
	for _, s := range n.Segments {
		length += len(s.Name)
	}
	return length <= step
}

// endsLine reports whether the source contains a line end between two nodes.
func (p *printer) endsLine(a, b interface{ Span() source.Span }) bool {
	return strings.Contains(p.src[a.Span().End:b.Span().Start], "\n")
}

// link writes the last link of a postfix expression.
func (p *printer) link(e ast.Expr) {
	switch n := e.(type) {
	case *ast.Call:
		p.args(n.Args)
	case *ast.MethodCall:
		p.tok(lexer.Dot)
		p.anyToken()
		if len(n.TypeArgs) > 0 {
			p.typeArgs(n.TypeArgs)
		}
		p.args(n.Args)
	case *ast.TupleIndex:
		if p.afterNumber() {
			p.space() // without the space, `0.5` would be a float
		}
		p.tok(lexer.Dot)
		p.anyToken()
	case *ast.FieldExpr, *ast.Await:
		p.tok(lexer.Dot)
		p.anyToken()
	case *ast.IndexExpr:
		p.exprs(lexer.LBracket, lexer.RBracket, []ast.Expr{n.Index}, style{bare: true})
	case *ast.Question:
		p.question()
	default: // links returns no others
	}
}
