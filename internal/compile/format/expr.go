package format

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/lexer"
)

// expr writes an expression.
func (p *printer) expr(e ast.Expr) {
	switch e := e.(type) {
	case *ast.IntLit, *ast.FloatLit, *ast.BoolLit, *ast.NilLit, *ast.StringLit:
		p.anyToken()
	case *ast.InterpLit:
		p.whole(e.Sp.End)
	case *ast.PathExpr:
		p.path(e)
	case *ast.ParenExpr:
		p.exprs(lexer.LParen, lexer.RParen, []ast.Expr{e.X}, style{bare: true})
	case *ast.TupleLit:
		p.exprs(lexer.LParen, lexer.RParen, e.Elems, style{one: true})
	case *ast.ArrayLit:
		st := arrayStyle(e.Elems)
		st.fill = st.fill && !p.commentsBefore(e.Sp.End)
		p.exprs(lexer.LBracket, lexer.RBracket, e.Elems, st)
	case *ast.MapLit:
		p.mapLit(e)
	case *ast.StructLit:
		p.structLit(e)
	case *ast.Unary:
		p.anyToken()
		p.expr(e.X)
	case *ast.Binary:
		p.group()
		p.operands(e)
		p.end()
	case *ast.Assign:
		p.expr(e.Target)
		p.space()
		p.anyToken()
		p.rhs(e.Value)
	case *ast.Pipe:
		p.pipe(e)
	case *ast.RangeExpr:
		p.bounds(e.Lo, e.Hi)
	case *ast.Cast:
		p.expr(e.X)
		p.space()
		p.tok(lexer.As)
		p.space()
		p.typ(e.Type)
	case *ast.Call, *ast.MethodCall, *ast.FieldExpr, *ast.TupleIndex, *ast.IndexExpr, *ast.Question:
		p.chain(e)
	case *ast.Await:
		p.await(e)
	case *ast.AwaitAll:
		p.tok(lexer.Await)
		p.space()
		p.exprs(lexer.LParen, lexer.RParen, e.Elems, style{one: true})
	case *ast.Race:
		p.anyToken()
		p.space()
		p.exprs(lexer.LParen, lexer.RParen, e.Elems, style{})
	case *ast.BlockExpr:
		p.group()
		p.block(e.Block)
		p.end()
	case *ast.Closure:
		p.closure(e)
	case *ast.EmitExpr:
		p.emit(e)
	case *ast.ReturnExpr:
		p.jump(e.X)
	case *ast.ThrowExpr:
		p.jump(e.X)
	case *ast.BreakExpr:
		p.leave(e.Label, e.X)
	case *ast.ContinueExpr:
		p.leave(e.Label, nil)
	default:
		p.control(e)
	}
}

// path writes `a::b<T>::c`.
func (p *printer) path(n *ast.PathExpr) {
	for i := range n.Segments {
		if i > 0 {
			p.tok(lexer.PathSep)
		}
		p.anyToken()
		if i == n.ArgsAt {
			p.typeArgs(n.TypeArgs)
		}
	}
}

// arrayStyle returns the style of an array with these elements. If all are numbers, each line of a
// broken array contains as many elements as fit.
func arrayStyle(elems []ast.Expr) style {
	st := brackets
	for _, e := range elems {
		if u, ok := e.(*ast.Unary); ok && u.Op == ast.OpNeg {
			e = u.X
		}
		switch e.(type) {
		case *ast.IntLit, *ast.FloatLit:
		default:
			return st
		}
	}
	st.fill = true
	return st
}

func (p *printer) mapLit(n *ast.MapLit) {
	p.list(lexer.LBrace, lexer.RBrace, len(n.Entries), braces, func(i int) {
		e := n.Entries[i]
		if e.Computed {
			p.tok(lexer.LBracket)
			p.expr(e.Key)
			p.tok(lexer.RBracket)
		} else {
			p.expr(e.Key)
		}
		p.value(e.Value)
	})
}

// value writes `: value`.
func (p *printer) value(e ast.Expr) {
	p.tok(lexer.Colon)
	p.space()
	p.expr(e)
}

func (p *printer) structLit(n *ast.StructLit) {
	count := len(n.Fields)
	if n.Rest != nil {
		count++
	}
	p.path(n.Path)
	p.space()
	p.list(lexer.LBrace, lexer.RBrace, count, braces, func(i int) {
		if i == len(n.Fields) {
			p.tok(lexer.DotDot)
			p.expr(n.Rest)
			return
		}
		if f := n.Fields[i]; f.Short {
			p.anyToken()
		} else {
			p.anyToken()
			p.value(f.Value)
		}
	})
}

// rhs writes the value after `=` or `=>`. A text or name that does not fit is on the next line.
// Other values can be broken inside.
func (p *printer) rhs(e ast.Expr) {
	switch {
	case p.lineComment():
		p.nest()
		p.hard(false)
		p.expr(e)
		p.unnest()
	case isAtom(e):
		p.group()
		p.nest()
		p.line(false)
		p.expr(e)
		p.unnest()
		p.end()
	default:
		p.space()
		p.expr(e)
	}
}

func isAtom(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StringLit, *ast.InterpLit, *ast.PathExpr:
		return true
	case *ast.FieldExpr:
		return isAtom(e.X)
	default: // the others may be broken
	}
	return false
}

// operands writes `a op b op c`. The line may be broken before each operator of the same
// precedence. The caller has started the group.
func (p *printer) operands(n *ast.Binary) {
	list := operandsOf(n)
	p.expr(list[0])
	p.nest()
	for i, e := range list[1:] {
		p.line(false)
		ge := p.at(lexer.Greater) // `>=` consists of two tokens
		p.anyToken()
		if ge && p.at(lexer.Assign) && p.tokEnd == int(p.toks[p.i].Start) {
			p.anyToken()
		}
		p.space()
		hug := i == len(list)-2 && (hasBody(e) || isLiteral(e)) && !p.hasComment()
		if hug {
			p.hug()
		}
		p.expr(e)
		if hug {
			p.endHug()
		}
	}
	p.unnest()
}

// operandsOf returns the operands of a chain of operators with the same precedence.
func operandsOf(n *ast.Binary) []ast.Expr {
	info := ast.Ops[n.Op]
	same := func(e ast.Expr) *ast.Binary {
		if b, ok := e.(*ast.Binary); ok && ast.Ops[b.Op].Precedence == info.Precedence {
			return b
		}
		return nil
	}
	if info.Assoc == ast.Right {
		var list []ast.Expr
		for b := n; ; {
			list = append(list, b.X)
			next := same(b.Y)
			if next == nil {
				return append(list, b.Y)
			}
			b = next
		}
	}
	var list []ast.Expr // the last operand is first
	for b := n; ; {
		list = append(list, b.Y)
		next := same(b.X)
		if next == nil {
			list = append(list, b.X)
			break
		}
		b = next
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// pipe writes `x |> f() |> g()` on one line, or with one line for each stage.
func (p *printer) pipe(n *ast.Pipe) {
	var stages []*ast.Pipe // the last stage is first
	var x ast.Expr = n
	broken := false // the source has a stage on a separate line
	for {
		s, ok := x.(*ast.Pipe)
		if !ok {
			break
		}
		stages, x = append(stages, s), s.X
		broken = broken || p.endsLine(s.X, s.Right)
	}
	p.group()
	if broken {
		p.forceAll()
	}
	p.expr(x)
	p.nest()
	for i := len(stages) - 1; i >= 0; i-- {
		p.line(false)
		p.tok(lexer.Pipe)
		p.space()
		p.expr(stages[i].Right)
	}
	p.unnest()
	p.end()
}

func (p *printer) await(n *ast.Await) {
	if n.Postfix {
		p.chain(n)
		return
	}
	p.tok(lexer.Await)
	p.space()
	p.expr(n.X)
}

func (p *printer) emit(n *ast.EmitExpr) {
	if n.Await {
		p.tok(lexer.Await)
		p.space()
	}
	p.tok(lexer.Emit)
	if n.Type != nil {
		p.typeArgs([]ast.Type{n.Type})
	}
	list := []ast.Expr{n.Channel}
	if n.Payload != nil {
		list = append(list, n.Payload)
	}
	p.exprs(lexer.LParen, lexer.RParen, list, style{hugs: lastHugs(list)})
}

// jump writes a return or throw.
func (p *printer) jump(x ast.Expr) {
	p.anyToken()
	if x != nil {
		p.space()
		p.expr(x)
	}
}

// leave writes a break or continue.
func (p *printer) leave(label *ast.Ident, x ast.Expr) {
	p.anyToken()
	if label != nil {
		p.space()
		p.anyToken()
	}
	if x != nil {
		p.space()
		p.expr(x)
	}
}

func (p *printer) closure(n *ast.Closure) {
	switch {
	case n.Fn:
		p.tok(lexer.Fn)
		p.signature(n.Params, n.Result)
		p.space()
		p.expr(n.Body)
		return
	case p.at(lexer.OrOr):
		p.anyToken()
	default:
		p.list(lexer.Bar, lexer.Bar, len(n.Params), style{bare: true}, func(i int) { p.param(n.Params[i]) })
	}
	p.result(n.Result)
	p.space()
	p.expr(n.Body)
}
