package parser

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/lexer"
)

// reports is the state of error reporting.
type reports struct {
	diags   diag.List
	lastAt  source.Pos          // position of the last reported error, or -1 before the first
	lastTok int                 // index of the current token when the last error was reported, or -1
	lexed   map[source.Pos]bool // positions of the errors that the lexer has reported
	open    []source.Pos        // positions of unterminated strings: no other error is reported on their lines
	mute    bool                // the lexer could not read the end of the file, so no error is reported there
	going   bool                // the parser continues the construct that contains the last error
	heading bool                // the parser reads the header of a declaration
	headed  bool                // an error in this header has been reported
	tooDeep bool                // a bailout because of excessive nesting is aborting all constructs
}

// lexerReports returns the initial state of error reporting, which contains the lexer's
// diagnostics.
func lexerReports(list diag.List) reports {
	r := reports{diags: list, lastAt: -1, lastTok: -1}
	for _, d := range list.Sorted() {
		if r.lexed == nil {
			r.lexed = map[source.Pos]bool{}
		}
		r.lexed[d.Span.Start] = true
		if d.Info == diag.OpenString {
			r.open = append(r.open, d.Span.Start)
		}
		r.mute = r.mute || d.Info == diag.OpenComment
	}
	return r
}

// bailout is the panic value of a parsing function after it has reported an error. guard and
// stmtOrSync recover it.
type bailout struct{}

// report adds a diagnostic, unless the error is a consequence of an earlier error.
func (p *parser) report(d *diag.Diagnostic) {
	at := d.Span.Start
	if p.isConsequence(at) {
		return
	}
	p.reports.lastAt = at
	p.reports.diags.Add(d.In(p.file))
}

// markLost records that the parser does not understand the current token.
func (p *parser) markLost() {
	p.reports.lastTok = p.i
	p.reports.headed = p.reports.heading
}

// settled is the number of tokens that the parser must read after an error before it reports
// another error on the same line.
const settled = 3

// isConsequence reports whether an error at a position follows from an earlier error. This is the
// case for an error at the position of the earlier error or shortly after it on the same line, for
// an error at characters that the lexer has reported, and for an error at the end of a file that
// the lexer could not read.
func (p *parser) isConsequence(at source.Pos) bool {
	if at == p.reports.lastAt || p.reports.lexed[at] || p.reports.mute && p.k == lexer.EOF {
		return true
	}
	if p.k == lexer.Bad || p.i > 0 && p.reports.lexed[p.toks[p.i-1].Start] {
		return true
	}
	for _, s := range p.reports.open {
		if s <= at && !strings.Contains(p.src[s:at], "\n") {
			return true
		}
	}
	if p.reports.headed || p.reports.going && p.reports.lastAt >= 0 && !strings.Contains(p.src[min(p.reports.lastAt, at):max(p.reports.lastAt, at)], "\n") {
		return true
	}
	switch after := p.i - p.reports.lastTok; {
	case p.reports.lastAt < 0 || p.reports.lastTok < 0 || after < 0 || after >= settled:
		return false
	case after == 0:
		return true
	default:
		return at > p.reports.lastAt && !strings.Contains(p.src[p.reports.lastAt:at], "\n")
	}
}

// reportAndContinue reports d without aborting the construct. It suppresses further errors on the
// same line, because they are consequences of d.
func (p *parser) reportAndContinue(d *diag.Diagnostic) {
	p.report(d)
	p.markLost()
	p.reports.going = true
}

// fail reports d and aborts the construct.
func (p *parser) fail(d *diag.Diagnostic) {
	p.report(d)
	p.markLost()
	if !startsDecl[p.k] && !startsStmt[p.k] {
		p.reports.lastAt = max(p.reports.lastAt, p.here()) // the error was detected after the position of d, for example on the next line
	}
	panic(bailout{})
}

// inHeader runs f like guard does, for the header of a declaration. Only one error in a header is
// reported.
func (p *parser) inHeader(f func()) (ok bool) {
	outer := p.reports.heading
	p.reports.heading, p.reports.headed = true, false
	ok = p.guard(f)
	p.reports.heading, p.reports.headed = outer, false
	return ok
}

// guard runs f and reports whether f completed. An error that aborts f does not abort the caller.
func (p *parser) guard(f func()) (ok bool) {
	outer := p.setting
	defer func() {
		if !ok && p.reports.canRecover(outer) {
			p.reports.handlePanic(recover())
			p.setting = outer
		}
	}()
	f()
	return true
}

// canRecover reports whether a construct in the setting s may recover from an error. An error about
// excessive nesting aborts everything up to the outermost construct. Otherwise every level would
// recover and panic again, which takes quadratic time.
func (r *reports) canRecover(s setting) bool { return !r.tooDeep || s.depth == 0 }

// handlePanic handles a recovered panic value. A value other than a bailout is a bug in the parser,
// and handlePanic panics with it again.
func (r *reports) handlePanic(e any) {
	if _, ok := e.(bailout); !ok {
		panic(e)
	}
	r.tooDeep, r.going = false, false
}

// span returns the span of the current token. At the end of the file it is the end of the last
// token.
func (p *parser) span() source.Span {
	if p.k == lexer.EOF && p.i > 0 {
		e := p.prevEnd()
		return source.Span{Start: e, End: e}
	}
	return p.tok().Span()
}

// foundText returns a description of the current token for a message.
func (p *parser) foundText() string { return p.foundTextAt(p.i) }

func (p *parser) foundTextAt(i int) string {
	switch k := p.toks[i].Kind; k {
	case lexer.Ident, lexer.Int, lexer.Float, lexer.Label:
		return "`" + shorten(p.textAt(i)) + "`"
	case lexer.String, lexer.StringHead:
		if t := p.textAt(i); len(t) <= 24 && !strings.Contains(t, "\n") {
			return "string `" + t + "`"
		}
		return "a string"
	default:
		return k.String()
	}
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// expected returns the diagnostic "expected X, found Y" for the current token.
func (p *parser) expected(what string) *diag.Diagnostic {
	if hint := p.foreignHint(); hint != "" {
		d := diag.Unexpected.At(p.span(), "expected %s, found %s", what, p.foundText()).WithFixes(p.foreignFix(hint)...).Hint("%s", hint)
		if i := p.foreignWordToken(hint); i >= 0 {
			d.Span, d.Message = p.toks[i].Span(), "unexpected `"+p.textAt(i)+"`"
		}
		return d
	}
	if p.isIncomplete() {
		return diag.Unexpected.At(p.afterPrevious(), "expected %s, found %s", what, endOfLine)
	}
	return diag.Unexpected.At(p.span(), "expected %s, found %s", what, p.foundText())
}

func (p *parser) failExpected(what string) { p.fail(p.expected(what)) }

// expect consumes a token of kind k or fails.
func (p *parser) expect(k lexer.Kind) {
	if p.k != k {
		p.failExpected(k.String())
	}
	p.next()
}

// closeBracket consumes the bracket that closes the bracket at token open. what describes the
// allowed tokens for a message, such as "`,` or `)`". If the closing bracket is missing,
// closeBracket reports the error and moves to a token that may follow the list.
func (p *parser) closeBracket(k lexer.Kind, open int, what string) listEnd {
	if p.k == k && !p.isOuterBrace(open) {
		p.next()
		return 0
	}
	return p.endList(k, open, what)
}

// isCommentNext reports whether a comment follows the previous token on the same line.
func (p *parser) isCommentNext() bool {
	rest := p.src[p.prevEnd():]
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		rest = rest[:n]
	}
	return p.newLine() && strings.HasPrefix(strings.TrimSpace(rest), "//")
}

// failName reports a missing name and aborts the construct.
func (p *parser) failName() { p.fail(p.missingName(p.i)) }

// reportShortField reports `{ name }`, the short form of `{ name: name }`, if the name is a
// reserved word. A field may have such a name, but a variable may not. what is the text after the
// `:` in the hint.
func (p *parser) reportShortField(what string) {
	if p.k.IsKeyword() {
		word := p.textAt(p.i)
		p.fail(diag.ReservedName.At(p.span(), "the reserved word `%s` can be the name of a field, but not of a variable", word).
			Repair(diag.UnsafeFix(diag.Insert(p.tok().End, ": "+word+"_"), "Write `%s: %[1]s_`", word), "write `%s: %s`", word, what))
	}
}

func (p *parser) missingName(i int) *diag.Diagnostic {
	t := p.toks[i]
	if t.Kind.IsKeyword() && i > 0 && p.startsLine(i) && (startsDecl[t.Kind] || startsStmt[t.Kind]) {
		e := p.toks[i-1].End
		d := diag.Unexpected.At(source.Span{Start: e, End: e}, "expected a name, found end of line")
		return d.Hint("complete `%s …` or remove it", p.textAt(i-1))
	}
	if t.Kind.IsKeyword() && i > 0 && p.toks[i-1].Kind == lexer.At {
		d := diag.ReservedName.At(t.Span(), "the reserved word `%s` is not a decorator", p.textAt(i))
		if hint := foreign.Decorator.Hint(p.textAt(i)); hint != "" {
			if p.kindAt(i+1) == lexer.Fn && p.kindAt(i+2) == lexer.Ident {
				d.Cause = "tool function " + p.textAt(i+2)
			}
			return d.WithFixes(p.toolFix(i)...).Hint("%s", hint)
		}
		at := source.Span{Start: p.toks[i-1].Start, End: t.End}
		return d.Repair(diag.UnsafeFix(diag.Remove(at), "Remove `@%s`", p.textAt(i)), "remove it: `@` must be followed by the name of a decorator")
	}
	if t.Kind.IsKeyword() {
		d := diag.ReservedName.At(t.Span(), "the reserved word `%s` cannot be a name", p.textAt(i))
		return d.Repair(p.renameReserved(i), "use another name, such as `%s_`", p.textAt(i))
	}
	save := p.i
	p.seek(i)
	d := p.expected("a name")
	p.seek(save)
	return d
}

func (p *parser) failDeep() {
	p.report(diag.TooDeep.At(p.span(), "nested more than %d levels deep", maxNesting).
		Hint("split the code into functions, or build the value step by step"))
	p.reports.tooDeep = true
	panic(bailout{})
}

// declWords are the words that start declarations.
var declWords = func() (words []string) {
	for k := range lexer.NumKinds {
		if startsDecl[k] {
			words = append(words, k.Info().Text)
		}
	}
	return words
}()

// failDeclaration reports that the current word does not start a declaration, and aborts the
// construct.
func (p *parser) failDeclaration() {
	w := p.text()
	d := diag.NoDeclaration.At(p.span(), "expected a declaration, found `%s`", shorten(w))
	if a := p.declarationAdvice(w); a.Is() {
		d.Advise(a)
	} else if hint := foreign.Declaration.Hint(w); hint != "" {
		d.Advise(p.wordAdvice(hint, foreign.Declaration.Find(w)))
		if w == "package" && p.peek(1) == lexer.Ident {
			end := p.toks[p.i+1].End
			if p.peek(2) == lexer.Semi {
				end = p.toks[p.i+2].End
			}
			d.WithFixes(diag.UnsafeFix(diag.Remove(wholeLines(p.src, source.Span{Start: p.here(), End: end})), "Remove the line"))
		}
	} else if near := suggest.Nearest(w, declWords); near != "" {
		d.SuggestName(p.span(), near, suggest.Certain(w, near, declWords))
	} else {
		d.Hint("a declaration starts with one of: %s", strings.Join(declWords, " "))
	}
	p.fail(d)
}
