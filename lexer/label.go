package lexer

import "strings"

// labelAhead is the length of the label at the current `'`, 0 when a string
// starts there. A label stands right after break and continue, or at the
// start of a statement before `:` and a loop's word.
func (l *lexer) labelAhead() int {
	n := 1
	for classes[l.at(n)]&(isStart|isDigit) != 0 {
		n++
	}
	if n == 1 || classes[l.at(1)]&isDigit != 0 || l.at(n) == '\'' {
		return 0
	}
	switch l.last() {
	case Break, Continue:
		return n
	case LBrace, RBrace, Semi, EOF:
		if loopAhead(l.src[l.pos+n:]) {
			return n
		}
	}
	return 0
}

// loopAhead says whether text goes on with `:` and for, while or loop.
func loopAhead(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	if !strings.HasPrefix(text, ":") || strings.HasPrefix(text, "::") {
		return false
	}
	text = strings.TrimLeft(text[1:], " \t\r\n")
	n := 0
	for n < len(text) && classes[text[n]]&(isStart|isDigit) != 0 {
		n++
	}
	return text[:n] == "for" || text[:n] == "while" || text[:n] == "loop"
}
