package parser

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/foreign"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/internal/spell"
	"github.com/concerto-lang/concerto/lexer"
)

// reports is what has been said about the text.
type reports struct {
	diags   diag.List
	lastAt  source.Pos          // where the last error was reported, -1 at first
	lastTok int                 // the current token then
	lexed   map[source.Pos]bool // where the lexer reported errors
	mute    bool                // the lexer gave up on the file's end: say nothing about it
	tooDeep bool                // a bailout about depth is on its way to the outermost construct
}

// lexerReports begins with what the lexer had to say.
func lexerReports(list diag.List) reports {
	r := reports{diags: list, lastAt: -1, lastTok: -1}
	for _, d := range list.Sorted() {
		if r.lexed == nil {
			r.lexed = map[source.Pos]bool{}
		}
		r.lexed[d.Span.Start] = true
		r.mute = r.mute || d.Info == diag.OpenComment
	}
	return r
}

// bailout is what a parsing function panics with once its error is reported;
// guard and stmtOrSync catch it.
type bailout struct{}

// report adds a diagnostic unless it is a consequence of an earlier one.
func (p *parser) report(d *diag.Diagnostic) {
	at := d.Span.Start
	if p.consequence(at) {
		return
	}
	p.lastAt = at
	p.diags.Add(d.In(p.file))
}

// lost notes that the parser is out of step with the text here.
func (p *parser) lost() { p.lastTok = p.i }

// settled is how many tokens must have been read after an error before
// another one on the same line counts as a mistake of its own.
const settled = 3

// consequence says whether an error at a place follows from one before: it
// stands where that stood or right behind it, at characters that the lexer
// has reported, or at the end of a file that the lexer could not read.
func (p *parser) consequence(at source.Pos) bool {
	if at == p.lastAt || p.lexed[at] || p.mute && p.k == lexer.EOF {
		return true
	}
	if p.k == lexer.Bad || p.i > 0 && p.lexed[p.toks[p.i-1].Start] {
		return true
	}
	switch after := p.i - p.lastTok; {
	case p.lastAt < 0 || p.lastTok < 0 || after < 0 || after >= settled:
		return false
	case after == 0:
		return true
	default:
		return at > p.lastAt && !strings.Contains(p.src[p.lastAt:at], "\n")
	}
}

// fail reports d and leaves the construct.
func (p *parser) fail(d *diag.Diagnostic) {
	p.report(d)
	p.lost()
	panic(bailout{})
}

// guard runs f and says whether it went through; an error within ends it.
func (p *parser) guard(f func()) (ok bool) {
	outer := p.setting
	defer func() {
		if !ok && p.recovers(outer) {
			p.caught(recover())
			p.setting = outer
		}
	}()
	f()
	return true
}

// recovers says whether a construct in a setting may recover from an error:
// one about depth itself goes all the way to the outermost. Asking instead of
// catching and panicking again keeps that linear.
func (p *parser) recovers(s setting) bool { return !p.tooDeep || s.depth == 0 }

// caught handles what ended a construct; all but a bailout is a bug of ours.
func (p *parser) caught(e any) {
	if _, ok := e.(bailout); !ok {
		panic(e)
	}
	p.tooDeep = false
}

// atEnd wants the end of the text.
func (p *parser) atEnd() {
	if p.k != lexer.EOF {
		p.failExpected("the end of the text")
	}
}

// span is the current token's place; at the end of the file, that of the
// last token's end.
func (p *parser) span() source.Span {
	if p.k == lexer.EOF && p.i > 0 {
		e := p.prevEnd()
		return source.Span{Start: e, End: e}
	}
	return p.tok().Span()
}

// found names the current token in a message.
func (p *parser) found() string { return p.foundAt(p.i) }

func (p *parser) foundAt(i int) string {
	switch k := p.toks[i].Kind; k {
	case lexer.Ident, lexer.Int, lexer.Float, lexer.Label:
		return "`" + shorten(p.textAt(i)) + "`"
	case lexer.String, lexer.StringHead:
		if t := p.textAt(i); len(t) <= 24 && !strings.Contains(t, "\n") {
			return "the string `" + t + "`"
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

// expected makes the diagnostic "expected X, found Y" for the current token.
func (p *parser) expected(what string) *diag.Diagnostic {
	d := diag.Unexpected.At(p.span(), "expected %s, found %s", what, p.found())
	if hint := p.foreignHint(); hint != "" {
		d.Hint("%s", hint)
	}
	return d
}

func (p *parser) failExpected(what string) { p.fail(p.expected(what)) }

// want passes a token of kind k or fails.
func (p *parser) want(k lexer.Kind) {
	if p.k != k {
		p.failExpected(k.String())
	}
	p.next()
}

// closeBracket passes the bracket that closes the one at token open. what
// names the alternatives, such as "`,` or `)`".
func (p *parser) closeBracket(k lexer.Kind, open int, what string) {
	if p.k == k {
		p.next()
		return
	}
	if p.k == lexer.EOF {
		p.failUnclosed(open)
	}
	o := p.toks[open]
	d := p.expected(what).Label(o.Span(), "to close this `%s`", p.src[o.Start:o.End])
	if len(d.Hints) == 0 && p.commentedOut() {
		d.Hint("`//` begins a comment: Ints are divided without fraction by `/`")
	}
	if len(d.Hints) == 0 && (isClosing(p.k) || p.newLine()) {
		d.Hint("close it with %s", k)
	}
	p.fail(d)
}

// commentedOut says whether a comment follows the token before the current one on
// its line.
func (p *parser) commentedOut() bool {
	rest := p.src[p.prevEnd():]
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		rest = rest[:n]
	}
	return p.newLine() && strings.HasPrefix(strings.TrimSpace(rest), "//")
}

// failName reports that no name stands here.
func (p *parser) failName() { p.fail(p.noName(p.i)) }

// shortField refuses `{ name }`, which is short for `{ name: name }`, where the
// name is a reserved word: a field may be called so, a variable may not. what is
// what the hint has behind the `:`.
func (p *parser) shortField(what string) {
	if p.k.IsKeyword() {
		word := p.textAt(p.i)
		p.fail(diag.ReservedName.At(p.span(), "`%s` is a reserved word: a field may have that name, a variable may not", word).
			Hint("write `%s: %s`", word, what))
	}
}

func (p *parser) noName(i int) *diag.Diagnostic {
	t := p.toks[i]
	if t.Kind.IsKeyword() && i > 0 && p.startsLine(i) && startsDecl[t.Kind] {
		e := p.toks[i-1].End
		d := diag.Unexpected.At(source.Span{Start: e, End: e}, "expected a name, found the end of the line")
		return d.Hint("complete `%s …`, or remove it", p.textAt(i-1))
	}
	if t.Kind.IsKeyword() && i > 0 && p.toks[i-1].Kind == lexer.At {
		d := diag.ReservedName.At(t.Span(), "`%s` is a reserved word, and no decorator", p.textAt(i))
		if hint := foreign.Decorator.Hint(p.textAt(i)); hint != "" {
			return d.Hint("%s", hint)
		}
		return d.Hint("remove it: `@` stands before a decorator's name")
	}
	if t.Kind.IsKeyword() {
		d := diag.ReservedName.At(t.Span(), "`%s` is a reserved word and cannot be a name", p.textAt(i))
		return d.Hint("choose another name, such as `%s_`", p.textAt(i))
	}
	save := p.i
	p.seek(i)
	d := p.expected("a name")
	p.seek(save)
	return d
}

func (p *parser) failDeep() {
	p.report(diag.TooDeep.At(p.span(), "nested more than %d deep", maxNesting).
		Hint("split the code, or build the value step by step"))
	p.tooDeep = true
	panic(bailout{})
}

// declWords are the words that declarations start with.
var declWords = func() (words []string) {
	for k := range lexer.NumKinds {
		if startsDecl[k] {
			words = append(words, k.Info().Text)
		}
	}
	return words
}()

// failDeclaration reports a word that starts no declaration.
func (p *parser) failDeclaration() {
	w := p.text()
	d := diag.NoDeclaration.At(p.span(), "`%s` starts no declaration", shorten(w))
	if hint := foreign.Declaration.Hint(w); hint != "" {
		d.Hint("%s", hint)
	} else if near := spell.Nearest(w, declWords); near != "" {
		d.Hint("did you mean `%s`?", near)
	} else {
		d.Hint("declarations start with one of: %s", strings.Join(declWords, " "))
	}
	p.fail(d)
}
