// Package lexer splits source text into tokens and comments. The parser reads its slice of tokens;
// the formatter merges tokens and comments by offset.
//
// Invariants: Tokens and comments are ordered, do not overlap, and together with white space cover
// the text. The last token is EOF at the end of the text. Any text results in tokens and, if it has
// errors, diagnostics.
package lexer

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// space is the byte that fills the unused parts of a library file: spaces replace the declarations
// that a program does not use.
var space = []byte{' '}

// Lex splits a file into tokens and comments. It never fails. It reports invalid text, and
// represents the text as a Bad token or as a token of the most likely kind.
func Lex(f *source.File) ([]Token, []Comment, diag.List) {
	l := &lexer{
		file: f, src: f.String(), plainAt: -1,
		toks: make([]Token, 0, (len(f.Text)-bytes.Count(f.Text, space))/3+16),
	}
	l.checkUTF8()
	l.run()
	l.checkBidi()
	var list diag.List
	for _, d := range l.errs {
		list.Add(d.In(f))
	}
	return l.toks, l.comments, list
}

// lexer is the state of lexing one file.
type lexer struct {
	file     *source.File
	src      string
	pos      int
	toks     []Token
	comments []Comment
	errs     []*diag.Diagnostic
	mode     *mode           // innermost open interpolation, or nil
	braces   int             // number of open braces in the code of the interpolation mode
	badNames map[string]bool // invalid names that have been reported, so that each is reported once

	// The recovery from unterminated strings (recover.go) uses the following fields.
	suspect  *snapshot // the first string that appears to have ended too late
	plainAt  int       // offset of a string that is read without interpolation, or -1
	restarts int
}

// mode is an open interpolation: the lexer reads the code between `${` and its `}`. A mode is
// immutable, so that snapshots can share it.
type mode struct {
	multi bool        // the string has triple quotes
	from  snapshot    // state at the string's first quote; it contains the outer mode
	open  source.Span // span of the `${`
}

func (l *lexer) run() {
	for {
		l.skipSpace()
		if l.pos < len(l.src) {
			l.token()
			continue
		}
		if !l.reopen() {
			break
		}
	}
	l.add(EOF, l.pos)
}

// add appends a token that extends from start to the current position.
func (l *lexer) add(k Kind, start int) {
	l.toks = append(l.toks, Token{k, source.Pos(start), source.Pos(l.pos)})
}

// last returns the kind of the previous token, or EOF if there is no previous token.
func (l *lexer) last() Kind {
	if len(l.toks) == 0 {
		return EOF
	}
	return l.toks[len(l.toks)-1].Kind
}

func (l *lexer) report(i *diag.Info, start, end int, format string, args ...any) *diag.Diagnostic {
	d := i.At(span(start, end), format, args...)
	l.errs = append(l.errs, d)
	return d
}

func span(start, end int) source.Span {
	return source.Span{Start: source.Pos(start), End: source.Pos(end)}
}

// at returns the byte n bytes after the current position, or 0 after the end of the text.
func (l *lexer) at(n int) byte {
	if l.pos+n < len(l.src) {
		return l.src[l.pos+n]
	}
	return 0
}

// Classes of bytes.
const (
	isSpace = 1 << iota
	isStart // the byte may start a name
	isDigit
)

var classes = func() (t [256]uint8) {
	for _, c := range " \t\r\n" {
		t[c] = isSpace
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = isDigit
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = isStart, isStart
	}
	t['_'] = isStart
	return t
}()

// skipSpace skips white space and, at the start of the file, a byte order mark.
func (l *lexer) skipSpace() {
	if l.pos == 0 && len(l.src) >= 3 && l.src[:3] == "\ufeff" {
		l.pos = 3
	}
	for l.pos < len(l.src) && classes[l.src[l.pos]]&isSpace != 0 {
		l.pos++
	}
}

// token reads one token or comment at the current position.
func (l *lexer) token() {
	c := l.src[l.pos]
	switch cl := classes[c]; {
	case cl&isStart != 0:
		if c == 'r' && l.rawAhead() {
			l.rawString()
			return
		}
		l.word()
		return
	case cl&isDigit != 0:
		l.number()
		return
	}
	switch c {
	case '"':
		l.doubleQuoted()
	case '\'':
		l.singleQuoted()
	case '{':
		l.braces++
		l.op(LBrace, 1)
	case '}':
		if l.mode != nil && l.braces == 0 {
			l.resume()
			return
		}
		l.braces--
		l.op(RBrace, 1)
	case '/':
		switch l.at(1) {
		case '/':
			l.lineComment()
		case '*':
			l.blockComment()
		case '=':
			l.op(SlashEq, 2)
		default:
			l.op(Slash, 1)
		}
	default:
		l.operator(c)
	}
}

func (l *lexer) op(k Kind, n int) {
	start := l.pos
	l.pos += n
	l.add(k, start)
}

// singles are the single-byte operators that are not the start of a longer operator.
var singles = [256]Kind{
	'(': LParen, ')': RParen, '[': LBracket, ']': RBracket, ',': Comma, ';': Semi, '@': At, '>': Greater,
}

// pairs contains the other operators by their first byte. Longer operators come first.
var pairs = [256][]Kind{
	':': {PathSep, Colon}, '.': {DotDotEq, DotDot, Dot}, '?': {Coalesce, Question},
	'-': {Arrow, MinusEq, Minus}, '=': {FatArrow, EqEq, Assign}, '|': {OrOr, Pipe, Bar},
	'+': {PlusEq, Plus}, '*': {StarEq, Star}, '%': {PercentEq, Percent}, '<': {LessEq, Less},
	'!': {NotEq, Not}, '&': {AndAnd},
}

func (l *lexer) operator(c byte) {
	if k := singles[c]; k != EOF {
		l.op(k, 1)
		return
	}
	for _, k := range pairs[c] {
		if t := kinds[k].Text; len(l.src)-l.pos >= len(t) && l.src[l.pos:l.pos+len(t)] == t {
			l.op(k, len(t))
			return
		}
	}
	l.unknownChars()
}

// word reads a name or a reserved word. It also reads and reports letters that names cannot
// contain, so that an invalid name becomes one token and one error.
func (l *lexer) word() {
	start := l.pos
	for l.pos < len(l.src) && classes[l.src[l.pos]]&(isStart|isDigit) != 0 {
		l.pos++
	}
	if l.pos < len(l.src) && l.src[l.pos] >= utf8.RuneSelf && l.letters(start) {
		l.add(Ident, start)
		return
	}
	l.add(wordKind(l.src[start:l.pos]), start)
}

// letters reads the rest of a word that contains letters beyond ASCII, and reports the word. It
// returns false if no such letter follows.
func (l *lexer) letters(start int) bool {
	from := l.pos
	for l.pos < len(l.src) {
		r, n := utf8.DecodeRuneInString(l.src[l.pos:])
		if r == utf8.RuneError || !(r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) {
			break
		}
		l.pos += n
	}
	if l.pos == from {
		return false
	}
	if name := l.src[start:l.pos]; !l.badNames[name] {
		if l.badNames == nil {
			l.badNames = map[string]bool{}
		}
		l.badNames[name] = true
		l.report(diag.BadName, start, l.pos, "`%s` is not a valid name", name).
			Hint("names consist of A-Z, a-z, 0-9 and `_`")
	}
	return true
}

// lookalikes maps characters that people type or paste by accident to the characters they intend.
var lookalikes = map[rune]string{
	'“': `"`, '”': `"`, '„': `"`, '‘': `'`, '’': `'`, '`': `"`, '；': ";", '：': ":", '，': ",", '（': "(", '）': ")",
	'｛': "{", '｝': "}", '–': "-", '—': "-", '−': "-", '×': "*", '÷': "/", '≠': "!=", '≤': "<=", '≥': ">=",
	'\u037e': ";", '→': "->", '⇒': "=>", '…': "..", '\u00a0': "a space",
}

// unknownChars reads a run of characters that cannot start a token.
func (l *lexer) unknownChars() {
	start := l.pos
	first, _ := utf8.DecodeRuneInString(l.src[l.pos:])
	if unicode.IsLetter(first) {
		l.letters(start)
		l.add(Ident, start)
		return
	}
	if l.otherQuotes(first) {
		return
	}
	for l.pos < len(l.src) {
		r, n := utf8.DecodeRuneInString(l.src[l.pos:])
		if r < utf8.RuneSelf && l.startsToken(byte(r)) || unicode.IsLetter(r) {
			break
		}
		l.pos += n
	}
	l.add(Bad, start)
	if !utf8.ValidString(l.src[start:l.pos]) {
		return // checkUTF8 has reported the error
	}
	text := l.src[start:l.pos]
	shown := "`" + text + "`"
	if !unicode.IsPrint(first) {
		shown = fmt.Sprintf("U+%04X", first)
	}
	d := l.report(diag.UnexpectedCharacter, start, l.pos, "unexpected character %s", shown)
	switch {
	case first == '&' && l.isReference():
		d.Repair(diag.UnsafeFix(diag.Remove(d.Span), "Remove the `%s`", text), "remove it: Concerto has no references, values are copied")
	case first == '&':
		d.Repair(diag.Change(d.Span, "&&", "&&", false), "write `&&` for a logical and, and `a.bit_and(b)` for the bits of two Ints")
	case first == '#' && l.at(0) == '[':
		if n := strings.IndexByte(l.src[start:], ']'); n >= 0 && !strings.Contains(l.src[start:start+n], "\n") {
			end := start + n + 1
			end += len(l.src[end:]) - len(strings.TrimLeft(l.src[end:], " \t\r\n"))
			d.WithFixes(diag.UnsafeFix(diag.Remove(span(start, end)), "Remove `%s`", l.src[start:start+n+1]))
		}
		d.Hint("decorators are written `@name`, such as `@test`; there is no `derive`")
	case first == '#':
		d.Advise(l.hashAdvice(start, text))
	case first == '^':
		d.Hint("Concerto has no bitwise operators: write `a.bit_xor(b)`, and `a.pow(n)` for a power")
	case first == '~':
		d.Hint("Concerto has no bitwise operators: write `a.bit_not()`")
	case first == '$':
		d.Hint("`${ }` is only allowed in strings")
	case lookalikes[first] != "":
		d.Advise(lookalikeAdvice(d.Span, text, first))
	}
}

// hashAdvice returns the advice for a run of `#`. A `#` at the start of a line starts a comment in
// other languages.
func (l *lexer) hashAdvice(start int, text string) diag.Advice {
	a := diag.HintAdvice("comments start with `//`, and decorators with `@`")
	if before := strings.TrimRight(l.src[:start], " \t"); before == "" || strings.HasSuffix(before, "\n") {
		return a.WithFix(diag.Change(span(start, start+len(text)), "//", "//", false))
	}
	return a
}

// lookalikeAdvice returns the advice for a character that resembles a character of Concerto.
func lookalikeAdvice(at source.Span, text string, r rune) diag.Advice {
	meant := lookalikes[r]
	a := diag.HintAdvice("did you mean " + quoteLookalike(meant) + "?")
	if r == '\u037e' { // the Greek question mark looks exactly like `;`
		a = diag.HintAdvice("this is the character U+037E, which looks like `;`: replace it with `;`")
	}
	switch {
	case text != string(r):
		return a
	case r == '\u00a0':
		return a.WithFix(diag.SafeFix(diag.Replace(at, " "), "Change to a space"))
	}
	return a.WithFix(diag.Change(at, meant, meant, meant != `"` && meant != "'"))
}

// otherQuotes reads a string in quotes that Concerto does not support, such as “…”. It reads up to
// the closing quote on the same line, and reports one error.
func (l *lexer) otherQuotes(first rune) bool {
	closing := closingQuotes[first]
	line := l.src[l.pos:]
	if n := strings.IndexByte(line, '\n'); n >= 0 {
		line = line[:n]
	}
	head := utf8.RuneLen(first)
	n := strings.IndexAny(line[min(head, len(line)):], closing)
	if closing == "" || n < 0 {
		return false
	}
	_, tail := utf8.DecodeRuneInString(line[head+n:])
	start := l.pos
	l.pos += head + n + tail
	l.add(Bad, start)
	name := "`" + string(first) + "`"
	if first == '`' {
		name = "a backquote"
	}
	d := l.report(diag.UnexpectedCharacter, start, l.pos, "%s does not start a string", name)
	if text := line[head : head+n]; len(text) <= 40 && !strings.Contains(text, `"`) {
		d.Repair(diag.UnsafeFix(diag.Replace(d.Span, `"`+text+`"`), "Write `\"%s\"`", text), "write `\"%s\"`", text)
	} else {
		d.Hint("put the text in `\"`, and write `\\\"` for a quote inside it")
	}
	return true
}

// closingQuotes maps opening quotes to their closing quotes.
var closingQuotes = map[rune]string{'“': "”“", '„': "“”", '‘': "’‘", '’': "’", '`': "`"}

// isReference reports whether the current `&` would create a reference in another language. It
// would if no operand precedes the `&`.
func (l *lexer) isReference() bool {
	if len(l.toks) < 2 {
		return true
	}
	switch l.toks[len(l.toks)-2].Kind { // the last token is the `&`
	case Ident, Int, Float, String, StringTail, RParen, RBracket, RBrace, Self, True, False, Nil:
		return false
	}
	return true
}

func quoteLookalike(s string) string {
	if len(s) > 3 {
		return s
	}
	return "`" + s + "`"
}

// startsToken reports whether an ASCII byte may start a token or white space.
func (l *lexer) startsToken(c byte) bool {
	if classes[c] != 0 || singles[c] != EOF {
		return true
	}
	switch c {
	case '"', '\'', '{', '}', '/':
		return true
	case '&':
		return l.at(1) == '&'
	}
	return len(pairs[c]) > 0
}

// checkUTF8 reports the first byte that is not valid UTF-8.
func (l *lexer) checkUTF8() {
	if utf8.ValidString(l.src) {
		return
	}
	for i := 0; i < len(l.src); {
		r, n := utf8.DecodeRuneInString(l.src[i:])
		if r == utf8.RuneError && n <= 1 {
			l.report(diag.NotUTF8, i, i+1, "invalid UTF-8: byte 0x%02x", l.src[i]).
				Hint("save the file as UTF-8")
			return
		}
		i += n
	}
}
