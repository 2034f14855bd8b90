package format

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/lexer"
)

// style says how a list in brackets is laid out.
type style struct {
	spaced bool // `{ a, b }` on one line
	keep   bool // broken where the source ends the line after the opening bracket
	fill   bool // broken, as many elements on a line as fit
	bare   bool // no comma after the last element
	one    bool // a comma after the only element says what it is: it stays
	last   ast.Expr
}

// last is the element that may be broken while the list stays on its line;
// nil for none.

var (
	braces   = style{spaced: true, keep: true}
	brackets = style{keep: true}
	parens   = style{}
	angles   = style{bare: true}
)

// list writes brackets with n elements between them.
func (p *printer) list(open, shut lexer.Kind, n int, st style, item func(i int)) {
	p.group()
	defer p.end()
	p.tok(open)
	if n == 0 {
		p.shut(shut)
		return
	}
	if st.keep && p.newLine() {
		p.forceAll()
	}
	p.nest()
	p.edge(st, false)
	for i := range n {
		if i > 0 {
			p.between(st)
		}
		if hug := i == n-1 && st.last != nil && !p.commented() && huggable(st.last, n == 1); hug {
			p.hug()
			item(i)
			p.endHug()
		} else {
			item(i)
		}
		p.comma(i == n-1, st, n)
	}
	p.leads(true, true)
	p.unnest()
	p.edge(st, false)
	p.tok(shut)
}

// edge writes what stands inside of a list's brackets.
func (p *printer) edge(st style, withBlank bool) {
	if st.spaced {
		p.line(withBlank)
	} else {
		p.soft(withBlank)
	}
}

// between writes what stands between two elements, after the comma.
func (p *printer) between(st style) {
	switch {
	case !st.fill:
		p.line(p.gapBlank())
	default: // each line end by itself
		p.group()
		p.line(false)
		p.end()
	}
}

// comma writes the comma after an element. The last one's is not the
// source's to decide, but where it makes a tuple of one.
func (p *printer) comma(last bool, st style, n int) {
	written := p.at(lexer.Comma)
	switch {
	case !last && written, last && st.one && n == 1:
		p.tok(lexer.Comma)
	case !last:
		p.sep()
	case !written:
		if !st.bare {
			p.doc.comma(false)
		}
	default:
		p.leads(true, true)
		if !st.bare {
			p.doc.comma(p.hasTrail())
		}
		p.past()
	}
}

// shut closes brackets with nothing but comments between them.
func (p *printer) shut(k lexer.Kind) {
	if !p.commented() {
		p.tok(k)
		return
	}
	apart := p.lineComment()
	p.nest()
	if !apart && k == lexer.RBrace {
		p.space()
	}
	p.leads(true, false)
	p.unnest()
	switch {
	case apart:
		p.hard(false)
	case k == lexer.RBrace:
		p.space()
	}
	p.tok(k)
}

// args writes the arguments of a call.
func (p *printer) args(args []*ast.Arg) {
	st := parens
	if n := len(args); n > 0 {
		st.last = args[n-1].Value
	}
	p.list(lexer.LParen, lexer.RParen, len(args), st, func(i int) {
		if args[i].Name != nil {
			p.any()
			p.tok(lexer.Colon)
			p.space()
		}
		p.expr(args[i].Value)
	})
}

// exprs writes expressions in brackets.
func (p *printer) exprs(open, shut lexer.Kind, list []ast.Expr, st style) {
	if n := len(list); n > 0 {
		st.last = list[n-1]
	}
	p.list(open, shut, len(list), st, func(i int) { p.expr(list[i]) })
}

// huggable says whether an expression may be broken while what stands before
// it, in the brackets that it is the last element of, stays on its line. only
// says that it is the only element.
func huggable(e ast.Expr, only bool) bool {
	switch e := e.(type) {
	case *ast.MapLit:
		return len(e.Entries) > 0
	case *ast.ArrayLit:
		return len(e.Elems) > 0
	case *ast.StructLit:
		return len(e.Fields) > 0
	case *ast.BlockExpr, *ast.MatchExpr, *ast.ListenExpr, *ast.TryExpr, *ast.IfExpr:
		return true
	case *ast.Closure:
		return huggable(e.Body, true)
	case *ast.Question:
		return huggable(e.X, only)
	case *ast.Await:
		return huggable(e.X, only)
	case *ast.TupleLit, *ast.ParenExpr, *ast.AwaitAll, *ast.Race, *ast.EmitExpr:
		return only
	case *ast.Call:
		_, name := e.Fn.(*ast.PathExpr)
		return only && name && len(e.Args) > 0
	case *ast.MethodCall:
		_, name := e.Recv.(*ast.PathExpr)
		return only && name && len(e.Args) > 0
	}
	return false
}
