// Package tomlkeys reads TOML 1.1. It adds to the TOML library two rules of the language that the
// library does not check: each key and table is defined once, and the offsets of times exist.
package tomlkeys

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// ParseError is a syntax error of TOML.
type ParseError = toml.ParseError

// Decode decodes a text into v, like toml.Decode. A syntax error is a ParseError.
func Decode(text string, v any) (toml.MetaData, error) {
	meta, err := toml.Decode(text, v)
	if err == nil {
		_, err = check(text)
	}
	return meta, err
}

// EmptyKeys returns the offsets of the empty keys in a text that Decode accepts. An empty key is
// two quotes.
func EmptyKeys(text string) []int {
	if !strings.Contains(text, `""`) && !strings.Contains(text, "''") {
		return nil
	}
	empty, _ := check(text)
	return empty
}

// check returns the offsets of empty keys and the first violation in a text that the library
// accepts, or nil.
func check(text string) (empty []int, err error) {
	s := &scanner{text: text}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case ParseError:
			err = e
		default:
			panic(e)
		}
		empty = s.empty
	}()
	s.document()
	return s.empty, nil
}

// kind states how a node of the document was defined.
type kind uint8

const (
	implied  kind = iota // a table that only headers of its tables name
	headed               // a table with a header
	dotted               // a table that dotted keys define
	list                 // an array of tables
	assigned             // a value
)

// node is a key with its definition. For an array of tables, keys are those of its last element.
type node struct {
	kind kind
	keys map[string]*node
}

func newNode(k kind) *node { return &node{kind: k, keys: map[string]*node{}} }

type scanner struct {
	text  string
	pos   int
	empty []int
}

// fail ends the check. The error is at the text from an offset to the current one.
func (s *scanner) fail(at int, message string) {
	panic(ParseError{Message: message, Position: toml.Position{
		Line: strings.Count(s.text[:at], "\n") + 1, Col: at - strings.LastIndexByte(s.text[:at], '\n'), Start: at, Len: len(strings.TrimRight(s.text[at:s.pos], " \t"))}})
}

// repeated ends the check because a key is defined twice.
func (s *scanner) repeated(at int, path []string) {
	for i, key := range path {
		path[i] = keyText(key)
	}
	s.fail(at, "`"+strings.Join(path, ".")+"` is already defined")
}

// keyText returns a key as TOML writes it.
func keyText(key string) string {
	if key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == "" {
		return key
	}
	return strconv.Quote(key)
}

func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

// space skips white space, and also line ends and comments if lines is set.
func (s *scanner) space(lines bool) {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == ' ' || c == '\t', lines && (c == '\n' || c == '\r'):
			s.pos++
		case lines && c == '#':
			s.line()
		default:
			return
		}
	}
}

// line skips the rest of a line.
func (s *scanner) line() {
	if n := strings.IndexByte(s.text[s.pos:], '\n'); n >= 0 {
		s.pos += n + 1
		return
	}
	s.pos = len(s.text)
}

func (s *scanner) document() {
	root := newNode(headed)
	table := root
	for {
		if s.space(true); s.pos >= len(s.text) {
			return
		}
		if s.peek() == '[' {
			table = s.header(root)
		} else {
			s.assign(table)
		}
		s.line()
	}
}

// header reads [a.b] or [[a.b]] and returns its table.
func (s *scanner) header(root *node) *node {
	s.pos++
	elements := s.peek() == '['
	if elements {
		s.pos++
	}
	s.space(false)
	at := s.pos
	path := s.path()
	n := root
	for i, key := range path[:len(path)-1] {
		next := n.keys[key]
		if next == nil {
			next = newNode(implied)
			n.keys[key] = next
		} else if next.kind == assigned {
			s.repeated(at, path[:i+1])
		}
		n = next
	}
	key := path[len(path)-1]
	found := n.keys[key]
	switch {
	case found == nil && elements:
		found = newNode(list)
	case found == nil:
		found = newNode(headed)
	case elements && found.kind == list:
		found.keys = map[string]*node{}
	case !elements && found.kind == implied:
		found.kind = headed
	default:
		s.repeated(at, path)
	}
	n.keys[key] = found
	return found
}

// assign reads a key and its value.
func (s *scanner) assign(table *node) {
	at := s.pos
	path := s.path()
	for i, key := range path[:len(path)-1] {
		next := table.keys[key]
		if next == nil {
			next = newNode(dotted)
			table.keys[key] = next
		} else if next.kind != dotted {
			s.repeated(at, path[:i+1])
		}
		table = next
	}
	key := path[len(path)-1]
	if table.keys[key] != nil {
		s.repeated(at, path)
	}
	table.keys[key] = newNode(assigned)
	s.space(false)
	s.pos++ // the equals sign
	s.space(false)
	s.value()
}

// path reads a dotted key.
func (s *scanner) path() (path []string) {
	for {
		s.space(false)
		path = append(path, s.key())
		s.space(false)
		if s.peek() != '.' {
			return path
		}
		s.pos++
	}
}

func (s *scanner) key() string {
	at := s.pos
	if c := s.peek(); c == '"' || c == '\'' {
		inner := s.quoted()
		if inner == "" {
			s.empty = append(s.empty, at)
		}
		if c == '"' {
			return unescape(inner)
		}
		return inner
	}
	for s.pos < len(s.text) && strings.IndexByte(" \t.=]", s.text[s.pos]) < 0 {
		s.pos++
	}
	return s.text[at:s.pos]
}

// quoted reads a string of one line and returns the text between its quotes.
func (s *scanner) quoted() string {
	q := s.text[s.pos]
	s.pos++
	for from := s.pos; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '\\' && q == '"':
			s.pos++
		case c == q:
			s.pos++
			return s.text[from : s.pos-1]
		}
	}
	return ""
}

// unescape returns the content of a basic string without escapes.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		if n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[i]]; n > 0 && i+n < len(text) {
			if r, err := strconv.ParseUint(text[i+1:i+1+n], 16, 32); err == nil {
				b.WriteRune(rune(r))
				i += n
				continue
			}
		}
		if n := strings.IndexByte("btnfre", text[i]); n >= 0 {
			b.WriteByte("\b\t\n\f\r\x1b"[n])
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

var offset = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{4}-.*[+-](\d\d):(\d\d)$`) })

func (s *scanner) value() {
	switch c := s.peek(); c {
	case '"', '\'':
		if long := strings.Repeat(string(c), 3); strings.HasPrefix(s.text[s.pos:], long) {
			s.long(long)
			return
		}
		s.quoted()
	case '[':
		s.items(']', s.value)
	case '{':
		table := newNode(assigned)
		s.items('}', func() { s.assign(table) })
	default:
		from := s.pos
		for s.pos < len(s.text) && strings.IndexByte(",]}#\r\n", s.text[s.pos]) < 0 {
			s.pos++
		}
		scalar := strings.TrimRight(s.text[from:s.pos], " \t")
		if m := offset().FindStringSubmatch(scalar); m != nil && (m[1] > "23" || m[2] > "59") {
			s.fail(from, "invalid datetime: "+strconv.Quote(scalar))
		}
	}
}

// items reads the elements of an array or the members of an inline table.
func (s *scanner) items(end byte, item func()) {
	s.pos++
	for {
		s.space(true)
		switch c := s.peek(); c {
		case 0:
			return
		case end:
			s.pos++
			return
		case ',':
			s.pos++
		default:
			before := s.pos
			if item(); s.pos == before { // not TOML
				s.pos++
			}
		}
	}
}

// long reads a string in three quotes. Up to two more quotes may precede the closing ones.
func (s *scanner) long(quotes string) {
	s.pos += len(quotes)
	for s.pos < len(s.text) {
		if quotes[0] == '"' && s.text[s.pos] == '\\' {
			s.pos += 2
			continue
		}
		if strings.HasPrefix(s.text[s.pos:], quotes) {
			s.pos += len(quotes)
			for n := 0; n < 2 && s.peek() == quotes[0]; n++ {
				s.pos++
			}
			return
		}
		s.pos++
	}
}
