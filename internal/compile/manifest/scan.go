package manifest

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// node is a table, an array or a scalar in the text, with its position. It does not contain the
// value, which the decoder determines.
type node struct {
	name     string // key, or "" for an element of an array
	key      source.Span
	value    source.Span
	kind     nodeKind
	children []*node // members of a table in the order of the file, or elements of an array
	index    map[string]*node
}

type nodeKind uint8

const (
	scalar nodeKind = iota
	table
	array
)

// child returns the member of a table with the given name, or nil.
func (n *node) child(name string) *node { return n.index[name] }

// members returns the members of a table, and nil if there is no node.
func (n *node) members() []*node {
	if n == nil {
		return nil
	}
	return n.children
}

// add adds a member to a table or an element to an array.
func (n *node) add(c *node) *node {
	n.children = append(n.children, c)
	if n.kind == table {
		if n.index == nil {
			n.index = map[string]*node{}
		}
		n.index[c.name] = c
	}
	return c
}

// scan finds the position of each key and value in a text that tomlkeys.Decode has accepted.
func scan(text []byte) *node {
	s := &scanner{text: text, root: &node{kind: table}}
	s.file()
	return s.root
}

type scanner struct {
	text []byte
	pos  int
	root *node
}

// part is one name in a dotted key.
type part struct {
	name string
	span source.Span
}

func (s *scanner) file() {
	current := s.root
	for {
		s.blank()
		switch {
		case s.pos >= len(s.text):
			return
		case s.peek("[["):
			s.pos += 2
			current = s.element(s.path())
			s.pos += 2
		case s.peek("["):
			s.pos++
			current = s.table(s.root, s.path())
			s.pos++
		default:
			s.pair(current)
		}
	}
}

// table returns the table to which path leads from n. It creates tables that do not exist.
func (s *scanner) table(n *node, path []part) *node {
	for _, p := range path {
		c := n.child(p.name)
		switch {
		case c == nil:
			c = n.add(&node{name: p.name, key: p.span, value: p.span, kind: table})
		case c.kind == array && len(c.children) > 0:
			c = c.children[len(c.children)-1]
		}
		n = c
	}
	return n
}

// element appends a table to the array to which path leads.
func (s *scanner) element(path []part) *node {
	last := path[len(path)-1]
	n := s.table(s.root, path[:len(path)-1])
	a := n.child(last.name)
	if a == nil {
		a = n.add(&node{name: last.name, key: last.span, value: last.span, kind: array})
	}
	return a.add(&node{key: last.span, value: last.span, kind: table})
}

// pair reads `key = value` into the table n.
func (s *scanner) pair(n *node) {
	path := s.path()
	s.pos++ // skip the `=`
	s.inline()
	v := s.scanValue()
	last := path[len(path)-1]
	v.name, v.key = last.name, last.span
	s.table(n, path[:len(path)-1]).add(v)
}

// path reads a dotted key and the white space after it.
func (s *scanner) path() []part {
	var out []part
	for {
		s.inline()
		out = append(out, s.name())
		s.inline()
		if !s.peek(".") {
			return out
		}
		s.pos++
	}
}

// name reads one bare or quoted name.
func (s *scanner) name() part {
	start := s.pos
	switch {
	case s.peek(`"`):
		s.quoted('"')
		return part{unescape(string(s.text[start+1 : s.pos-1])), s.span(start)}
	case s.peek(`'`):
		s.quoted('\'')
		return part{string(s.text[start+1 : s.pos-1]), s.span(start)}
	}
	for s.pos < len(s.text) && !strings.ContainsRune(" \t\r\n.=]#", rune(s.text[s.pos])) {
		s.pos++
	}
	return part{string(s.text[start:s.pos]), s.span(start)}
}

// scanValue reads a value. The span of the result is the value's text.
func (s *scanner) scanValue() *node {
	start := s.pos
	n := &node{}
	switch {
	case s.peek("["):
		n.kind = array
		s.pos++
		for s.blank(); s.pos < len(s.text) && !s.peek("]"); s.blank() {
			if s.peek(",") {
				s.pos++
				continue
			}
			n.add(s.scanValue())
		}
		s.pos++
	case s.peek("{"):
		n.kind = table
		s.pos++
		for s.blank(); s.pos < len(s.text) && !s.peek("}"); s.blank() {
			if s.peek(",") {
				s.pos++
				continue
			}
			s.pair(n)
		}
		s.pos++
	case s.peek(`"""`):
		s.multiline('"')
	case s.peek(`'''`):
		s.multiline('\'')
	case s.peek(`"`), s.peek(`'`):
		s.quoted(s.text[s.pos])
	default:
		s.word()
	}
	n.value = s.span(start)
	if n.kind == scalar {
		n.key = n.value
	}
	return n
}

// word reads a number, a date or a bool. One space may be between a date and its time.
func (s *scanner) word() {
	start := s.pos
	for s.pos < len(s.text) && !strings.ContainsRune(" \t\r\n,]}#", rune(s.text[s.pos])) {
		s.pos++
	}
	isDate := s.pos-start == len("2006-01-02") && s.text[start+4] == '-'
	if isDate && s.pos+1 < len(s.text) && s.text[s.pos] == ' ' && '0' <= s.text[s.pos+1] && s.text[s.pos+1] <= '9' {
		s.pos++
		s.word()
	}
}

// quoted reads a string on one line, from its opening quote to its closing quote.
func (s *scanner) quoted(q byte) {
	for s.pos++; s.pos < len(s.text) && s.text[s.pos] != q; s.pos++ {
		if q == '"' && s.text[s.pos] == '\\' {
			s.pos++
		}
	}
	s.pos++
}

// multiline reads a string in triple quotes. One or two further quotes directly before the closing
// quotes belong to the string.
func (s *scanner) multiline(q byte) {
	closing := strings.Repeat(string(q), 3)
	for s.pos += 3; s.pos < len(s.text) && !s.peek(closing); s.pos++ {
		if q == '"' && s.text[s.pos] == '\\' {
			s.pos++
		}
	}
	s.pos += 3
	for i := 0; i < 2 && s.pos < len(s.text) && s.text[s.pos] == q; i++ {
		s.pos++
	}
}

// inline skips white space within a line.
func (s *scanner) inline() {
	for s.pos < len(s.text) && (s.text[s.pos] == ' ' || s.text[s.pos] == '\t') {
		s.pos++
	}
}

// blank skips white space, line ends and comments.
func (s *scanner) blank() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		case '#':
			for s.pos < len(s.text) && s.text[s.pos] != '\n' {
				s.pos++
			}
		default:
			return
		}
	}
}

func (s *scanner) peek(p string) bool {
	return strings.HasPrefix(string(s.text[s.pos:min(len(s.text), s.pos+len(p))]), p)
}

func (s *scanner) span(start int) source.Span {
	s.pos = min(s.pos, len(s.text))
	return source.Span{Start: source.Pos(start), End: source.Pos(s.pos)}
}

// unescape decodes the escape sequences in a quoted name.
func unescape(t string) string {
	if !strings.Contains(t, `\`) {
		return t
	}
	var b strings.Builder
	for i := 0; i < len(t); i++ {
		if t[i] != '\\' || i+1 == len(t) {
			b.WriteByte(t[i])
			continue
		}
		i++
		if digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[t[i]]; digits > 0 && i+digits < len(t) {
			n, _ := strconv.ParseUint(t[i+1:i+1+digits], 16, 32)
			b.Write(utf8.AppendRune(nil, rune(n)))
			i += digits
			continue
		}
		if k := strings.IndexByte(`btnfre"\`, t[i]); k >= 0 {
			b.WriteByte("\b\t\n\f\r\x1b\"\\"[k])
		}
	}
	return b.String()
}
