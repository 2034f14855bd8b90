package parser

import (
	"strconv"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// postfix reads the operators after the operand x: fields, calls, indices, `?` and `.await`. If
// untilQuestion is set, it stops before the first `?`.
func (p *parser) postfix(x ast.Expr, untilQuestion bool) ast.Expr {
	start := x.Span().Start
	for chain := 0; ; chain++ {
		switch p.k {
		case lexer.Dot:
			x = p.member(x)
		case lexer.LParen:
			args, end := p.args()
			x = &ast.Call{IDBase: p.base(start), Fn: x, Args: args}
			p.mark(end, x)
		case lexer.LBracket:
			index, end := p.index()
			x = &ast.IndexExpr{IDBase: p.base(start), X: x, Index: index}
			p.mark(end, x)
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
			p.next() // without a right operand, `x??` means two `?`
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

// member reads the part after a `.`: `f`, `0`, `m(args)`, `m<T>(args)` or `await`.
func (p *parser) member(x ast.Expr) ast.Expr {
	start := x.Span().Start
	p.next()
	switch {
	case p.k == lexer.Int:
		n, err := strconv.Atoi(p.text())
		if err != nil {
			p.fail(diag.BadNumber.At(p.span(), "`%s` is not a valid tuple index", p.text()))
		}
		at := p.span()
		p.next()
		return &ast.TupleIndex{IDBase: p.base(start), X: x, Index: n, At: at}
	case p.k == lexer.Await:
		p.next()
		return &ast.Await{IDBase: p.base(start), X: x, Postfix: true}
	case !p.k.IsWord(), p.k.IsKeyword() && p.newLine():
		d := p.expected("a name after `.`")
		if n := p.i - 2; p.kindAt(n) == lexer.Int && p.toks[n].End == p.toks[n+1].Start {
			d.Hint("a float needs digits after the point: `%s.0`", p.textAt(n))
		}
		p.reportAndContinue(d)
		return &ast.FieldExpr{IDBase: p.base(start), X: x, Name: p.noIdent()}
	}
	name := p.ident()
	var types []ast.Type
	if p.k == lexer.Less && p.typeArgsAhead() && p.kindAt(p.matchingGreater()+1) == lexer.LParen {
		types = p.typeArgs()
	}
	if p.k != lexer.LParen {
		return &ast.FieldExpr{IDBase: p.base(start), X: x, Name: name}
	}
	args, end := p.args()
	call := &ast.MethodCall{IDBase: p.base(start), Recv: x, Name: name, TypeArgs: types, Args: args}
	p.mark(end, call)
	if name.Name == "listen" && p.handlersAhead() {
		return p.listenMethod(call)
	}
	return call
}

// index reads `[i]`. If the index is a range, both of its ends are optional.
func (p *parser) index() (ast.Expr, listEnd) {
	open := p.i
	p.next()
	outer := p.nest(open)
	var x ast.Expr
	switch {
	case p.k == lexer.DotDot || p.k == lexer.DotDotEq:
		x = p.rangeRest(nil)
	case p.k == lexer.Colon:
		p.colonSlice()
		x = p.rangeRest(nil)
	case p.k == lexer.PathSep:
		p.fail(diag.Unexpected.At(p.span(), "unexpected `::` in an index").Hint("write a slice as `xs[a..b]`, and the elements in the opposite order as `xs.reverse()`"))
	default:
		if x = p.expr(); p.k == lexer.Colon {
			p.colonSlice()
			x = p.rangeRest(x)
		}
	}
	p.setting = outer
	return x, p.closeBracket(lexer.RBracket, open, "`]`")
}

// args reads `(a, b, name: c)`.
func (p *parser) args() ([]*ast.Arg, listEnd) {
	open := p.i
	p.expect(lexer.LParen)
	outer := p.nest(-1)
	list := p.argsIn(open)
	p.setting = outer
	end := p.closeBracket(lexer.RParen, open, "`,` or `)`")
	return elementsBefore(p, list, end), end
}

// argsUntilParen reads arguments up to the `)`, or up to a token that does not start an argument.
func (p *parser) argsUntilParen() []*ast.Arg { return p.argsIn(p.i - 1) }

// argsIn reads the arguments after the `(` at token open.
func (p *parser) argsIn(open int) (list []*ast.Arg) {
	named := false
	for p.k != lexer.RParen {
		start, at := p.here(), p.i
		a := &ast.Arg{}
		var late *diag.Diagnostic
		if p.k.IsWord() && p.peek(1) == lexer.Colon {
			a.Name = p.ident()
			p.next()
			named = true
		} else if named {
			late = diag.PositionalAfterNamed.At(p.span(), "positional argument after a named argument").
				Hint("add a name, or move it before the named arguments")
			if !p.mayBeNextStmt(p.i) { // a token that starts a line may start the next statement
				p.report(late)
			}
		}
		if p.k == lexer.Ident && p.peek(1) == lexer.Assign {
			p.next()
			p.fail(p.expected("`,` or `)`").Hint("write `:` after the name of an argument: `%s: …`", p.prevText()))
		}
		since := p.progress()
		a.Value = p.expr()
		if a.Name != nil && p.k != lexer.Comma && p.k != lexer.RParen && p.i > since.at && p.rewindToNextStmt(since) {
			p.reportAndContinue(p.missingValue())
			a.Value = p.badExpr(p.baseAt(p.afterPrevious()))
		}
		a.Sp = p.from(start)
		if late != nil && p.mayBeNextStmt(at) && (p.k == lexer.Comma || p.k == lexer.RParen) {
			p.report(late)
		}
		if late != nil {
			late.Fixes = append(late.Fixes, p.moveForwardFix(list, a))
		}
		list = append(list, a)
		if !p.hasNextElement(lexer.RParen, open, "`,` or `)`") || p.endsList() {
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
	args, end := p.args()
	at := p.from(start)
	for _, a := range args {
		if a.Name != nil {
			p.report(diag.EmitArguments.At(a.Name.Sp, "the arguments of `emit` are positional").
				Repair(diag.UnsafeFix(diag.Remove(source.Span{Start: a.Name.Sp.Start, End: a.Value.Span().Start}), "Remove `%s:`", a.Name.Name), "write `emit(channel, payload)`"))
		}
	}
	switch len(args) {
	case 2:
		n.Payload = args[1].Value
		fallthrough
	case 1:
		n.Channel = args[0].Value
	default:
		if end > 0 || p.reports.going {
			break
		}
		p.report(diag.EmitArguments.At(at, "`emit` takes a channel and at most one payload").Advise(payloadAdvice(args)))
	}
	if n.Channel == nil {
		n.Channel = p.badExpr(p.baseAt(at))
	}
	n.IDBase = p.baseAt(at)
	p.mark(end, n)
	return n
}
