package secret

import (
	"slices"
	"strings"
	"unicode/utf16"
)

// The maximum number of backslashes and percent signs of an escaped character. A text may have been
// escaped several times: JSON then doubles the backslashes, and URLs encode each % as %25.
const (
	maxBackslashes = 15
	maxPercents    = 4
)

// shellQuotes are the forms of a quote inside a quoted text of a shell.
var shellQuotes = []string{`'\''`, `'"'"'`}

// matching is the state of a search for a form. After each unit there may be several possible ends,
// because an apparent escape may be plain text.
type matching struct {
	text string
	self int // number of backslashes that encode one backslash
	ends []int
	more bool // an encoding of the unit may continue after the end of the text
}

// match returns the furthest end of the form if it begins at offset i, otherwise -1. more means
// that the result depends on the text that follows.
func (x *form) match(text string, i int) (end int, more bool) {
	end = -1
	for self := 1; self <= maxBackslashes; self *= 2 {
		e, unsure := x.matchAs(text, i, self)
		end, more = max(end, e), more || unsure
		if !x.backslash {
			break
		}
	}
	return end, more
}

// matchAs is match for a text in which self backslashes encode one backslash.
func (x *form) matchAs(text string, i, self int) (end int, more bool) {
	var a, b [8]int
	now, next := append(a[:0], i), b[:0]
	m := matching{text: text, self: self}
	for k := range x.units {
		m.ends = next[:0]
		for _, p := range now {
			m.matchUnit(&x.units[k], p)
		}
		now, next = m.ends, now
		if len(now) == 0 {
			return -1, m.more
		}
	}
	end = slices.Max(now)
	if x.tail.bits > 0 {
		end = m.matchTail(x.tail, end)
	}
	return end, m.more
}

func (m *matching) add(end int) {
	if !slices.Contains(m.ends, end) {
		m.ends = append(m.ends, end)
	}
}

// matchUnit adds the ends of all encodings of u at offset p.
func (m *matching) matchUnit(u *unit, p int) {
	if p == len(m.text) {
		m.more = true
		return
	}
	switch u.raw {
	case `\`:
		m.matchBackslashes(p)
	case "'":
		for _, quoted := range shellQuotes {
			if strings.HasPrefix(m.text[p:], quoted) {
				m.add(p + len(quoted))
			}
			m.more = m.more || strings.HasPrefix(quoted, m.text[p:])
		}
		m.matchLiteral(u, p)
	default:
		m.matchLiteral(u, p)
	}
	switch m.text[p] {
	case '\\':
		m.matchEscaped(u, p)
	case '%':
		if end, ok := m.matchPercents(u.raw, p); ok {
			m.add(end)
		}
	}
}

// matchLiteral adds the end of u without escapes.
func (m *matching) matchLiteral(u *unit, p int) {
	left := m.text[p:]
	switch {
	case strings.HasPrefix(left, u.raw):
		m.add(p + len(u.raw))
	case len(left) < len(u.raw) && strings.HasPrefix(u.raw, left):
		m.more = true
	case u.alt != 0 && left[0] == u.alt, u.raw == " " && left[0] == '+':
		m.add(p + 1)
	}
}

// short contains the characters that JSON escapes with a backslash and a letter.
var short = map[byte]string{'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t"}

// matchBackslashes adds the ends of a backslash at offset p.
func (m *matching) matchBackslashes(p int) {
	for n := range m.self {
		if p+n == len(m.text) {
			m.more = true
			return
		}
		if m.text[p+n] != '\\' {
			return
		}
	}
	m.add(p + m.self)
}

// matchEscaped adds the ends of u after backslashes, in JSON that may have been escaped several
// times. Backslashes before a character that needs no escape belong to the match.
func (m *matching) matchEscaped(u *unit, p int) {
	q := p
	for q < len(m.text) && m.text[q] == '\\' && q-p < maxBackslashes {
		q++
	}
	if q == len(m.text) {
		m.more = true
		return
	}
	if u.raw != `\` {
		m.matchLiteral(u, q)
	}
	switch c := m.text[q]; {
	case c == 'u':
		m.matchHex(u, q+1)
	case short[c] == u.raw:
		m.add(q + 1)
	}
}

// matchHex adds the end of u encoded as \u and hexadecimal digits, or as a surrogate pair.
func (m *matching) matchHex(u *unit, p int) {
	if u.r < 0 {
		return
	}
	if u.r < 0x10000 {
		if end, ok := m.matchDigits(uint32(u.r), 4, p); ok {
			m.add(end)
		}
		return
	}
	high, low := utf16.EncodeRune(u.r)
	q, ok := m.matchDigits(uint32(high), 4, p)
	if !ok {
		return
	}
	for from := q; q < len(m.text) && m.text[q] == '\\' && q-from < maxBackslashes; {
		q++
	}
	switch {
	case q == len(m.text):
		m.more = true
	case m.text[q] == 'u':
		if end, ok := m.matchDigits(uint32(low), 4, q+1); ok {
			m.add(end)
		}
	}
}

// matchDigits matches the number v as n hexadecimal digits in either case.
func (m *matching) matchDigits(v uint32, n, p int) (end int, ok bool) {
	for i := n - 1; i >= 0; i-- {
		if p == len(m.text) {
			m.more = true
			return 0, false
		}
		d := byte(v >> (4 * i) & 15)
		if c := m.text[p]; c != "0123456789abcdef"[d] && c != "0123456789ABCDEF"[d] {
			return 0, false
		}
		p++
	}
	return p, true
}

// matchPercents matches the bytes of raw in URL encoding.
func (m *matching) matchPercents(raw string, p int) (end int, ok bool) {
	for i := range len(raw) {
		if p == len(m.text) {
			m.more = true
			return 0, false
		}
		if m.text[p] != '%' {
			return 0, false
		}
		if p, ok = m.matchPercent(raw[i], p+1); !ok {
			return 0, false
		}
	}
	return p, true
}

// matchPercent matches the digits of a byte after %, which may have been escaped again.
func (m *matching) matchPercent(b byte, p int) (end int, ok bool) {
	for range maxPercents {
		if end, ok := m.matchDigits(uint32(b), 2, p); ok {
			return end, true
		}
		if p, ok = m.matchDigits('%', 2, p); !ok {
			return 0, false
		}
	}
	return 0, false
}

// matchTail matches the last character of base64 that depends on the secret.
func (m *matching) matchTail(t tail, p int) int {
	if p == len(m.text) {
		m.more = true
		return p
	}
	i := strings.IndexByte(standard, m.text[p])
	if i < 0 {
		i = strings.IndexByte(urlSafe, m.text[p])
	}
	if i < 0 || byte(i>>(6-t.bits)) != t.are {
		return p
	}
	p++
	pad := unit{raw: "=", r: '='}
	for range 2 {
		m.ends = m.ends[:0]
		if m.matchUnit(&pad, p); len(m.ends) == 0 {
			break
		}
		p = slices.Max(m.ends)
	}
	return p
}
