package lexer

import "strings"

// labelAhead returns the length of the label at the current `'`, or 0 if the `'` starts a string. A
// label is allowed in three positions: directly after break or continue, at the start of a
// statement before `:` and a loop keyword, and before `: loop {` in any position, because `loop` is
// an expression with a value.
func (l *lexer) labelAhead() int {
	n := 1
	for classes[l.at(n)]&(isStart|isDigit) != 0 {
		n++
	}
	if n == 1 || classes[l.at(1)]&isDigit != 0 || l.at(n) == '\'' {
		return 0
	}
	word, rest := loopAhead(l.src[l.pos+n:])
	switch l.last() {
	case Break, Continue:
		return n
	case LBrace, RBrace, Semi, EOF:
		if word != "" {
			return n
		}
	}
	if word == "loop" && strings.HasPrefix(rest, "{") {
		return n
	}
	return 0
}

// loopAhead checks whether text starts with `:` and a loop keyword (for, while, loop). It returns
// the keyword and the text after the keyword, or "" for both.
func loopAhead(text string) (word, rest string) {
	text = strings.TrimLeft(text, blanks)
	if !strings.HasPrefix(text, ":") || strings.HasPrefix(text, "::") {
		return "", ""
	}
	text = strings.TrimLeft(text[1:], blanks)
	n := 0
	for n < len(text) && classes[text[n]]&(isStart|isDigit) != 0 {
		n++
	}
	switch word = text[:n]; word {
	case "for", "while", "loop":
		return word, strings.TrimLeft(text[n:], blanks)
	}
	return "", ""
}

const blanks = " \t\r\n"
