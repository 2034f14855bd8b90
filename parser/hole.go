package parser

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// The parser returns as much of the tree as possible for a text with syntax errors. A hole replaces
// a missing part: a BadExpr, BadType or BadPat, or a name that is "". If text fits nowhere, the
// parser skips it and records the names in it as part of a flaw.

// ends contains the tokens that cannot start an operand, type or pattern. If a required part
// precedes such a token, the part is missing.
var ends = [lexer.NumKinds]bool{
	lexer.RParen: true, lexer.RBracket: true, lexer.RBrace: true, lexer.StringMid: true, lexer.StringTail: true,
	lexer.Semi: true, lexer.Comma: true, lexer.EOF: true, lexer.FatArrow: true, lexer.Else: true, lexer.Catch: true,
}

// isPartMissing reports whether the required part at the current position is missing. This is the
// case if the current token is in ends or in follow, or if it starts a statement or declaration on
// a later line.
func (p *parser) isPartMissing(follow ...lexer.Kind) bool {
	if ends[p.k] || p.k == lexer.LBrace && p.setting.inHead && !p.mapAhead() {
		return true
	}
	for _, k := range follow {
		if p.k == k {
			return true
		}
	}
	return (startsStmt[p.k] || startsDecl[p.k]) && p.newLine() && !(p.k == lexer.Fn && p.peek(1) == lexer.LParen)
}

// afterPrevious returns the empty span directly after the previous token.
func (p *parser) afterPrevious() source.Span {
	e := p.prevEnd()
	return source.Span{Start: e, End: e}
}

// isIncomplete reports whether a required part is missing at the end of the previous line: the
// previous token requires another part, and the current token is the first of its line.
func (p *parser) isIncomplete() bool {
	switch p.prev(1) {
	case lexer.LBrace, lexer.RBrace, lexer.Semi, lexer.Comma:
		return false
	}
	return p.i > 0 && p.k != lexer.EOF && p.newLine()
}

// endOfLine describes the end of a line in messages.
const endOfLine = "end of line"

// unexpectedToken returns the position and the description of the token that is found instead of a
// required part. If the part is missing at the end of a line, the position is there and not on the
// next line, which may be correct.
func (p *parser) unexpectedToken() (at source.Span, found string) {
	if p.k != lexer.EOF && p.i > 0 && p.newLine() && p.isPartMissing() && (!isOpening(p.prev(1)) || p.prev(1) != lexer.LBrace && (!ends[p.k] || p.k == lexer.RBrace)) && p.prev(1) != lexer.RBrace && p.prev(1) != lexer.Semi {
		return p.afterPrevious(), endOfLine
	}
	return p.span(), p.foundText()
}

// reportMissing reports d about a missing part, and returns the id of the hole that replaces the
// part. If the current token cannot follow the part, reportMissing aborts the construct.
func (p *parser) reportMissing(d *diag.Diagnostic, follow ...lexer.Kind) ast.IDBase {
	p.reportAndContinue(d)
	if p.isPartMissing(follow...) {
		return p.baseAt(p.afterPrevious())
	}
	start := p.i
	if p.next(); p.isPartMissing(follow...) && p.k != lexer.EOF && !p.startsLine(start) && !isOpening(p.prev(1)) { // only the skipped token is wrong
		p.recordLostText(nil, start, p.i)
		return p.baseAt(p.toks[start].Span())
	}
	p.seek(start)
	panic(bailout{})
}

// badExpr returns a hole for a missing expression.
func (p *parser) badExpr(at ast.IDBase) *ast.BadExpr {
	n := &ast.BadExpr{IDBase: at}
	p.flaws = append(p.flaws, ast.Flaw{Node: n, Span: n.Sp})
	return n
}

func (p *parser) badType(at ast.IDBase) *ast.BadType {
	n := &ast.BadType{IDBase: at}
	p.flaws = append(p.flaws, ast.Flaw{Node: n, Span: n.Sp})
	return n
}

func (p *parser) badPat(at ast.IDBase) *ast.BadPat {
	n := &ast.BadPat{IDBase: at}
	p.flaws = append(p.flaws, ast.Flaw{Node: n, Span: n.Sp})
	return n
}

// noIdent returns a hole for a missing name: an Ident whose Name is "".
func (p *parser) noIdent() *ast.Ident {
	n := p.newIdent()
	n.Sp, n.Name = p.afterPrevious(), ""
	p.flaws = append(p.flaws, ast.Flaw{Node: n, Span: n.Sp})
	return n
}

// recordLostText records a flaw of n: the tree does not contain the tokens from start up to, but
// not including, end. It returns the names in these tokens.
func (p *parser) recordLostText(n ast.Node, start, end int) []*ast.Ident {
	at := p.afterPrevious()
	if start < end {
		at = source.Span{Start: p.toks[start].Start, End: p.toks[end-1].End}
	}
	names := p.namesIn(start, end)
	p.flaws = append(p.flaws, ast.Flaw{Node: n, Span: at, Names: names})
	return names
}

// namesIn returns the names in the tokens from start up to, but not including, end.
func (p *parser) namesIn(start, end int) (names []*ast.Ident) {
	for i := start; i < end; i++ {
		switch t := p.toks[i]; {
		case t.Kind == lexer.Ident, t.Kind == lexer.Self:
			names = append(names, &ast.Ident{Base: ast.Base{Sp: t.Span()}, Name: p.textAt(i)})
		case t.Kind == lexer.String && p.reports.lexed[t.Start]:
			names = append(names, p.wordsIn(t.Span())...)
		}
	}
	return names
}

// wordsIn returns the names in a text that was not parsed, such as an unterminated string.
func (p *parser) wordsIn(s source.Span) (names []*ast.Ident) {
	letter := func(c byte) bool {
		return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	for i := s.Start; i < s.End; i++ {
		start := i
		for i < s.End && letter(p.src[i]) {
			i++
		}
		if word := p.src[start:i]; word != "" && (word[0] < '0' || word[0] > '9') {
			names = append(names, &ast.Ident{Base: ast.Base{Sp: source.Span{Start: start, End: i}}, Name: word})
		}
	}
	return names
}

// recordLexerFlaws records the text that the lexer could not read.
func (p *parser) recordLexerFlaws() {
	if len(p.reports.lexed) == 0 {
		return
	}
	inTokens := 0
	for _, t := range p.toks {
		if p.reports.lexed[t.Start] && t.Kind != lexer.EOF {
			inTokens++
			f := ast.Flaw{Span: t.Span()}
			if t.Kind == lexer.String {
				f.Names = p.wordsIn(f.Span)
			}
			p.flaws = append(p.flaws, f)
		}
	}
	if inTokens == len(p.reports.lexed) {
		return
	}
	for _, at := range slices.Sorted(maps.Keys(p.reports.lexed)) { // errors in a string, or an unterminated comment
		i := sort.Search(len(p.toks), func(i int) bool { return p.toks[i].Start > at }) - 1
		s := source.Span{Start: at, End: source.Pos(len(p.src))}
		if i >= 0 && p.toks[i].Start == at && p.toks[i].Kind != lexer.EOF {
			continue
		}
		if i >= 0 && p.toks[i].End > at {
			s = p.toks[i].Span()
		}
		p.flaws = append(p.flaws, ast.Flaw{Span: s, Names: p.wordsIn(s)})
	}
}

// listEnd describes how a list ends. It is 0 if the closing bracket is present, else one more than
// the index of the list's flaw.
type listEnd int

// mark sets the node of the flaw to which e refers.
func (p *parser) mark(e listEnd, n ast.Node) {
	if e > 0 {
		p.flaws[e-1].Node = n
	}
}

// elementsBefore returns the elements of a list without those after the list's end. If the list's
// bracket is missing, the parser may have read statements as elements.
func elementsBefore[N ast.Node](p *parser, list []N, e listEnd) []N {
	if e == 0 || p.flaws[e-1].Kind != ast.Open {
		return list
	}
	for len(list) > 0 && p.k != lexer.EOF && list[len(list)-1].Span().Start >= p.here() {
		list = list[:len(list)-1]
	}
	return list
}

// hasNextElement reports whether another element follows in the list that opens at token open. It
// consumes the comma before the element. If the comma is missing at the end of a line,
// hasNextElement reports it and returns true.
func (p *parser) hasNextElement(k lexer.Kind, open int, what string) bool {
	if p.k == lexer.Comma {
		p.next()
		return p.closers == nil || !p.leavesList(open)
	}
	if p.k == k || !p.newLine() || p.k == lexer.EOF || p.i == p.reports.lastTok {
		return false
	}
	if k == lexer.RBrace && !(p.k.IsWord() && p.peek(1) == lexer.Colon) || k != lexer.RBrace && !startsExpr[p.k] || p.closingBracket(open) < p.i || p.leavesList(open) {
		return false
	}
	if startsStmt[p.k] && k != lexer.RBrace || p.isCommentNext() {
		return false
	}
	p.reportAndContinue(p.unendedList(open, what))
	return true
}

// leavesList reports whether the current token is outside the list that opens at token open. This
// is the case if the list has no closing bracket, and the token starts a line that is not indented
// more than the list's first line.
func (p *parser) leavesList(open int) bool {
	return p.closingBracket(open) < 0 && p.newLine() && p.indent(p.i) <= p.indent(open)
}

// unendedList returns the diagnostic for an unexpected token in the list that opens at token open.
func (p *parser) unendedList(open int, what string) *diag.Diagnostic {
	o := p.toks[open]
	var d *diag.Diagnostic
	if p.newLine() {
		d = diag.Unexpected.At(p.afterPrevious(), "expected %s, found %s", what, endOfLine)
	} else {
		d = p.expected(what)
	}
	return d.Label(o.Span(), "to close this `%s`", p.src[o.Start:o.End])
}

// endList ends a list whose closing bracket is missing. closeBracket calls it.
func (p *parser) endList(k lexer.Kind, open int, what string) listEnd {
	if p.k != lexer.EOF {
		p.backToLine(open)
	}
	if p.k == lexer.EOF {
		p.reportUnclosedBracket(open)
		return p.listFlaw(ast.Open, p.i, p.i)
	}
	d := p.unendedList(open, what)
	if len(d.Hints) == 0 && p.isCommentNext() {
		d.Hint("`//` starts a comment; write `/` to divide Ints")
	}
	switch {
	case len(d.Hints) > 0:
	case isClosing(p.k) || p.newLine() || p.k == lexer.Semi || p.k == lexer.LBrace && k != lexer.RBrace:
		d.Repair(diag.UnsafeFix(diag.Insert(p.prevEnd(), k.Info().Text), "Insert %s", k), "close it with %s", k)
	case startsExpr[p.k] && strings.HasPrefix(what, "`,`") && k != lexer.Greater:
		d.Repair(diag.UnsafeFix(diag.Insert(p.prevEnd(), ","), "Insert `,`"), "add `,` before %s", p.foundText())
	}
	p.reportAndContinue(d)
	start := p.i
	if end := p.closingBracket(open); end >= p.i {
		p.seek(end + 1)
		return p.listFlaw(ast.Broken, start, end)
	}
	if k == lexer.Greater {
		if end := p.findAngle(); end >= 0 {
			p.seek(end + 1)
			return p.listFlaw(ast.Broken, start, end)
		}
		return p.listFlaw(ast.Open, start, start)
	}
	if k == lexer.RBrace && p.balance.excess < 0 {
		p.markReported(open)
	}
	for !ends[p.k] && p.k != lexer.LBrace && p.k != lexer.Assign && !p.newLine() {
		p.next()
	}
	return p.listFlaw(ast.Open, start, p.i)
}

// findAngle returns the index of the `>` that closes incomplete type arguments. It searches only
// the current line, and returns -1 if a token that cannot be part of a type precedes the `>`.
func (p *parser) findAngle() int {
	depth := 1
	for i := p.i; i < len(p.toks) && (i == p.i || !p.startsLine(i)); i++ {
		switch p.toks[i].Kind {
		case lexer.Less:
			depth++
		case lexer.Greater:
			if depth--; depth == 0 {
				return i
			}
		case lexer.Ident, lexer.SelfType, lexer.PathSep, lexer.Comma, lexer.Question, lexer.String, lexer.Int:
		default:
			return -1
		}
	}
	return -1
}

func (p *parser) listFlaw(kind ast.FlawKind, start, end int) listEnd {
	p.recordLostText(nil, start, end)
	p.flaws[len(p.flaws)-1].Kind = kind
	return listEnd(len(p.flaws))
}

// backToLine moves back to the first line of an unclosed list that is not indented more than the
// line of the list's opening bracket. This line is not an element but the next statement.
func (p *parser) backToLine(open int) {
	if p.closingBracket(open) >= 0 {
		return
	}
	indent := p.indent(open)
	for i, depth := open+1, 0; i <= p.i; i++ {
		switch k := p.toks[i].Kind; {
		case depth == 0 && p.startsLine(i) && p.indent(i) <= indent && (p.toks[i-1].Kind == lexer.Comma || i-1 == open):
			p.seek(i)
			return
		case isOpening(k):
			depth++
		case isClosing(k):
			depth--
		}
	}
}

// closingBracket returns the index of the token that closes the bracket at token open, or -1. An
// unclosed round or square bracket ends at a `;`, or at a line that starts with `let` or `const`.
// The first call finds the closing tokens of all brackets in one pass.
func (p *parser) closingBracket(open int) int {
	if p.closers == nil {
		p.findClosers()
	}
	if p.toks[open].Kind == lexer.LBrace && p.closers[open] >= 0 && !p.literals[open] {
		p.closeLiteral(open)
	}
	return int(p.closers[open])
}

// closeLiteral checks that no `;` of a statement is between the `{` of a struct literal or map, at
// token open, and its `}`. If there is one, closeLiteral records that the `{` has no `}`.
func (p *parser) closeLiteral(open int) {
	if p.literals == nil {
		p.literals = map[int]bool{}
	}
	p.literals[open] = true
	for i := open + 1; i < int(p.closers[open]); i++ {
		switch k := p.toks[i].Kind; {
		case k == lexer.Semi:
			p.closers[open] = -1
			return
		case isOpening(k) && int(p.closers[i]) > i:
			i = int(p.closers[i])
		}
	}
}

func (p *parser) findClosers() {
	p.closers = make([]int32, len(p.toks))
	for i := range p.closers {
		p.closers[i] = -1
	}
	var stack []int
	leave := func() {
		for n := len(stack); n > 0 && p.toks[stack[n-1]].Kind != lexer.LBrace; n-- {
			stack = stack[:n-1]
		}
	}
	for i, t := range p.toks {
		switch k := t.Kind; {
		case isOpening(k):
			if k == lexer.LBrace && p.findCulprit() == i {
				continue
			}
			stack = append(stack, i)
		case isClosing(k):
			if k == lexer.RBrace {
				leave()
			}
			if n := len(stack) - 1; n >= 0 && closes(p.toks[stack[n]].Kind, k) {
				p.closers[stack[n]] = int32(i)
				stack = stack[:n]
			} else if n >= 0 && k != lexer.RBrace && p.toks[stack[n]].Kind != lexer.LBrace {
				for m := n; m >= 0 && p.toks[stack[m]].Kind != lexer.LBrace; m-- {
					if closes(p.toks[stack[m]].Kind, k) {
						p.closers[stack[m]] = int32(i)
						stack = stack[:m]
						break
					}
				}
			}
		case k == lexer.Semi:
			leave()
		case (k == lexer.Let || k == lexer.Const) && p.startsLine(i):
			leave()
		}
	}
}

// progress is a state of the parser that rewindToNextStmt can restore: its position, diagnostics
// and flaws.
type progress struct {
	at, flaws     int
	diags         diag.List
	lastAt        source.Pos
	lastTok       int
	going, headed bool
}

func (p *parser) progress() progress {
	return progress{p.i, len(p.flaws), p.reports.diags, p.reports.lastAt, p.reports.lastTok, p.reports.going, p.reports.headed}
}

// isOuterBrace reports whether the current `}` closes a block around an unclosed literal. The `{`
// of the literal is at token open.
func (p *parser) isOuterBrace(open int) bool {
	return p.k == lexer.RBrace && p.balance.excess < 0 && p.newLine() && p.indent(p.i) < p.indent(open) && p.findCulprit() == open
}

// rewindToNextStmt restores the state since if the text after it is the next statement instead of a
// required part. This is the case if the text starts a line that is not indented more than the
// previous line. rewindToNextStmt reports whether it restored the state.
func (p *parser) rewindToNextStmt(since progress) bool {
	if !p.mayBeNextStmt(since.at) {
		return false
	}
	p.seek(since.at)
	p.reports.diags = since.diags
	p.flaws = p.flaws[:since.flaws]
	p.reports.lastAt, p.reports.lastTok, p.reports.going, p.reports.headed = since.lastAt, since.lastTok, since.going, since.headed
	return true
}

// mayBeNextStmt reports whether token at may start the next statement. The token must be the first
// of a line that is not indented more than the previous line.
func (p *parser) mayBeNextStmt(at int) bool {
	return at > 0 && p.startsLine(at) && p.indent(at) <= p.indent(at-1) && strings.TrimSpace(p.src[:p.toks[at].Start]) != ""
}

// hasOperandBefore reports whether the current token is an operator that requires an operand before
// it.
func (p *parser) hasOperandBefore() bool {
	op, _ := p.binaryOp()
	return op != ast.OpNone || p.k == lexer.DotDot || p.k == lexer.DotDotEq || p.k == lexer.As
}

// operandOrMissing returns the operand x, which the parser has read from the state since. If x is
// really the next statement, because the token after x cannot follow an operand, operandOrMissing
// reports a missing operand and returns a hole.
func (p *parser) operandOrMissing(since progress, x ast.Expr) ast.Expr {
	word := startsStmt[p.toks[since.at].Kind]
	next := p.newLine() && p.k != lexer.LBrace && !ends[p.k] && !p.hasOperandBefore()
	if p.i <= since.at || !p.mayBeNextStmt(since.at) || !next && !(p.setting.inHead && (p.k == lexer.Semi || p.k == lexer.RBrace || p.k == lexer.EOF)) || !p.setting.inHead && !word {
		return x
	}
	p.rewindToNextStmt(since)
	d := p.missingValue()
	if binaryOps[p.prev(1)] != ast.OpNone {
		d.Hint("add the right operand of `%s`", p.prevText())
	}
	p.reportAndContinue(d)
	return p.badExpr(p.baseAt(p.afterPrevious()))
}

// endsList reports whether the current token, which follows a comma in round or square brackets,
// ends the list.
func (p *parser) endsList() bool {
	switch p.k {
	case lexer.RParen, lexer.RBracket:
		return true
	case lexer.Let, lexer.Const:
		return p.newLine()
	}
	return false
}

// endsRows reports whether the current token starts a statement or declaration on a later line,
// instead of a row `word: …`.
func (p *parser) endsRows() bool {
	return (startsStmt[p.k] || startsDecl[p.k]) && p.peek(1) != lexer.Colon && p.newLine()
}
