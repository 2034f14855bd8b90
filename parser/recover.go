package parser

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// syncMode is the kind of list in which the parser recovers from a syntax error.
type syncMode uint8

const (
	inBlock   syncMode = iota // list of statements
	inList                    // list of members, arms or handlers, which commas separate
	inMethods                 // list of functions
	inStages
)

// startsStmt contains the words that always start a statement or declaration if they are the first
// word of a line.
var startsStmt = [lexer.NumKinds]bool{
	lexer.Let: true, lexer.For: true, lexer.While: true, lexer.Loop: true, lexer.Return: true, lexer.Break: true,
	lexer.Continue: true, lexer.Throw: true, lexer.If: true, lexer.Match: true, lexer.Emit: true, lexer.Try: true,
	lexer.Fn: true, lexer.Const: true, lexer.Struct: true, lexer.Enum: true, lexer.Schema: true, lexer.Type: true,
	lexer.Use: true, lexer.Listen: true, lexer.Await: true,
}

// sync moves from the position of an error to the next token that may start the next construct of
// the list. start is the first token of the construct with the error. sync consumes at least one
// token.
func (p *parser) sync(start int, mode syncMode) {
	stack := p.openBrackets(start)
	angles := 0
	for ; p.k != lexer.EOF; p.next() {
		if p.i > start && p.atColumn0(p.i) && (startsDecl[p.k] || p.startsQueue()) {
			return
		}
		switch k := p.k; {
		case isOpening(k):
			if !p.isCulprit(p.i) {
				stack = append(stack, k)
			}
		case isClosing(k):
			n := openingBracket(stack, k)
			if n < 0 && k == lexer.RBrace {
				if p.i == start {
					p.next()
				}
				return
			}
			if n >= 0 {
				stack = stack[:n]
			}
			if k == lexer.RBrace && len(stack) == 0 && n == 0 && mode != inList && p.endsConstruct(mode) {
				p.next()
				return
			}
		case k == lexer.Semi && !holdsBrace(stack):
			p.next()
			return
		case k == lexer.Less && mode == inList:
			angles++
		case k == lexer.Greater:
			angles = max(angles-1, 0)
		case k == lexer.Comma && mode == inList && len(stack) == 0 && angles == 0 && mayFollowComma(p.peek(1)):
			p.next()
			return
		case p.i > start && !holdsBrace(stack) && p.newLine() && p.mayStart(mode):
			return
		}
	}
}

// endsConstruct reports whether the current `}` ends the construct with the error. The `}` is at
// the construct's nesting level. The construct ends if the next token starts a line and is no
// operator.
func (p *parser) endsConstruct(mode syncMode) bool {
	if p.i+1 >= len(p.toks) || !p.startsLine(p.i+1) && p.peek(1) != lexer.RBrace {
		return false
	}
	switch k := p.peek(1); {
	case mode != inBlock:
		return true
	default:
		return k == lexer.RBrace || k == lexer.EOF || k.IsWord() && k != lexer.Else && k != lexer.Catch && k != lexer.As
	}
}

// mayStart reports whether the current token, which is the first of its line, can start the next
// construct.
func (p *parser) mayStart(mode syncMode) bool {
	switch mode {
	case inBlock:
		return startsStmt[p.k]
	case inMethods:
		return p.k == lexer.Fn || p.k == lexer.Async || p.k == lexer.At || p.k == lexer.Pub
	case inStages:
		return p.k == lexer.Stage || p.k == lexer.At
	default:
		return p.k.IsWord() && (p.peek(1) == lexer.Colon || p.peek(1) == lexer.Question && p.peek(2) == lexer.Colon) ||
			p.k == lexer.At || p.k == lexer.String && p.peek(1) == lexer.FatArrow
	}
}

// openBrackets returns the brackets that open between token start and the current token and are not
// closed there.
func (p *parser) openBrackets(start int) (stack []lexer.Kind) {
	for i := start; i < p.i; i++ {
		k := p.toks[i].Kind
		if isOpening(k) {
			if !p.isCulprit(i) {
				stack = append(stack, k)
			}
		} else if isClosing(k) {
			if n := openingBracket(stack, k); n >= 0 {
				stack = stack[:n]
			}
		}
	}
	return stack
}

// isCulprit reports whether token i is the unclosed `{` that the indentation determines. Recovery
// must not search a `}` for it. isCulprit marks the `{` as reported, because the current error
// describes it.
func (p *parser) isCulprit(i int) bool {
	if p.toks[i].Kind != lexer.LBrace || p.findCulprit() != i {
		return false
	}
	p.markReported(i)
	return true
}

// mayFollowComma reports whether a token of kind k may start the next row of a list.
func mayFollowComma(k lexer.Kind) bool {
	switch k {
	case lexer.Colon, lexer.FatArrow, lexer.Assign, lexer.RParen, lexer.RBracket, lexer.Greater, lexer.Comma, lexer.Question:
		return false
	}
	return true
}

// openingBracket returns the index of the bracket in stack that k closes, or -1. A round or square
// bracket does not match beyond an open brace.
func openingBracket(stack []lexer.Kind, k lexer.Kind) int {
	for i := len(stack) - 1; i >= 0; i-- {
		if closes(stack[i], k) {
			return i
		}
		if stack[i] == lexer.LBrace {
			return -1
		}
	}
	return -1
}

func holdsBrace(stack []lexer.Kind) bool {
	for _, k := range stack {
		if k == lexer.LBrace {
			return true
		}
	}
	return false
}

// syncDecl moves to the next declaration of a module: a declaration in column 0, a declaration that
// starts a line outside all braces, or the `}` of an inline module. start is the first token of the
// declaration with the error.
func (p *parser) syncDecl(start int) {
	depth := 0
	for _, k := range p.openBrackets(start) {
		if k == lexer.LBrace {
			depth++
		}
	}
	for ; p.k != lexer.EOF; p.next() {
		starts := startsDecl[p.k] || p.k == lexer.At
		if p.i > start && starts && (p.atColumn0(p.i) || depth == 0 && p.newLine()) {
			return
		}
		switch p.k {
		case lexer.LBrace:
			depth++
		case lexer.RBrace:
			if depth == 0 && p.i > start {
				return
			}
			depth--
			if depth <= 0 && (p.i+1 >= len(p.toks) || p.startsLine(p.i+1)) {
				p.next()
				return
			}
		case lexer.Semi:
			if depth == 0 {
				p.next()
				return
			}
		}
	}
}

// bodyAfter returns the index of the `{` that starts the body of the declaration at token start,
// whose header has syntax errors. It returns 0 if the next construct starts before a `{`.
func (p *parser) bodyAfter(start int) int {
	depth := 0
	for i := start + 1; i < len(p.toks)-1; i++ {
		switch k := p.toks[i].Kind; {
		case k == lexer.LParen || k == lexer.LBracket:
			depth++
		case k == lexer.RParen || k == lexer.RBracket:
			depth--
		case k == lexer.LBrace && (depth <= 0 || i >= p.i):
			return i
		case k == lexer.Semi, k == lexer.RBrace && depth <= 0, (startsDecl[k] || startsStmt[k]) && p.startsLine(i), k == lexer.LBrace:
			return 0
		}
	}
	return 0
}

// requireSemi requires the `;` of a statement. If the `;` is missing, requireSemi reports it at the
// end of the previous token and does not abort the statement.
func (p *parser) requireSemi(x ast.Expr) {
	if p.eat(lexer.Semi) {
		return
	}
	if p.k == lexer.RBrace && p.balance.excess > 0 && p.peek(1) == lexer.Semi {
		p.reportUnopened()
		return
	}
	if p.k == lexer.Else {
		p.fail(diag.Unexpected.At(p.span(), "`else` without an `if` block").
			Hint("close the block before it: `} else { … }`"))
	}
	if p.k == lexer.If && !p.newLine() && p.elseWithoutBrace() {
		p.fail(p.expected("`;`").Hint("write a conditional expression as `if c { a } else { b }`"))
	}
	if p.newLine() || p.k == lexer.RBrace || p.k == lexer.EOF || startsStmt[p.k] {
		p.missingSemi()
		return
	}
	d := p.expected("`;`")
	if call, ok := x.(*ast.MethodCall); ok && strings.HasPrefix(call.Name.Name, "execute") && p.handlersAhead() {
		fix := diag.UnsafeFix(diag.Insert(call.Sp.Start, "listen "), "Write `listen`")
		if call.Name.Name == "execute_streaming" {
			fix.Edits = append(fix.Edits, diag.Replace(call.Name.Sp, "execute"))
		}
		d.Repair(fix, "handlers need `listen`: `listen %s.execute(…) { … }`", p.textOf(call.Recv.Span(), "HOST"))
	} else if p.k == lexer.EqEq {
		d.Hint("write `=` to assign a value")
	} else if p.k == lexer.Colon && p.peek(1) == lexer.Assign {
		d.WithFixes(p.declareFix()...).Hint("declare a variable with `let`: `let %s = …;`", p.prevText())
	} else if p.k == lexer.Colon || p.k == lexer.Assign {
		d.Hint("declare a variable with `let`")
	}
	p.fail(d)
}

// elseWithoutBrace reports whether an `else` follows on the line of the current `if` before any
// `{`, as in `a if c else b`.
func (p *parser) elseWithoutBrace() bool {
	for i := p.i + 1; i < len(p.toks)-1 && !p.startsLine(i); i++ {
		if k := p.kindAt(i); k == lexer.Else || k == lexer.LBrace {
			return k == lexer.Else
		}
	}
	return false
}

func (p *parser) missingSemi() {
	e := p.prevEnd()
	p.report(diag.MissingSemicolon.At(source.Span{Start: e, End: e}, "missing `;`").
		Repair(diag.SafeFix(diag.Insert(e, ";"), "Insert `;`"), "end the statement with `;`"))
	p.markLost()
}

// requireDeclSemi requires the `;` of a declaration.
func (p *parser) requireDeclSemi() {
	if p.eat(lexer.Semi) {
		return
	}
	if p.newLine() || p.k == lexer.EOF || p.k == lexer.RBrace {
		e := p.prevEnd()
		p.report(diag.MissingSemicolon.At(source.Span{Start: e, End: e}, "missing `;`").
			Repair(diag.SafeFix(diag.Insert(e, ";"), "Insert `;`"), "end the declaration with `;`"))
		p.markLost()
		return
	}
	p.failExpected("`;`")
}
