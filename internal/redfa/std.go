package redfa

import (
	"io"
	"regexp"
	"unicode/utf8"
)

// Searches by package regexp. It searches a string without a pause, so long
// texts are given to it character by character.

// stretch is the number of characters between two calls of step, and the length
// up to which package regexp searches a text as a string.
const stretch = 1 << 12

// runes reads a text by its characters.
type runes struct {
	text string
	at   int
	next int // when step is called again
	step func(n int)
}

// ReadRune is io.RuneReader's.
func (x *runes) ReadRune() (r rune, size int, err error) {
	if x.at >= x.next {
		x.step(16 * stretch) // it takes so much longer than an automaton
		x.next = x.at + stretch
	}
	if x.at == len(x.text) {
		return 0, 0, io.EOF
	}
	r, size = utf8.DecodeRuneInString(x.text[x.at:])
	x.at += size
	return r, size, nil
}

// stdNext gives the leftmost match from pos on, with its groups; nil without one.
func (r *Regexp) stdNext(text string, pos int, step func(n int)) []int {
	if pos == 0 {
		if len(text) <= stretch {
			return r.std.FindStringSubmatchIndex(text)
		}
		return r.std.FindReaderSubmatchIndex(&runes{text: text, step: step})
	}
	_, width := utf8.DecodeLastRuneInString(text[:pos])
	from := pos - width
	m := r.behind().FindReaderSubmatchIndex(&runes{text: text, at: from, next: from, step: step})
	if m == nil {
		return nil
	}
	m = m[2:]
	for i := range m {
		if m[i] >= 0 {
			m[i] += from
		}
	}
	return m
}

// behind is the expression as a group after one character and any text. So
// package regexp searches from a position on and still sees the character before
// it. It is nil when that expression is too large.
func (r *Regexp) behind() *regexp.Regexp {
	r.behindOnce.Do(func() { r.behindOne, _ = regexp.Compile(`\A(?s:.)(?s:.*?)(` + r.std.String() + `)`) })
	return r.behindOne
}

// rest finds the remaining matches, from pos on, with package regexp. last is
// the end of the match before.
func (r *Regexp) rest(text string, pos, last, n int, groups bool, step func(n int), found func([]int)) {
	if len(text) <= stretch || r.behind() == nil {
		r.restOfShort(text, pos, last, n, groups, found)
		return
	}
	for n != 0 && pos <= len(text) {
		m := r.stdNext(text, pos, step)
		if m == nil {
			return
		}
		accept := true
		if m[1] == pos { // an empty one, not right behind another
			accept = m[0] != last
			_, width := utf8.DecodeRuneInString(text[pos:])
			pos += max(width, 1)
		} else {
			pos = m[1]
		}
		if last = m[1]; accept {
			n--
			if !groups {
				m = m[:2]
			}
			found(m)
		}
		if r.forward == nil {
			return // it matches at the beginning alone
		}
	}
}

// restOfShort is rest of a short text.
func (r *Regexp) restOfShort(text string, pos, last, n int, groups bool, found func([]int)) {
	for _, m := range r.std.FindAllStringSubmatchIndex(text, -1) {
		if n == 0 {
			return
		}
		if m[0] < pos || m[0] == m[1] && m[0] == last || m[1] <= last {
			continue
		}
		n--
		if !groups {
			m = m[:2]
		}
		found(m)
	}
}
