package lexer

import (
	"math"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
)

// number reads an integer or a float. Directly after a `.` it reads only digits, because `t.0.1`
// contains two indices and no float.
func (l *lexer) number() {
	start := l.pos
	if l.last() == Dot {
		l.digits(10)
		l.finishNumber(Int, start)
		return
	}
	if l.src[l.pos] == '0' {
		if base := baseOf(l.at(1)); base != 10 {
			l.pos += 2
			l.digits(base)
			l.finishNumber(Int, start)
			return
		}
	}
	kind := Int
	l.digits(10)
	if l.at(0) == '.' && classes[l.at(1)]&isDigit != 0 {
		kind = Float
		l.pos++
		l.digits(10)
	}
	if l.exponent() {
		kind = Float
	}
	l.finishNumber(kind, start)
}

// baseOf returns the base that the letter after a leading 0 selects.
func baseOf(c byte) int {
	switch c {
	case 'x', 'X':
		return 16
	case 'o', 'O':
		return 8
	case 'b', 'B':
		return 2
	}
	return 10
}

func (l *lexer) digits(base int) {
	for l.pos < len(l.src) && (l.src[l.pos] == '_' || digitOf(l.src[l.pos]) < base) {
		l.pos++
	}
}

func digitOf(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return 99
}

// exponent reads an exponent such as `e10` or `E-3`. It returns false if no exponent follows.
func (l *lexer) exponent() bool {
	if c := l.at(0); c != 'e' && c != 'E' {
		return false
	}
	n := 1
	if c := l.at(1); c == '+' || c == '-' {
		n = 2
	}
	if classes[l.at(n)]&isDigit == 0 {
		return false
	}
	l.pos += n
	l.digits(10)
	return true
}

// finishNumber adds the token of a number and reports errors in the number. Letters and digits
// directly after the number are part of the same error.
func (l *lexer) finishNumber(k Kind, start int) {
	body := l.src[start:l.pos]
	rest := l.pos
	for l.pos < len(l.src) && classes[l.src[l.pos]]&(isStart|isDigit) != 0 {
		l.pos++
	}
	l.add(k, start)
	text := l.src[start:l.pos]
	prefix := len(body) >= 2 && baseOf(body[1]) != 10
	switch {
	case l.pos > rest && prefix:
		l.report(diag.BadNumber, start, l.pos, "invalid number `%s`: `%c` is not a digit of base %d", text, l.src[rest], baseOf(body[1]))
	case l.pos > rest:
		l.report(diag.BadNumber, start, l.pos, "invalid number `%s`", text).
			Hint("a name cannot start with a digit; put a space between a number and a word")
	case prefix && strings.Trim(body[2:], "_") == "":
		l.report(diag.BadNumber, start, l.pos, "invalid number `%s`: no digits after the prefix", text)
	case !cleanUnderscores(text):
		l.report(diag.BadNumber, start, l.pos, "`_` is only allowed between digits")
	case k == Float && math.IsInf(FloatValue(text), 0):
		l.report(diag.BadNumber, start, l.pos, "`%s` is too large for a Float", text).
			Hint("the largest Float is about 1.8e308")
	}
}

// cleanUnderscores reports whether each `_` is between two digits or between the base's letter and
// a digit.
func cleanUnderscores(text string) bool {
	for i := range len(text) {
		if text[i] == '_' && (i+1 == len(text) || text[i+1] != '_' && digitOf(text[i+1]) > 15) {
			return false
		}
		if i > 0 && text[i-1] == '.' && text[i] == '_' {
			return false
		}
	}
	return true
}

// IntValue returns the value of an Int token's text. overflow reports that the number does not fit
// into 64 bits. The value of an overflow or an invalid text is 0.
func IntValue(text string) (v uint64, overflow bool) {
	base := 10
	if len(text) > 2 && text[0] == '0' {
		if base = baseOf(text[1]); base != 10 {
			text = text[2:]
		}
	}
	for i := range len(text) {
		c := text[i]
		if c == '_' {
			continue
		}
		d := digitOf(c)
		if d >= base {
			return 0, false
		}
		if v > (math.MaxUint64-uint64(d))/uint64(base) {
			return 0, true
		}
		v = v*uint64(base) + uint64(d)
	}
	return v, false
}

// FloatValue returns the value of a Float token's text. The value is +Inf if the number is out of
// range, and 0 if the text is invalid.
func FloatValue(text string) float64 {
	if strings.Contains(text, "_") {
		text = strings.ReplaceAll(text, "_", "")
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(v, 0) {
		return 0
	}
	return v
}
