package format

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/lexer"
)

// style specifies the layout of a list in brackets.
type style struct {
	spaced    bool // `{ a, b }` on one line
	asWritten bool // broken if the source has a line end after the opening bracket
	fill      bool // if broken, each line contains as many elements as fit
	bare      bool // no comma after the last element
	one       bool // a comma after a single element is required, and therefore retained
	rigid     bool // never broken
	hugs      bool // the last element may be broken while the other elements stay on the first line
}

var (
	braces   = style{spaced: true, asWritten: true}
	brackets = style{asWritten: true}
	parens   = style{}
)

// list writes brackets with n elements.
func (p *printer) list(open, shut lexer.Kind, n int, st style, item func(i int)) {
	p.group()
	defer p.end()
	p.tok(open)
	if n == 0 {
		p.closeEmpty(shut)
		return
	}
	if st.asWritten && p.newLine() {
		p.forceAll()
	}
	p.nest()
	p.edge(st)
	for i := range n {
		if i > 0 {
			p.between(st)
		}
		if i == n-1 && st.hugs && !p.hasComment() {
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
	p.edge(st)
	p.tok(shut)
}

// edge writes the white space after the opening and before the closing bracket of a list.
func (p *printer) edge(st style) {
	switch {
	case st.rigid:
	case st.spaced:
		p.line(false)
	default:
		p.soft()
	}
}

// between writes the white space after the comma between two elements.
func (p *printer) between(st style) {
	switch {
	case st.rigid:
		p.space()
	case !st.fill:
		p.line(p.gapBlank())
	default: // each line end depends on whether the next element fits
		p.group()
		p.line(false)
		p.end()
	}
}

// comma writes the comma after an element. After the last element, the layout decides whether there
// is a comma, except in a tuple with one element, which requires it.
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
		p.advance()
	}
}

// closeEmpty closes brackets that contain only comments.
func (p *printer) closeEmpty(k lexer.Kind) {
	if !p.hasComment() {
		p.tok(k)
		return
	}
	apart := p.lineComment() || p.newLine()
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
	values := make([]ast.Expr, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	st := parens
	st.hugs = lastHugs(values)
	p.list(lexer.LParen, lexer.RParen, len(args), st, func(i int) {
		if args[i].Name != nil {
			p.anyToken()
			p.tok(lexer.Colon)
			p.space()
		}
		p.expr(args[i].Value)
	})
}

// exprs writes expressions in brackets. A single expression may be broken while the brackets stay
// on its first and last lines.
func (p *printer) exprs(open, shut lexer.Kind, list []ast.Expr, st style) {
	st.hugs = st.hugs || len(list) == 1 && lastHugs(list)
	p.list(open, shut, len(list), st, func(i int) { p.expr(list[i]) })
}

// lastHugs reports whether the last expression may be broken while the opening bracket stays on its
// first line. This is the case if it ends with code in braces, or if it is a literal and all other
// expressions are names and constants.
func lastHugs(list []ast.Expr) bool {
	n := len(list) - 1
	if n < 0 {
		return false
	}
	if hasBody(list[n]) {
		return true
	}
	for _, e := range list[:n] {
		if !isPlain(e) {
			return false
		}
	}
	return isLiteral(list[n]) || n == 0 && isBracketed(list[0])
}

// hasBody reports whether an expression ends with code in braces.
func hasBody(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BlockExpr, *ast.MatchExpr, *ast.ListenExpr, *ast.TryExpr, *ast.IfExpr:
		return true
	case *ast.Closure:
		return hasBody(e.Body) || isLiteral(e.Body) || isBracketed(e.Body)
	case *ast.Question:
		return hasBody(e.X)
	case *ast.Call:
		return isPlain(e.Fn) && endsInBody(e.Args)
	case *ast.MethodCall:
		return (isPlain(e.Recv) || isLiteral(e.Recv)) && endsInBody(e.Args)
	default: // the others have no block
	}
	return false
}

// endsInBody reports whether the last argument ends with code in braces.
func endsInBody(args []*ast.Arg) bool {
	n := len(args)
	return n > 0 && hasBody(args[n-1].Value)
}

// isLiteral reports whether an expression is a map, array or struct literal with elements.
func isLiteral(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.MapLit:
		return len(e.Entries) > 0
	case *ast.ArrayLit:
		return len(e.Elems) > 0
	case *ast.StructLit:
		return len(e.Fields) > 0
	default: // the others are no literals with parts
	}
	return false
}

// isBracketed reports whether almost all of an expression is in brackets, such as a tuple or a call
// of a plain name.
func isBracketed(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.TupleLit, *ast.ParenExpr, *ast.AwaitAll, *ast.Race, *ast.EmitExpr:
		return true
	case *ast.Call:
		return len(e.Args) > 0 && isPlain(e.Fn)
	case *ast.MethodCall:
		return len(e.Args) > 0 && isPlain(e.Recv)
	case *ast.Question:
		return isBracketed(e.X)
	case *ast.Await:
		return isBracketed(e.X)
	default: // the others have no brackets around them
	}
	return false
}

// isPlain reports whether an expression is a name or a constant.
func isPlain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.IntLit, *ast.FloatLit, *ast.BoolLit, *ast.NilLit, *ast.StringLit, *ast.InterpLit, *ast.PathExpr:
		return true
	case *ast.FieldExpr:
		return isPlain(e.X)
	default: // the others may be broken
	}
	return false
}
