package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// leastPiece is the minimum length of the beginning of a secret that Lines recognises. Shorter
// beginnings occur at the end of most words.
const leastPiece = 3

// Lines replaces the secrets in lines of JSON that are stored one by one, also if a secret is split
// over texts at the same place of consecutive lines, as in a stream of pieces. Because a stored
// line cannot wait for the next one, the beginning of a secret at the end of a text is replaced,
// too. A Lines is not safe for concurrent use.
type Lines struct {
	whole func([]byte) []byte
	texts func() *encodings
	mark  func(name string, from, to int) string
	began map[string]string // by place: the end of the last text, if it is the beginning of a secret
}

// Lines returns the Lines of a stream. Marks of parts cannot be restored.
func (s *Set) Lines() *Lines {
	r := s.ForJournal()
	return &Lines{whole: s.JSON, texts: r.named, began: map[string]string{}, mark: func(name string, _, _ int) string {
		name, _, _ = strings.Cut(name, ":")
		return Mark(name)
	}}
}

// Lines returns the Lines of a stream. Restore can restore their marks if it can restore those of
// whole, which is Text or JSON.
func (r *Record) Lines(whole func([]byte) []byte) *Lines {
	return &Lines{whole: whole, texts: r.named, began: map[string]string{}, mark: func(name string, from, to int) string {
		return fmt.Sprintf("%s%s%s:%d-%d%s", quote, markWord, name, from, to, markQuote)
	}}
}

// encodings are the encodings of all secrets. It is immutable.
type encodings struct {
	names   map[string]string // the name of each encoding, by its text
	first   [256]bool         // the bytes with which a text begins
	longest int               // length of the longest text
}

func newEncodings(marks map[string]string) *encodings {
	e := &encodings{names: make(map[string]string, len(marks))}
	for text, name := range marks {
		e.names[text] = strings.TrimSuffix(strings.TrimPrefix(name, opens), closes)
		e.first[text[0]] = true
		e.longest = max(e.longest, len(text))
	}
	return e
}

// beginning returns the offset of the longest end of v that is the beginning of a secret, and the
// name of the encoding. The offset is len(v) if there is none.
func (e *encodings) beginning(v string) (at int, name string) {
	for at = max(0, len(v)-e.longest+1); at < len(v); at++ {
		if !e.first[v[at]] {
			continue
		}
		for text, name := range e.names {
			if len(text) > len(v)-at && strings.HasPrefix(text, v[at:]) {
				return at, name
			}
		}
	}
	return len(v), ""
}

// named returns the encodings of the secrets.
func (r *Record) named() *encodings {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.split == nil {
		r.split = newEncodings(r.marks)
	}
	return r.split
}

// JSON returns the next line with secrets replaced.
func (l *Lines) JSON(line []byte) []byte {
	texts := l.texts()
	line = l.whole(line)
	if len(texts.names) == 0 || !json.Valid(line) {
		return line
	}
	var out bytes.Buffer
	var path []string // names of the members that contain the current value
	var names []string
	expectName := false
	for i := 0; i < len(line); {
		switch c := line[i]; c {
		case '{':
			names = append(names, "")
			expectName = true
		case '[':
			names = append(names, "[]")
			expectName = false
		case '}', ']':
			names = names[:len(names)-1]
			expectName = false
		case ',':
			expectName = len(names) > 0 && names[len(names)-1] != "[]"
		}
		n := 0
		if line[i] == '"' {
			n = scalarLength(line[i:])
		}
		if n == 0 {
			out.WriteByte(line[i])
			i++
			continue
		}
		text := line[i : i+n]
		i += n
		if expectName {
			names[len(names)-1] = string(text)
			expectName = false
			out.Write(text)
			continue
		}
		path = append(path[:0], names...)
		out.Write(cleanString(text, func(v string) string { return l.text(texts, strings.Join(path, "."), v) }))
	}
	return out.Bytes()
}

// text replaces the parts of split secrets in a text at a place.
func (l *Lines) text(texts *encodings, at, v string) string {
	before := l.began[at]
	delete(l.began, at)
	head, skip := "", 0 // the mark of the part of v that continues a secret, and its length
	name, from, ended := "", 0, false
	for text, of := range texts.names {
		if left, n := continues(text, before, v); n > skip {
			name, from, skip, ended = of, len(text)-len(left), n, n == len(left)
		}
	}
	if skip > 0 {
		head = l.mark(name, from, from+skip)
		if !ended {
			l.began[at] = before + v
			return head
		}
	}
	tail := v[skip:]
	cut, name := texts.beginning(tail)
	if cut == len(tail) {
		return head + tail
	}
	l.began[at] = tail[cut:]
	if len(tail)-cut < leastPiece {
		return head + tail
	}
	return head + tail[:cut] + l.mark(name, 0, len(tail)-cut)
}

// continues reports whether v continues a text of which an end of before is the beginning. left is
// the part of the text after that beginning, and n the length of the part of it that is in v.
func continues(text, before, v string) (left string, n int) {
	for k := range len(before) {
		if left, ok := strings.CutPrefix(text, before[k:]); ok {
			if n = commonPrefix(left, v); n == len(left) || n == len(v) {
				return left, n
			}
		}
	}
	return "", 0
}

func commonPrefix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// part returns the bytes from-to of a text, for a mark that Lines has made. ok is false if way is
// not the name of a part.
func part(way, text string) (out string, ok bool) {
	a, b, found := strings.Cut(way, "-")
	from, err1 := strconv.Atoi(a)
	to, err2 := strconv.Atoi(b)
	if !found || err1 != nil || err2 != nil || from < 0 || to > len(text) || from > to {
		return "", false
	}
	return text[from:to], true
}
