package lexer

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// A string without its closing quote extends to the next quote; from there on,
// code and strings have changed places. This is noticed when a word follows
// directly after a closing quote, or at the end of the file. The lexer then goes
// back to the string that is most likely unclosed, ends it on its own line and
// continues from there. So there is one diagnostic for one mistake, and the rest
// of the file is read as it was meant.

// snapshot is a state to go back to.
type snapshot struct {
	pos, toks, comments, errs int
	mode                      *mode
	braces                    int
}

// maxRestarts bounds how often a file is read again, and so the time it takes.
const maxRestarts = 64

func (l *lexer) snapshot() snapshot {
	return snapshot{l.pos, len(l.toks), len(l.comments), len(l.errs), l.mode, l.braces}
}

func (l *lexer) restore(s snapshot) {
	l.pos, l.mode, l.braces = s.pos, s.mode, s.braces
	l.toks, l.comments, l.errs = l.toks[:s.toks], l.comments[:s.comments], l.errs[:s.errs]
	l.suspect, l.badNames = nil, nil
	l.restarts++
}

// endsLate looks at what follows the closing quote of a string of several lines.
// A word cannot follow a string. When one does, the quote was meant to open the
// next string, and this one is never closed: endsLate calls openString and gives
// true. A few other characters make the string a suspect, for the case that a
// quote turns out to be missing at the end of the file.
func (l *lexer) endsLate(from snapshot, start int, whole Kind) bool {
	c := l.at(0)
	if (classes[c]&(isStart|isDigit) != 0 || c == '"') && l.restarts < maxRestarts {
		l.openString(from, start, whole)
		return true
	}
	if l.suspect == nil && c != 0 && strings.IndexByte(`/\$#{:`, c) >= 0 {
		l.suspect = &from
	}
	return false
}

// openString handles a string that is never closed. It goes back to the string
// that is to blame: this one or an earlier suspect.
func (l *lexer) openString(from snapshot, start int, whole Kind) {
	if l.restarts >= maxRestarts {
		l.add(whole, start)
		l.report(diag.OpenString, from.pos, from.pos+1, "unterminated string")
		return
	}
	if l.suspect != nil {
		from = *l.suspect
	}
	if l.blameInterpolation(from) {
		return
	}
	l.restore(from)
	quote := l.src[from.pos : from.pos+1]
	if strings.HasPrefix(l.src[from.pos:], tripleQuote) {
		quote = tripleQuote
	}
	l.pos = l.firstLineEnd(from.pos + len(quote))
	l.add(String, from.pos)
	d := l.report(diag.OpenString, from.pos, from.pos+len(quote), "unterminated string")
	if quote == "'" && labelled(l.src[from.pos+1:]) {
		d.Hint("a label is only allowed before `for`, `while` or `loop`")
	} else {
		d.Repair(diag.Offer(diag.Insert(source.Pos(l.pos), quote), "Insert `%s`", quote), "close it with `%s`", quote)
	}
}

// labelled says whether text reads as the name of a label and its colon.
func labelled(text string) bool {
	n := 0
	for n < len(text) && classes[text[n]]&(isStart|isDigit) != 0 {
		n++
	}
	return n > 0 && strings.HasPrefix(text[n:], ":")
}

// blameInterpolation goes back to an interpolation that was opened before the
// unclosed string on the same line and is still open: in `"${a"` the second
// quote opens no string.
func (l *lexer) blameInterpolation(from snapshot) bool {
	m := l.mode
	for m != nil && m != from.mode {
		m = m.from.mode
	}
	if m == nil {
		return false // the string stands in none, or in one that is closed by now
	}
	if strings.IndexByte(l.src[m.open.Start:from.pos], '\n') >= 0 {
		return false
	}
	l.reopenPlain(m)
	return true
}

// reopen handles interpolations that are open at the end of the file: the string
// of the outermost one is read again, with `${` as text. It gives false when
// none is open.
func (l *lexer) reopen() bool {
	if l.mode == nil {
		return false
	}
	m := l.mode
	for m.from.mode != nil {
		m = m.from.mode
	}
	if l.restarts >= maxRestarts {
		l.mode = nil
		l.report(diag.OpenInterpolation, int(m.open.Start), int(m.open.End), "unterminated interpolation")
		return false
	}
	l.reopenPlain(m)
	return true
}

func (l *lexer) reopenPlain(m *mode) {
	l.restore(m.from)
	l.plainAt = m.from.pos
	l.report(diag.OpenInterpolation, int(m.open.Start), int(m.open.End), "unterminated interpolation").
		Advise(diag.Say("close it with `}`, or write `\\${` to get the characters themselves").
			By(diag.Offer(diag.Insert(source.Pos(l.holeEnd(m)), "}"), "Insert `}`")).
			By(diag.Offer(diag.Insert(m.open.Start, `\`), "Write `\\${`")))
}

// holeEnd is where an interpolation without its end is taken to end: before the string's next quote,
// else at its line's end.
func (l *lexer) holeEnd(m *mode) int {
	end := l.firstLineEnd(int(m.open.End))
	quote := `"`
	if m.multi {
		quote = tripleQuote
	}
	if n := strings.Index(l.src[m.open.End:end], quote); n >= 0 {
		return int(m.open.End) + n
	}
	return end
}

// firstLineEnd is the offset where an unclosed string is taken to end: on its
// first line, before brackets and separators at the line's end.
func (l *lexer) firstLineEnd(from int) int {
	end := len(l.src)
	if n := strings.IndexByte(l.src[from:], '\n'); n >= 0 {
		end = from + n
	}
	return from + len(strings.TrimRight(l.src[from:end], " \t\r,;)]}"))
}
