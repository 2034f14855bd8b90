package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// binaryOps maps token kinds to the operators in ast's table. It does not contain `>=`, which
// consists of two tokens: binaryOp recognizes it.
var binaryOps = func() (t [lexer.NumKinds]ast.Op) {
	for op := ast.OpMul; op <= ast.OpPipe; op++ {
		if k, ok := lexer.Lookup(op.String()); ok {
			t[k] = op
		}
	}
	return t
}()

// assignOps maps each assignment token to its operator. The operator of a plain `=` is OpNone.
var assignOps = map[lexer.Kind]ast.Op{
	lexer.Assign: ast.OpNone, lexer.PlusEq: ast.OpAdd, lexer.MinusEq: ast.OpSub,
	lexer.StarEq: ast.OpMul, lexer.SlashEq: ast.OpDiv, lexer.PercentEq: ast.OpRem,
}

// startsExpr contains the kinds of tokens that can start an expression.
var startsExpr = func() (t [lexer.NumKinds]bool) {
	for _, k := range []lexer.Kind{
		lexer.Ident, lexer.Int, lexer.Float, lexer.String, lexer.StringHead, lexer.LParen, lexer.LBracket, lexer.LBrace,
		lexer.Bar, lexer.OrOr, lexer.Minus, lexer.Not, lexer.At, lexer.Fn, lexer.If, lexer.Match, lexer.For, lexer.While,
		lexer.Loop, lexer.Break, lexer.Continue, lexer.Return, lexer.Try, lexer.Throw, lexer.Await, lexer.Emit,
		lexer.Listen, lexer.True, lexer.False, lexer.Nil, lexer.Self, lexer.SelfType, lexer.Bad, lexer.Label,
	} {
		t[k] = true
	}
	return t
}()

// expr reads an expression of any kind, including an assignment.
func (p *parser) expr() ast.Expr {
	return p.assignRest(p.binary(ast.PrecPipe))
}

// assignRest reads the `= value`, or a compound assignment such as `+= value`, after the target x.
// Assignments are right-associative.
func (p *parser) assignRest(x ast.Expr) ast.Expr {
	if p.k < lexer.Assign || p.k > lexer.PercentEq {
		return x
	}
	n := &ast.Assign{Op: assignOps[p.k], OpSpan: p.tok().Span(), Target: x}
	p.next()
	p.deeper()
	since := p.progress()
	n.Value = p.operandOrMissing(since, p.expr())
	p.setting.shallower()
	n.IDBase = p.base(x.Span().Start)
	return n
}

// binary reads an expression whose operators have the precedence min or higher.
func (p *parser) binary(min int) ast.Expr {
	return p.binaryRest(p.unary(), min)
}

// binaryOp returns the operator at the current token and the operator's number of tokens. `>=`
// consists of two adjacent tokens.
func (p *parser) binaryOp() (op ast.Op, width int) {
	if p.k == lexer.Greater && p.peek(1) == lexer.Assign && p.toks[p.i].End == p.toks[p.i+1].Start {
		return ast.OpGe, 2
	}
	return binaryOps[p.k], 1
}

// binaryRest reads what follows the operand x: operators of precedence min or higher with their
// right operands, casts and ranges.
func (p *parser) binaryRest(x ast.Expr, min int) ast.Expr {
	for chain := 0; ; chain++ {
		switch p.k {
		case lexer.As:
			if ast.PrecCast < min {
				return x
			}
			x = p.cast(x)
		case lexer.DotDot, lexer.DotDotEq:
			if ast.PrecRange < min {
				return x
			}
			x = p.rangeRest(x)
		default:
			op, width := p.binaryOp()
			if op == ast.OpNone || ast.Ops[op].Precedence < min {
				return x
			}
			x = p.operator(x, op, width)
		}
		if chain >= maxNesting {
			p.failDeep()
		}
	}
}

// operator reads the operator op, which has width tokens, and its right operand.
func (p *parser) operator(x ast.Expr, op ast.Op, width int) ast.Expr {
	at := source.Span{Start: p.here(), End: p.toks[p.i+width-1].End}
	for range width {
		p.next()
	}
	if op == ast.OpPipe {
		return p.pipe(x)
	}
	info := ast.Ops[op]
	next := info.Precedence + 1
	if info.Assoc == ast.Right {
		next = info.Precedence
	}
	p.deeper()
	since := p.progress()
	y := p.operandOrMissing(since, p.binary(next))
	p.setting.shallower()
	return &ast.Binary{IDBase: p.base(x.Span().Start), Op: op, OpSpan: at, X: x, Y: y}
}

func (p *parser) cast(x ast.Expr) ast.Expr {
	p.next()
	var t ast.Type
	if p.k == lexer.Ident || p.k == lexer.SelfType {
		t = p.castType()
	} else {
		t = p.typ()
	}
	return &ast.Cast{IDBase: p.base(x.Span().Start), X: x, Type: t}
}

// castType reads a named type after `as`. A `<` after the name may be a comparison instead of the
// start of type arguments.
func (p *parser) castType() ast.Type {
	start := p.here()
	var t ast.Type = p.namedType(false)
	for p.eat(lexer.Question) {
		t = &ast.OptionType{IDBase: p.base(start), Elem: t}
	}
	return t
}

// rangeRest reads the `..hi` after lo. lo is nil in a slice without a lower bound.
func (p *parser) rangeRest(lo ast.Expr) ast.Expr {
	start := p.here()
	if lo != nil {
		start = lo.Span().Start
	}
	n := &ast.RangeExpr{Lo: lo, Inclusive: p.k == lexer.DotDotEq}
	at := p.span()
	p.next()
	switch {
	case startsExpr[p.k] && !(p.setting.inHead && p.k == lexer.LBrace):
		since := p.progress()
		n.Hi = p.operandOrMissing(since, p.binary(ast.PrecRange+1))
	case p.setting.slice < 0 || p.k != lexer.RBracket || n.Inclusive:
		p.fail(diag.OpenRange.At(at, "range without an end").
			Hint("add the end, such as `0..10`; only a slice such as `xs[1..]` can omit it"))
	}
	if p.k == lexer.DotDot || p.k == lexer.DotDotEq {
		p.fail(diag.ChainedRange.At(p.span(), "a range cannot be the bound of another range").Label(at, "the first range"))
	}
	n.IDBase = p.base(start)
	return n
}

// pipe reads the right side of `|>`: one postfix expression. Its last call receives x as the first
// argument. The operators after this call apply to the call's result.
func (p *parser) pipe(x ast.Expr) ast.Expr {
	p.deeper()
	right := p.postfix(p.primary(), false)
	p.setting.shallower()
	return &ast.Pipe{IDBase: p.base(x.Span().Start), X: x, Right: right, Call: lastCall(right)}
}

// lastCall returns the last call of a postfix chain. Without a call, it returns the callee: the
// chain without its `?` and `.await`.
func lastCall(right ast.Expr) ast.Expr {
	callee := right
	bare := true // the chain has contained only `?` and `.await` so far
	for x := right; ; {
		switch n := x.(type) {
		case *ast.Call, *ast.MethodCall:
			return x
		case *ast.Question:
			x = n.X
		case *ast.Await:
			x = n.X
		case *ast.FieldExpr:
			x, bare = n.X, false
			continue
		case *ast.TupleIndex:
			x, bare = n.X, false
			continue
		case *ast.IndexExpr:
			x, bare = n.X, false
			continue
		default:
			return callee
		}
		if bare {
			callee = x
		}
	}
}

// unary reads prefix operators and their operand.
func (p *parser) unary() ast.Expr {
	var op ast.Op
	switch p.k {
	case lexer.Minus:
		op = ast.OpNeg
	case lexer.Not:
		op = ast.OpNot
	case lexer.Await:
		return p.await()
	default:
		return p.postfix(p.primary(), false)
	}
	start := p.here()
	p.next()
	p.deeper()
	since := p.progress()
	x := p.operandOrMissing(since, p.unary())
	p.setting.shallower()
	return &ast.Unary{IDBase: p.base(start), Op: op, X: x}
}

// await reads `await x`. The await applies to the postfix chain of x up to the first `?`. The rest
// of the chain applies to the await's result.
func (p *parser) await() ast.Expr {
	start := p.here()
	p.next()
	p.deeper()
	var x ast.Expr
	switch p.k {
	case lexer.Emit:
		e := p.emit()
		e.Await, e.Sp.Start = true, start
		x = e
	case lexer.LParen:
		open := p.here()
		elems, comma := p.parenList()
		if comma {
			x = &ast.AwaitAll{IDBase: p.base(start), Elems: elems}
			break
		}
		paren := &ast.ParenExpr{IDBase: p.base(open), X: elems[0]}
		chain := p.postfix(paren, true)
		x = &ast.Await{IDBase: p.base(start), X: chain}
	case lexer.Await, lexer.Minus, lexer.Not:
		operand := p.unary()
		x = &ast.Await{IDBase: p.base(start), X: operand}
	default:
		chain := p.postfix(p.primary(), true)
		x = &ast.Await{IDBase: p.base(start), X: chain}
	}
	p.setting.shallower()
	return p.postfix(x, false)
}
