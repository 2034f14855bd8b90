package lexer

import (
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

const tripleQuote = `"""`

// doubleQuoted reads a string in double quotes, `"…"` or `"""…"""`. It stops at the end of the
// string or after the first `${`.
func (l *lexer) doubleQuoted() {
	from := l.snapshot()
	multi := strings.HasPrefix(l.src[l.pos:], tripleQuote)
	if multi {
		l.pos += 3
	} else {
		l.pos++
	}
	l.stringText(from, multi, String, StringHead)
}

// resume continues a string after the `}` of an interpolation.
func (l *lexer) resume() {
	m := l.mode
	l.mode, l.braces = m.from.mode, m.from.braces
	start := l.pos
	l.pos++
	l.stringTextFrom(m.from, start, m.multi, StringTail, StringMid)
}

func (l *lexer) stringText(from snapshot, multi bool, whole, part Kind) {
	l.stringTextFrom(from, from.pos, multi, whole, part)
}

// stringTextFrom reads string text from the current position. It adds a token of kind whole if the
// string ends, or of kind part if an interpolation opens. from is the state at the string's first
// quote. start is the offset of the token's first byte.
func (l *lexer) stringTextFrom(from snapshot, start int, multi bool, whole, part Kind) {
	lines := false
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == '"' && !multi, c == '"' && strings.HasPrefix(l.src[l.pos:], tripleQuote):
			if multi {
				l.pos += 3
			} else {
				l.pos++
			}
			if lines && !multi && l.endsOnLaterLine(from, start, whole) {
				return
			}
			l.add(whole, start)
			return
		case c == '\\':
			l.checkEscape()
		case c == '$' && l.at(1) == '{' && l.plainAt != from.pos:
			open := source.Span{Start: source.Pos(l.pos), End: source.Pos(l.pos + 2)}
			l.pos += 2
			l.add(part, start)
			l.mode, l.braces = &mode{multi: multi, from: from, open: open}, 0
			return
		default:
			if c == '\n' {
				if l.plainAt == from.pos && !multi {
					l.pos = max(l.firstLineEnd(from.pos), start+1)
					l.add(whole, start)
					return
				}
				lines = true
			}
			l.pos++
		}
	}
	l.openString(from, start, whole)
}

// singleQuoted reads a token that starts with `'`. The token is a label if a label is allowed here,
// and otherwise a string without interpolation.
func (l *lexer) singleQuoted() {
	if n := l.labelAhead(); n > 0 {
		start := l.pos
		l.pos += n
		l.add(Label, start)
		return
	}
	from := l.snapshot()
	l.pos++
	var apostrophes []int
	for lines := false; l.pos < len(l.src); {
		switch l.src[l.pos] {
		case '\'':
			if !lines && l.isApostrophe() {
				apostrophes = append(apostrophes, l.pos)
				l.pos++
				continue
			}
			l.pos++
			if len(apostrophes) > 0 {
				l.reportApostrophe(from.pos, apostrophes)
			}
			if lines && l.endsOnLaterLine(from, from.pos, String) {
				return
			}
			l.add(String, from.pos)
			return
		case '\\':
			l.checkEscape()
		case '\n':
			lines = true
			l.pos++
		default:
			l.pos++
		}
	}
	l.openString(from, from.pos, String)
}

// isApostrophe reports whether the current `'` is a character of the string, as in `'it's'`, and
// not its closing quote. This is the case if the `'` is between two letters and another `'` follows
// on the same line, because a word cannot directly follow a string.
func (l *lexer) isApostrophe() bool {
	rest := l.src[l.pos+1:]
	letter := func(c byte) bool { return classes[c]&isStart != 0 || c >= utf8.RuneSelf }
	if rest == "" || !letter(l.src[l.pos-1]) || !letter(rest[0]) {
		return false
	}
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		rest = rest[:n]
	}
	return strings.IndexByte(rest, '\'') >= 0
}

// reportApostrophe reports the first of the apostrophes at the offsets at.
func (l *lexer) reportApostrophe(start int, at []int) {
	d := l.report(diag.Apostrophe, at[0], at[0]+1, "this `'` ends the string in the middle of a word")
	if text := l.src[start+1 : l.pos-1]; len(text) <= 40 && !strings.ContainsAny(text, "\"\\$") {
		quotes := []diag.Edit{diag.Replace(span(start, start+1), `"`), diag.Replace(span(l.pos-1, l.pos), `"`)}
		d.Repair(diag.Fix{Title: "Use double quotes", Safe: true, Edits: quotes}, "use double quotes: `\"%s\"`", text)
	} else {
		escape := diag.Fix{Title: "Write `\\'` for the apostrophe"}
		for _, n := range at {
			escape.Edits = append(escape.Edits, diag.Insert(source.Pos(n), `\`))
		}
		d.Repair(escape, "write `\\'` for an apostrophe, or put the string in double quotes")
	}
}

// rawAhead reports whether a raw string starts here, with `r"` or `r#"`.
func (l *lexer) rawAhead() bool {
	n := 1
	for l.at(n) == '#' {
		n++
	}
	return l.at(n) == '"'
}

// rawString reads r"…" and r#"…"# with any number of #.
func (l *lexer) rawString() {
	start := l.pos
	n := strings.IndexByte(l.src[start:], '"') - 1 // hashes
	end := `"` + l.src[start+1:start+1+n]
	body := start + n + 2
	i := strings.Index(l.src[body:], end)
	if i < 0 {
		l.pos = l.firstLineEnd(start)
		l.add(String, start)
		l.report(diag.OpenString, start, body, "unterminated raw string").
			Repair(diag.UnsafeFix(diag.Insert(source.Pos(l.pos), end), "Insert `%s`", end), "close it with `%s`", end)
		return
	}
	l.pos = body + i + len(end)
	l.add(String, start)
}

// checkEscape skips one escape sequence. It reports an unknown escape sequence.
func (l *lexer) checkEscape() {
	_, n, ok := unescape(l.src[l.pos:])
	if !ok {
		d := l.report(diag.BadEscape, l.pos, l.pos+n, "unknown escape sequence `%s`", l.src[l.pos:l.pos+n])
		if n >= 2 && l.src[l.pos+1] == 'u' {
			d.Hint("write \\u{…} with one to six hexadecimal digits of a Unicode character")
		} else {
			d.Repair(diag.UnsafeFix(diag.Insert(source.Pos(l.pos), `\`), "Insert `\\`"), "write `\\\\` for a backslash; the escape sequences are \\\\ \\\" \\' \\n \\r \\t \\0 \\$ \\u{…}")
		}
	}
	l.pos += n
}

// unescape decodes the escape sequence at the start of s. It returns the character and the length
// of the sequence, which is at least 1. ok is false for an unknown escape sequence.
func unescape(s string) (r rune, n int, ok bool) {
	if len(s) < 2 {
		return '\\', 1, false
	}
	switch s[1] {
	case '\\', '"', '\'', '$':
		return rune(s[1]), 2, true
	case 'n':
		return '\n', 2, true
	case 'r':
		return '\r', 2, true
	case 't':
		return '\t', 2, true
	case '0':
		return 0, 2, true
	case 'u':
		return unescapeUnicode(s)
	case '\n':
		return '\\', 1, false
	}
	_, n = utf8.DecodeRuneInString(s[1:])
	return '\\', 1 + n, false
}

// unescapeUnicode decodes \u{…}.
func unescapeUnicode(s string) (r rune, n int, ok bool) {
	if len(s) < 3 || s[2] != '{' {
		return '\\', 2, false
	}
	n = 3
	for n < len(s) && digitOf(s[n]) < 16 {
		if n < 9 {
			r = r<<4 | rune(digitOf(s[n]))
		}
		n++
	}
	if n == len(s) || s[n] != '}' {
		return '\\', n, false
	}
	n++
	if n < 5 || n > 10 || !utf8.ValidRune(r) {
		return '\\', n, false
	}
	return r, n, true
}

// Strings decodes a string literal from its tokens: one String, or a StringHead, any number of
// StringMid and a StringTail. It returns the text of each token. Invalid escape sequences, which
// Lex has reported, stay unchanged. A line end in a string becomes a line feed, also in a file with
// CRLF.
func Strings(src string, toks ...Token) []string {
	texts := make([]string, len(toks))
	first := src[toks[0].Start:]
	multi := toks[0].Kind != String && strings.HasPrefix(first, tripleQuote)
	for i, t := range toks {
		texts[i] = body(src[t.Start:t.End], t.Kind, multi)
	}
	if multi {
		dedent(texts)
	}
	for i := range texts {
		texts[i] = decode(texts[i])
	}
	return texts
}

// StringValue decodes a String token's text.
func StringValue(text string) string {
	switch {
	case text[0] == 'r':
		n := strings.IndexByte(text, '"')
		text = strings.TrimSuffix(text[n+1:], `"`+text[1:n])
		return strings.ReplaceAll(text, "\r\n", "\n")
	case len(text) >= 6 && text[:3] == tripleQuote:
		parts := []string{body(text, String, true)}
		dedent(parts)
		return decode(parts[0])
	}
	return decode(body(text, String, false))
}

// body removes a token's delimiters.
func body(text string, k Kind, multi bool) string {
	quote := text[:1]
	if multi || k != String {
		quote = `"`
	}
	if multi {
		quote = tripleQuote
	}
	switch k {
	case String, StringHead:
		text = strings.TrimPrefix(text, quote)
	default:
		text = text[1:] // closing brace of an interpolation
	}
	if k == StringHead || k == StringMid {
		return text[:len(text)-2] // opening `${` of an interpolation
	}
	return strings.TrimSuffix(text, quote)
}

// dedent removes the layout from the parts of a """ string. It removes the line end after the
// opening quotes. If the closing quotes are on a line without other text, dedent also removes the
// line end before this line, and the line's indentation from every line.
func dedent(parts []string) {
	parts[0] = strings.TrimPrefix(strings.TrimPrefix(parts[0], "\r"), "\n")
	last := &parts[len(parts)-1]
	cut := strings.LastIndexByte(*last, '\n')
	alone := cut >= 0 || len(parts) == 1 // the line end after the opening quotes is already removed
	indent := (*last)[cut+1:]
	if !alone || strings.Trim(indent, " \t") != "" {
		return
	}
	*last = strings.TrimSuffix((*last)[:max(cut, 0)], "\r")
	if indent == "" {
		return
	}
	for i := range parts {
		parts[i] = stripLines(parts[i], indent, i == 0)
	}
}

// stripLines removes indent from each line that starts in text. text itself starts a line if
// atStart is set. From a line with less indentation, stripLines removes only the common prefix.
func stripLines(text, indent string, atStart bool) string {
	if !atStart && !strings.Contains(text, "\n") {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if i == 0 && !atStart {
			continue
		}
		n := 0
		for n < len(indent) && n < len(line) && line[n] == indent[n] {
			n++
		}
		lines[i] = line[n:]
	}
	return strings.Join(lines, "")
}

// decode replaces escape sequences with their characters, and CRLF with a line feed.
func decode(text string) string {
	i := strings.IndexAny(text, "\\\r")
	if i < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i >= 0 {
		b.WriteString(text[:i])
		text = text[i:]
		if text[0] == '\r' {
			if !strings.HasPrefix(text, "\r\n") {
				b.WriteByte('\r')
			}
			text = text[1:]
		} else if r, n, ok := unescape(text); ok {
			b.WriteRune(r)
			text = text[n:]
		} else {
			b.WriteString(text[:n])
			text = text[n:]
		}
		i = strings.IndexAny(text, "\\\r")
	}
	b.WriteString(text)
	return b.String()
}
