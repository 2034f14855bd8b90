package jsonrepair

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// Partial reads a value from a text while the text is still arriving, and passes the parts to a
// Builder. It tolerates the same errors as Find. It reads the first object or array of the text. It
// reads each byte once, except for the bytes of an incomplete token. It stops if the meaning
// depends on text that has not arrived; in this case the caller must use Find on the complete text.
type Partial struct {
	to   Builder
	rest string // received text that was not read yet
	open []level
	in   expectation
	over bool

	closer   string // closing quote of the current string
	key      strings.Builder
	remark   int  // number of open brackets in the current remark
	inRemark bool // the position is inside quotes in a remark
}

// Builder receives the parts of a value that a Partial reads, in the order of the text.
type Builder interface {
	// Open begins an object or array, which is the value of the last key or the next element. If it
	// returns false, because the value does not fit there, the Partial stops reading.
	Open(array bool) bool
	// Close ends the innermost object or array.
	Close()
	// Key begins a member with the given name. Its value follows.
	Key(name string)
	// Text begins a string with the text that has arrived, or extends the current string. done is
	// true if the string is complete.
	Text(more string, done bool)
	// Scalar adds a number, true, false or null. raw is its JSON.
	Scalar(raw string)
}

// level is an object or array that has not been closed.
type level struct {
	closer byte
	some   bool // the level has elements
	comma  bool // a comma follows the last element
	gap    bool // other text follows the last element
}

// expectation is the kind of token that is expected next.
type expectation uint8

const (
	expectStart   expectation = iota // opening bracket of the value
	expectElement                    // member or element, comma, or closing bracket
	expectKey
	expectKeyEnd // rest of a key
	expectColon
	expectValue
	expectText        // rest of a string
	expectRemarkClose // end of a remark in brackets
)

// maxToken is the maximum length of a number, a word or a key, in bytes.
const maxToken = 4096

// NewPartial returns a Partial that passes the parts to to.
func NewPartial(to Builder) *Partial { return &Partial{to: to} }

// Done reports whether the Partial has stopped reading, because the value is complete or because it
// cannot be read further.
func (p *Partial) Done() bool { return p.over }

// Write adds the next piece of the text.
func (p *Partial) Write(text string) {
	if p.over {
		return
	}
	p.rest += text
	for !p.over && p.rest != "" && p.step() {
	}
	if len(p.rest) > maxToken {
		p.over = true
	}
	if p.over {
		p.rest = ""
	}
}

// take consumes n bytes and returns true.
func (p *Partial) take(n int) bool {
	p.rest = p.rest[n:]
	return true
}

// end stops reading and returns false.
func (p *Partial) end() bool {
	p.over = true
	return false
}

// step reads the next token. It returns false if the token is incomplete.
func (p *Partial) step() bool {
	switch p.in {
	case expectStart:
		return p.start()
	case expectRemarkClose:
		return p.skipRemark()
	case expectText:
		return p.text()
	case expectKeyEnd:
		return p.keyText()
	}
	n, complete := blanks(p.rest)
	if n > 0 && len(p.open) > 0 {
		p.open[len(p.open)-1].gap = true
	}
	if p.take(n); !complete || p.rest == "" {
		return false
	}
	switch p.in {
	case expectKey:
		return p.beginKey()
	case expectColon:
		return p.colon()
	case expectValue:
		return p.value()
	}
	return p.element()
}

// blanks returns the length of white space and comments at the beginning of s. known is false if s
// ends where a comment may continue.
func blanks(s string) (n int, known bool) {
	for n < len(s) {
		t := s[n:]
		switch {
		case strings.IndexByte(" \t\r\n", t[0]) >= 0:
			n++
		case strings.HasPrefix(t, "\u00a0"):
			n += len("\u00a0")
		case t[0] == '#', strings.HasPrefix(t, "//"):
			i := strings.IndexByte(t, '\n')
			if i < 0 {
				return n, false
			}
			n += i
		case strings.HasPrefix(t, "/*"):
			i := strings.Index(t[2:], "*/")
			if i < 0 {
				return n, false
			}
			n += 2 + i + 2
		case strings.HasPrefix(t, "..."):
			n += len("...")
		default:
			return n, t != "/" && t != "." && t != ".."
		}
	}
	return n, true
}

// start searches for the opening bracket of the value.
func (p *Partial) start() bool {
	i := strings.IndexAny(p.rest, "{[")
	if i < 0 {
		p.rest = ""
		return false
	}
	p.take(i)
	if !leads(p.rest) {
		return false
	}
	if !begins(p.rest) {
		p.in, p.remark, p.inRemark = expectRemarkClose, 0, false
		return true
	}
	return p.openContainer()
}

// leads reports whether enough text has arrived to decide whether its bracket begins a value.
func leads(text string) bool {
	if len(text) >= maxLead {
		return true
	}
	at := 1
	for range 2 { // check the first token and, if it is a word, also the second
		n, complete := blanks(text[at:])
		if at += n; !complete || at == len(text) {
			return false
		}
		if n = wordLength(text[at:]); n == 0 {
			return true
		}
		if at += n; at == len(text) {
			return false
		}
	}
	return true
}

// skipRemark skips text until the end of a remark in brackets.
func (p *Partial) skipRemark() bool {
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			p.inRemark = !p.inRemark
		case p.inRemark:
		case c == '{' || c == '[':
			p.remark++
		case c == '}' || c == ']':
			if p.remark--; p.remark == 0 {
				p.in = expectStart
				return p.take(i + 1)
			}
		}
	}
	p.rest = ""
	return false
}

// openContainer opens the object or array at the current position.
func (p *Partial) openContainer() bool {
	array := p.rest[0] == '['
	if len(p.open) > maxDepth || !p.to.Open(array) {
		return p.end()
	}
	closer := byte('}')
	if array {
		closer = ']'
	}
	p.open = append(p.open, level{closer: closer})
	p.in = expectElement
	return p.take(1)
}

// element reads the next token of an object or array.
func (p *Partial) element() bool {
	l := &p.open[len(p.open)-1]
	switch c := p.rest[0]; {
	case c == ',':
		l.comma = true
		return p.take(1)
	case c == '}' || c == ']':
		// A closing bracket of an outer level also closes this level. It is not consumed, so that
		// the outer level reads it.
		p.to.Close()
		p.open = p.open[:len(p.open)-1]
		if len(p.open) == 0 {
			return p.end()
		}
		if p.endValue(); c == l.closer {
			p.take(1)
		}
		return true
	}
	if l.some && !l.comma && !l.gap {
		return p.end() // ambiguous, such as "it's" in single quotes
	}
	if l.some, l.comma = true, false; l.closer == ']' {
		p.in = expectValue
		return true
	}
	p.in = expectKey
	return true
}

// endValue records that a value has ended.
func (p *Partial) endValue() {
	p.in = expectElement
	p.open[len(p.open)-1].gap = false
}

// quote returns the quote at the beginning of s, or "". known is false if s may be the beginning of
// a fence.
func quote(s string) (q string, known bool) {
	if s == "`" || s == "``" {
		return "", false
	}
	return (&reader{text: s}).quote(), true
}

func (p *Partial) beginKey() bool {
	q, complete := quote(p.rest)
	if !complete {
		return false
	}
	if q != "" {
		p.key.Reset()
		p.closer, p.in = closers[q], expectKeyEnd
		return p.take(len(q))
	}
	n := wordLength(p.rest)
	for n < len(p.rest) && n < 32 && p.rest[n] >= '0' && p.rest[n] <= '9' {
		n++
	}
	switch {
	case n == len(p.rest):
		return false
	case n == 0:
		return p.end()
	}
	p.to.Key(p.rest[:n])
	p.in = expectColon
	return p.take(n)
}

// keyText reads more of a key in quotes.
func (p *Partial) keyText() bool {
	more, n, done := p.quoted()
	p.key.WriteString(more)
	if p.take(n); p.key.Len() > maxToken {
		return p.end()
	}
	if done {
		p.to.Key(p.key.String())
		p.in = expectColon
	}
	return done || n > 0
}

func (p *Partial) colon() bool {
	switch p.rest[0] {
	case ':':
		p.in = expectValue
		return p.take(1)
	case '=':
		if len(p.rest) == 1 {
			return false
		}
		p.in = expectValue
		if p.rest[1] == '>' {
			return p.take(2)
		}
		return p.take(1)
	}
	return p.end()
}

func (p *Partial) value() bool {
	c := p.rest[0]
	if c == '{' || c == '[' {
		return p.openContainer()
	}
	q, complete := quote(p.rest)
	switch {
	case !complete:
		return false
	case q != "":
		p.closer, p.in = closers[q], expectText
		p.take(len(q))
		p.to.Text("", false)
		return true
	case c >= '0' && c <= '9', c == '-', c == '+', c == '.':
		return p.number()
	case wordLength(p.rest) > 0:
		return p.word()
	}
	return p.end()
}

// number reads a number. It waits until the character after the number has arrived.
func (p *Partial) number() bool {
	n := 0
	for n < len(p.rest) && (strings.IndexByte("+-._", p.rest[n]) >= 0 || p.rest[n] >= '0' && p.rest[n] <= '9' || p.rest[n] >= 'a' && p.rest[n] <= 'z' || p.rest[n] >= 'A' && p.rest[n] <= 'Z') {
		n++
	}
	if n == len(p.rest) {
		return false
	}
	r := &reader{text: p.rest[:n]}
	if !r.value(0) || r.pos != n {
		return p.end()
	}
	p.to.Scalar(string(r.out))
	p.endValue()
	return p.take(n)
}

// word reads a literal, or text without quotes, which extends to a comma, a closing bracket or the
// end of the line.
func (p *Partial) word() bool {
	n := wordLength(p.rest)
	if n == len(p.rest) {
		return false
	}
	if lit, ok := words[p.rest[:n]]; ok {
		p.to.Scalar(lit)
		p.endValue()
		return p.take(n)
	}
	end := strings.IndexAny(p.rest, ",}]\n\"'`“”‘’{[:")
	if end < 0 {
		return false
	}
	r := &reader{text: p.rest[:end+1]}
	var text string
	if !r.word() || json.Unmarshal(r.out, &text) != nil {
		return p.end()
	}
	p.to.Text(text, true)
	p.endValue()
	return p.take(end)
}

// text reads more of a string.
func (p *Partial) text() bool {
	more, n, done := p.quoted()
	p.take(n)
	if more != "" || done {
		p.to.Text(more, done)
	}
	if done {
		p.endValue()
	}
	return done || n > 0
}

// quoted reads the available part of a string in quotes. It returns the content, the length in the
// source, and whether the closing quote follows.
func (p *Partial) quoted() (text string, n int, done bool) {
	s := p.rest
	plain := 0
	for plain < len(s) {
		plain += plainLength(s[plain:], p.closer[0])
		t := s[plain:]
		if t == "" || t[0] < utf8.RuneSelf || strings.HasPrefix(t, p.closer) || !utf8.FullRuneInString(t) {
			break
		}
		_, size := utf8.DecodeRuneInString(t)
		plain += size
	}
	plain -= utf8cut.Unfinished(s[:plain])
	if plain > 0 {
		return s[:plain], plain, false
	}
	switch {
	case s == "":
		return "", 0, false
	case strings.HasPrefix(s, p.closer):
		return "", len(p.closer), true
	case s[0] == '\\':
		text, n = p.escape(s)
		return text, n, false
	}
	if s[0] < utf8.RuneSelf { // a quote inside other quotes, or a control character
		return s[:1], 1, false
	}
	return "", 0, false // half a character
}

// simple maps the letter of a short escape to the escaped character.
var simple = map[byte]string{'"': `"`, '\\': `\`, '/': "/", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", '\'': "'", '`': "`", '$': "$", '\n': ""}

// escape reads an escape in the same way as reader.escape. n is 0 if the escape is incomplete.
func (p *Partial) escape(s string) (text string, n int) {
	if len(s) < 2 {
		return "", 0
	}
	if t, ok := simple[s[1]]; ok {
		return t, 2
	}
	if s[1] != 'u' {
		return `\`, 1
	}
	for n = 2; n < 6; n++ {
		if n == len(s) {
			return "", 0
		}
		if !isHex(s[n : n+1]) {
			return `\`, 1
		}
	}
	if pair := strings.ToLower(s[2:4]); pair >= "d8" && pair < "dc" { // with the half that follows
		switch {
		case len(s) < 12 && strings.HasPrefix(`\u`, s[6:min(8, len(s))]):
			return "", 0
		case len(s) < 12 && strings.HasPrefix(s[6:], `\u`) && isHex(s[8:]):
			return "", 0
		case len(s) >= 12 && s[6] == '\\' && s[7] == 'u' && isHex(s[8:12]):
			n = 12
		}
	}
	if json.Unmarshal([]byte(`"`+s[:n]+`"`), &text) != nil {
		panic("jsonrepair: an escape has no text: " + s[:n])
	}
	return text, n
}
