package jsonrepair

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// reader reads a text once and writes the corrected JSON.
type reader struct {
	text    string
	pos     int
	out     []byte
	repairs repairs
	// cut is true if the text ends inside a string or a member.
	cut  bool
	pace pace
}

// isAmbiguous reports whether the text could also have another meaning. If a value lacks its
// closing brackets, words without quotes and values without commas between them may be prose that
// follows the value.
func (r *reader) isAmbiguous() bool {
	n := &r.repairs.count
	return n[missingCloser] > 0 && n[bareWord]+n[missingComma] > 0
}

func (r *reader) rest() string { return r.text[r.pos:] }

// next skips white space and comments, and returns the next byte, or 0 at the end.
func (r *reader) next() byte {
	for r.pos < len(r.text) {
		s := r.rest()
		switch {
		case strings.IndexByte(" \t\r\n", s[0]) >= 0:
			r.pos++
		case strings.HasPrefix(s, "\u00a0"):
			r.pos += len("\u00a0")
		case strings.HasPrefix(s, "//"), s[0] == '#':
			r.repairs.note(comment)
			r.skipTo("\n")
		case strings.HasPrefix(s, "/*"):
			r.repairs.note(comment)
			r.skipTo("*/")
		case strings.HasPrefix(s, "..."): // "and so on"
			r.repairs.note(ellipsis)
			r.pos += len("...")
		default:
			return s[0]
		}
	}
	return 0
}

func (r *reader) skipTo(end string) {
	if i := strings.Index(r.rest(), end); i >= 0 {
		r.pos += i + len(end)
		return
	}
	r.pos = len(r.text)
}

func (r *reader) value(depth int) bool {
	if depth > maxDepth {
		return false
	}
	r.pace.step(4)
	switch c := r.next(); {
	case c == '{':
		return r.list(depth, '}')
	case c == '[':
		return r.list(depth, ']')
	case r.quote() != "":
		r.string()
		return true
	case c >= '0' && c <= '9', c == '-', c == '+', c == '.':
		return r.number()
	case c != 0 && wordLength(r.rest()) > 0:
		return r.word()
	}
	return false
}

// list reads an object or array. It stops at the closing bracket, at a closing bracket that does
// not match, or at the end of the text.
func (r *reader) list(depth int, closer byte) bool {
	r.out = append(r.out, r.text[r.pos])
	r.pos++
	var keys map[string]bool
	for n, commas := 0, 0; ; {
		end := r.pos
		c := r.next()
		switch {
		case c == ',':
			if commas++; commas > 1 || n == 0 {
				r.repairs.note(extraComma)
			}
			r.pos++
			continue
		case c == closer:
			r.pos++
			if commas == 1 && n > 0 {
				r.repairs.note(extraComma)
			}
			r.out = append(r.out, closer)
			return true
		case c == 0, c == '}', c == ']':
			// A closing bracket of an outer value also closes this value. It is not consumed, so
			// that the outer value reads it.
			r.repairs.note(missingCloser)
			r.out = append(r.out, closer)
			return true
		}
		if n > 0 {
			if commas == 0 {
				if r.pos == end {
					return false // ambiguous, such as "it's" in single quotes
				}
				r.repairs.note(missingComma)
			}
			r.out = append(r.out, ',')
		}
		commas = 0
		before := len(r.out)
		whole, ok := r.element(depth, closer, &keys)
		if !ok {
			return false
		}
		if !whole { // the text ends after the key
			r.cut = true
			r.repairs.note(unfinished)
			r.out = r.out[:before]
			if n > 0 {
				r.out = r.out[:before-1]
			}
			continue
		}
		n++
	}
}

// element reads a member or an element. whole is false if the text ends before the value of a
// member.
func (r *reader) element(depth int, closer byte, keys *map[string]bool) (whole, ok bool) {
	if closer == ']' {
		return true, r.value(depth + 1)
	}
	from := len(r.out)
	if !r.key() {
		return false, false
	}
	key := string(r.out[from:])
	switch r.next() {
	case 0:
		return false, true
	case ':':
		r.pos++
	case '=':
		r.repairs.note(arrow)
		r.pos++
		if strings.HasPrefix(r.rest(), ">") {
			r.pos++
		}
	default:
		return false, false
	}
	r.out = append(r.out, ':')
	if r.next() == 0 {
		return false, true
	}
	if *keys == nil {
		*keys = map[string]bool{}
	}
	if (*keys)[key] {
		r.repairs.twice = append(r.repairs.twice, key)
	}
	(*keys)[key] = true
	return true, r.value(depth + 1)
}

// key reads the name of a member: text in quotes, a word or a number.
func (r *reader) key() bool {
	if r.quote() != "" {
		r.string()
		return true
	}
	s := r.rest()
	n := wordLength(s)
	for n < len(s) && n < 32 && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n == 0 {
		return false
	}
	r.repairs.note(bareKey)
	r.pos += n
	r.write(s[:n])
	return true
}

// closers maps opening quotes to the corresponding closing quotes.
var closers = map[string]string{`"`: `"`, `'`: `'`, "`": "`", "“": "”", "”": "”", "‘": "’", "«": "»"}

// quote returns the opening quote at the current position, or "".
func (r *reader) quote() string {
	_, n := utf8.DecodeRuneInString(r.rest())
	q := r.text[r.pos : r.pos+n]
	if closers[q] == "" || strings.HasPrefix(r.rest(), "```") {
		return ""
	}
	return q
}

// string reads a string in quotes. The end of the text also ends the string.
func (r *reader) string() {
	q := r.quote()
	closer := closers[q]
	if q != `"` {
		r.repairs.note(otherQuotes)
	}
	r.pos += len(q)
	r.out = append(r.out, '"')
	for r.pos < len(r.text) {
		s := r.rest()
		if n := plainLength(s, closer[0]); n > 0 {
			r.out = append(r.out, s[:n]...)
			r.pos += n
			continue
		}
		switch c := s[0]; {
		case strings.HasPrefix(s, closer):
			r.pos += len(closer)
			r.out = append(r.out, '"')
			return
		case c == '\\':
			r.escape()
		case c == '"':
			r.out = append(r.out, `\"`...)
			r.pos++
		case c < 0x20:
			r.repairs.note(control)
			r.out = fmt.Appendf(r.out, `\u%04x`, c)
			r.pos++
		default:
			_, n := utf8.DecodeRuneInString(s)
			r.out = append(r.out, s[:n]...)
			r.pos += n
		}
	}
	r.cut = true
	r.out = append(r.out, '"')
}

// plainLength returns the length of the longest beginning of s that needs no escape in a JSON
// string and contains no quote that begins with the byte q.
func plainLength(s string, q byte) int {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == q || c == '"' || c == '\\' || c < 0x20 {
			return i
		}
	}
	return len(s)
}

// escape copies a valid JSON escape and corrects any other. It drops the backslash before a quote
// or `$`. It joins a line that ends with a backslash to the next line. Otherwise it writes the
// backslash as a character.
func (r *reader) escape() {
	s := r.rest()
	switch {
	case len(s) == 1: // the text ends after the backslash
		r.pos++
	case strings.IndexByte(`"\/bfnrt`, s[1]) >= 0:
		r.out = append(r.out, s[:2]...)
		r.pos += 2
	case s[1] == 'u' && len(s) >= 6 && isHex(s[2:6]):
		r.out = append(r.out, s[:6]...)
		r.pos += 6
	case s[1] == '\'' || s[1] == '`' || s[1] == '$':
		r.repairs.note(escaped)
		r.out = append(r.out, s[1])
		r.pos += 2
	case s[1] == '\n': // join this line to the next one
		r.repairs.note(escaped)
		r.pos += 2
	default:
		r.repairs.note(escaped)
		r.out = append(r.out, `\\`...)
		r.pos++
	}
}

func isHex(s string) bool {
	_, err := strconv.ParseUint(s, 16, 32)
	return err == nil
}

// number reads a JSON number. It also accepts common extensions: a plus sign, a missing digit
// before the decimal point, leading zeros, `_` between digits, and hexadecimal numbers.
func (r *reader) number() bool {
	s := r.rest()
	if inf := strings.TrimLeft(s, "+-"); strings.HasPrefix(inf, "Infinity") {
		r.pos += len(s) - len(inf)
		return r.word()
	}
	n := 0
	for n < len(s) && strings.IndexByte("+-.0123456789abcdefABCDEFxX_", s[n]) >= 0 {
		n++
	}
	text := strings.ReplaceAll(s[:n], "_", "")
	r.pos += n
	if n < len(s) && wordLength(s[n:]) > 0 {
		return false // text without quotes, such as "3rd" or "2024-01-01T00:00"
	}
	if json.Valid([]byte(text)) {
		r.out = append(r.out, text...)
		return true
	}
	if i, err := strconv.ParseInt(strings.TrimPrefix(text, "+"), 0, 64); err == nil && strings.ContainsAny(text, "xX") {
		r.repairs.note(numeral)
		r.out = strconv.AppendInt(r.out, i, 10)
		return true
	}
	if text == "-" || text == "" || strings.IndexByte("eE+-", text[len(text)-1]) >= 0 {
		return false
	}
	return r.plain(text)
}

// plain writes a decimal number with a corrected sign, leading zeros and decimal point.
func (r *reader) plain(text string) bool {
	sign := ""
	switch text[0] {
	case '-':
		sign, text = "-", text[1:]
	case '+':
		text = text[1:]
	}
	for len(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9' {
		text = text[1:]
	}
	if strings.HasPrefix(text, ".") {
		text = "0" + text
	}
	text = strings.Replace(text, ".e", ".0e", 1)
	if strings.HasSuffix(text, ".") {
		text += "0"
	}
	if !json.Valid([]byte(sign + text)) {
		return false
	}
	r.repairs.note(numeral)
	r.out = append(append(r.out, sign...), text...)
	return true
}

// word reads a literal, or text without quotes, which extends to a comma, a closing bracket or the
// end of the line.
func (r *reader) word() bool {
	s := r.rest()
	n := wordLength(s)
	if lit, ok := words[s[:n]]; ok {
		if lit != s[:n] {
			r.repairs.note(literal)
		}
		r.pos += n
		r.out = append(r.out, lit...)
		return true
	}
	end := strings.IndexAny(s, ",}]\n\"'`“”‘’{[:")
	if end < 0 || strings.IndexByte(",}]\n", s[end]) < 0 {
		return false // the text contains quotes, so its end is ambiguous
	}
	r.repairs.note(bareWord)
	r.pos += end
	r.write(strings.TrimSpace(s[:end]))
	return true
}

// write writes text as a JSON string.
func (r *reader) write(text string) {
	b, err := json.Marshal(text)
	if err != nil {
		panic("jsonrepair: a string has no JSON: " + err.Error())
	}
	r.out = append(r.out, b...)
}
