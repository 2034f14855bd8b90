package lexer

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// A string without its closing quote extends to the next quote. After that quote the lexer would
// read code as strings and strings as code. The lexer notices the error when a word directly
// follows a closing quote, or when the file ends within a string. It then goes back to the string
// that is most likely unterminated, ends this string on its first line and continues from there.
// Therefore one error causes one diagnostic, and the rest of the file is read correctly.

// snapshot is a state of the lexer that restore can return to: the position, the lengths of its
// lists, and the open interpolation.
type snapshot struct {
	pos, toks, comments, errs int
	mode                      *mode
	braces                    int
}

// maxRestarts is the maximum number of times that the lexer goes back in one file. It limits the
// lexing time.
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

// endsOnLaterLine checks the text after the closing quote of a string that spans several lines. A
// word cannot follow a string. If a word follows, the closing quote is really the opening quote of
// the next string, and the current string is unterminated. endsOnLaterLine then calls openString
// and returns true. After some other characters the string becomes a suspect: the lexer blames it
// if the file later ends within a string.
func (l *lexer) endsOnLaterLine(from snapshot, start int, whole Kind) bool {
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

// openString handles an unterminated string. It goes back to the string that contains the error,
// which is the current string or an earlier suspect.
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
	if quote == "'" && isLabelText(l.src[from.pos+1:]) {
		d.Hint("a label is only allowed before `for`, `while` or `loop`")
	} else {
		d.Repair(diag.UnsafeFix(diag.Insert(source.Pos(l.pos), quote), "Insert `%s`", quote), "close it with `%s`", quote)
	}
}

// isLabelText reports whether text looks like the name of a label and its colon.
func isLabelText(text string) bool {
	n := 0
	for n < len(text) && classes[text[n]]&(isStart|isDigit) != 0 {
		n++
	}
	return n > 0 && strings.HasPrefix(text[n:], ":")
}

// blameInterpolation handles an unterminated string in an interpolation that was opened on the same
// line and is still open. It goes back to the interpolation, because in `"${a"` the second quote
// starts no string. It returns false if there is no such interpolation.
func (l *lexer) blameInterpolation(from snapshot) bool {
	m := l.mode
	for m != nil && m != from.mode {
		m = m.from.mode
	}
	if m == nil {
		return false // no interpolation contains the string, or the interpolation has been closed
	}
	if strings.IndexByte(l.src[m.open.Start:from.pos], '\n') >= 0 {
		return false
	}
	l.reopenPlain(m)
	return true
}

// reopen handles interpolations that are open at the end of the file. It reads the string of the
// outermost interpolation again, with `${` as text. It returns false if no interpolation is open.
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
		Advise(diag.HintAdvice("close it with `}`, or write `\\${` to get the characters themselves").
			WithFix(diag.UnsafeFix(diag.Insert(source.Pos(l.holeEnd(m)), "}"), "Insert `}`")).
			WithFix(diag.UnsafeFix(diag.Insert(m.open.Start, `\`), "Write `\\${`")))
}

// holeEnd returns the assumed end of an unterminated interpolation: the position before the next
// quote of the same kind on the line, or else the end of the line.
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

// firstLineEnd returns the assumed end of an unterminated string: the end of the string's first
// line, without closing brackets and separators at the end of the line.
func (l *lexer) firstLineEnd(from int) int {
	end := len(l.src)
	if n := strings.IndexByte(l.src[from:], '\n'); n >= 0 {
		end = from + n
	}
	return from + len(strings.TrimRight(l.src[from:end], " \t\r,;)]}"))
}
