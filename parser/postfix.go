package parser

import (
	"strconv"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/lexer"
)

// postfix reads what follows an operand: fields, calls, indices, `?` and
// `.await`. With untilQuestion it leaves off before the first `?`.
func (p *parser) postfix(x ast.Expr, untilQuestion bool) ast.Expr {
	start := x.Span().Start
	for chain := 0; ; chain++ {
		switch p.k {
		case lexer.Dot:
			x = p.member(x)
		case lexer.LParen:
			args := p.args()
			x = &ast.Call{IDBase: p.base(start), Fn: x, Args: args}
		case lexer.LBracket:
			index := p.index()
			x = &ast.IndexExpr{IDBase: p.base(start), X: x, Index: index}
		case lexer.Question:
			if untilQuestion {
				return x
			}
			p.next()
			x = &ast.Question{IDBase: p.base(start), X: x}
		case lexer.Coalesce:
			if untilQuestion || startsExpr[p.peek(1)] {
				return x
			}
			p.next() // `x??` with nothing after it is two `?`
			inner := p.from(start)
			inner.End--
			x = &ast.Question{IDBase: p.baseAt(inner), X: x}
			x = &ast.Question{IDBase: p.base(start), X: x}
		default:
			return x
		}
		if chain >= maxNesting {
			p.failDeep()
		}
	}
}

// member reads `.f`, `.0`, `.m(args)`, `.m<T>(args)` and `.await`.
func (p *parser) member(x ast.Expr) ast.Expr {
	start := x.Span().Start
	p.next()
	switch {
	case p.k == lexer.Int:
		n, err := strconv.Atoi(p.text())
		if err != nil {
			p.fail(diag.BadNumber.At(p.span(), "`%s` is no index of a tuple", p.text()))
		}
		at := p.span()
		p.next()
		return &ast.TupleIndex{IDBase: p.base(start), X: x, Index: n, At: at}
	case p.k == lexer.Await:
		p.next()
		return &ast.Await{IDBase: p.base(start), X: x, Postfix: true}
	case !p.k.IsWord():
		d := p.expected("a name after `.`")
		if n := p.i - 2; p.kindAt(n) == lexer.Int && p.toks[n].End == p.toks[n+1].Start {
			d.Hint("a float has digits behind its point: `%s.0`", p.textAt(n))
		}
		p.fail(d)
	}
	name := p.ident()
	var types []ast.Type
	if p.k == lexer.Less && p.typeArgsAhead() && p.kindAt(p.matchingGreater()+1) == lexer.LParen {
		types = p.typeArgs()
	}
	if p.k != lexer.LParen {
		return &ast.FieldExpr{IDBase: p.base(start), X: x, Name: name}
	}
	args := p.args()
	return &ast.MethodCall{IDBase: p.base(start), Recv: x, Name: name, TypeArgs: types, Args: args}
}

// index reads `[i]`, where the ends of a range may be left out.
func (p *parser) index() ast.Expr {
	open := p.i
	p.next()
	outer := p.nest(open)
	var x ast.Expr
	if p.k == lexer.DotDot || p.k == lexer.DotDotEq {
		x = p.rangeRest(nil)
	} else {
		x = p.expr()
	}
	p.setting = outer
	p.closeBracket(lexer.RBracket, open, "`]`")
	return x
}

// args reads `(a, b, name: c)`.
func (p *parser) args() []*ast.Arg {
	open := p.i
	p.want(lexer.LParen)
	outer := p.nest(-1)
	list := p.argsUntilParen()
	p.setting = outer
	p.closeBracket(lexer.RParen, open, "`,` or `)`")
	return list
}

// argsUntilParen reads arguments up to the `)`, or to where none follows.
func (p *parser) argsUntilParen() (list []*ast.Arg) {
	named := false
	for p.k != lexer.RParen {
		start := p.here()
		a := &ast.Arg{}
		if p.k.IsWord() && p.peek(1) == lexer.Colon {
			a.Name = p.ident()
			p.next()
			named = true
		} else if named {
			p.report(diag.PositionalAfterNamed.At(p.span(), "a positional argument cannot follow a named one").
				Hint("name it, or put it before the named ones"))
		}
		if p.k == lexer.Ident && p.peek(1) == lexer.Assign {
			p.next()
			p.fail(p.expected("`,` or `)`").Hint("an argument is named by `:`, as in `%s: …`", p.prevText()))
		}
		a.Value = p.expr()
		a.Sp = p.from(start)
		list = append(list, a)
		if !p.eat(lexer.Comma) {
			break
		}
	}
	return list
}

// emit reads `emit(c, p)` and `emit<T>(c, p)`.
func (p *parser) emit() *ast.EmitExpr {
	start := p.here()
	p.next()
	n := &ast.EmitExpr{}
	if p.k == lexer.Less {
		open := p.i
		p.next()
		n.Type = p.typ()
		p.closeBracket(lexer.Greater, open, "`>`")
	}
	args := p.args()
	at := p.from(start)
	for _, a := range args {
		if a.Name != nil {
			p.report(diag.EmitArguments.At(a.Name.Sp, "emit takes its arguments by position").
				Hint("write `emit(channel, payload)`"))
		}
	}
	switch len(args) {
	case 2:
		n.Payload = args[1].Value
		fallthrough
	case 1:
		n.Channel = args[0].Value
	default:
		p.report(diag.EmitArguments.At(at, "emit takes a channel and at most one payload").
			Hint("put several values into one: `emit(channel, [a, b])`"))
		n.Channel = &ast.BadExpr{IDBase: p.baseAt(at)}
	}
	n.IDBase = p.baseAt(at)
	return n
}
