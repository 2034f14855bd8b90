// Package jsonread reads the members of a JSON object without reflection and without copies.
// Members and Plain return false for any input that is unusual or invalid. The caller then uses
// encoding/json, as List does, which handles unusual cases and reports errors.
package jsonread

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// Member is a member of an object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// List returns the members of a JSON object in order. Their values may be parts of object.
func List(object []byte) (all []Member, err error) {
	if Members(object, func(name, value []byte) bool {
		all = append(all, Member{string(name), value})
		return true
	}) {
		return all, nil
	}
	if err := json.Unmarshal(object, new(json.RawMessage)); err != nil {
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("expected a JSON object, got %s", utf8cut.Short(string(object), 40))
	}
	for all = nil; d.More(); {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := Member{Name: name.(string)} // the decoder returns nothing else at this place
		if err := d.Decode(&m.Value); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// Members calls each for every member of a JSON object. name and value are parts of text. Members
// returns false if each returns false, or if encoding/json might read a part of the text
// differently. The caller must then ignore the previous calls of each.
func Members(text []byte, each func(name, value []byte) bool) bool {
	r := reader{data: text}
	return r.peek() == '{' && r.members(func(name []byte) bool {
		value, ok := r.raw(1)
		return ok && each(name, value)
	}) && r.peek() == 0 && r.at == len(r.data)
}

// Plain returns the content of a JSON string that contains no escapes: the text between the quotes.
func Plain(value []byte) (inner []byte, ok bool) {
	r := reader{data: value}
	if r.peek() != '"' {
		return nil, false
	}
	inner, plain, ok := r.scan()
	return inner, ok && plain && r.at == len(value)
}

// reader is a position in a text. Its methods return false if the text is not JSON, or if
// encoding/json might read it differently.
type reader struct {
	data []byte
	at   int
}

// maxDepth is the maximum nesting that a reader accepts. encoding/json reads more deeply nested
// texts.
const maxDepth = 64

// members calls each for the names of an object's members. each must read the value.
func (r *reader) members(each func(name []byte) bool) bool {
	r.at++
	if r.peek() == '}' {
		r.at++
		return true
	}
	for {
		if r.peek() != '"' {
			return false
		}
		name, plain, ok := r.scan()
		if !ok || !plain || r.peek() != ':' {
			return false
		}
		r.at++
		if !each(name) {
			return false
		}
		if more, ok := r.comma('}'); !more {
			return ok
		}
	}
}

// comma reads the separator after an element. more is false if the separator is end.
func (r *reader) comma(end byte) (more, ok bool) {
	c := r.peek()
	if ok = c == ',' || c == end; ok {
		r.at++
	}
	return c == ',', ok
}

// peek returns the next byte that is not white space, or 0 at the end.
func (r *reader) peek() byte {
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; c {
		case ' ', '\n', '\r', '\t':
		default:
			return c
		}
	}
	return 0
}

func (r *reader) word(w string) bool {
	if !bytes.HasPrefix(r.data[r.at:], []byte(w)) {
		return false
	}
	r.at += len(w)
	return true
}

// scan reads a string. seg is the part between the quotes. plain is true if seg contains no
// escapes.
func (r *reader) scan() (seg []byte, plain, ok bool) {
	from := r.at + 1
	escaped := false
	for i := from; i < len(r.data); i++ {
		switch c := r.data[i]; {
		case c == '"':
			seg, r.at = r.data[from:i], i+1
			return seg, !escaped && utf8.Valid(seg), true
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return nil, false, false
		}
	}
	return nil, false, false
}

// raw reads a value of any type and returns its text.
func (r *reader) raw(depth int) ([]byte, bool) {
	r.peek()
	from := r.at
	ok := r.skip(depth)
	return r.data[from:r.at], ok
}

// skip skips a value of any type.
func (r *reader) skip(depth int) bool {
	c := r.peek()
	switch {
	case c == '"':
		from := r.at
		_, plain, ok := r.scan()
		return ok && (plain || json.Valid(r.data[from:r.at]))
	case c == '{':
		return depth < maxDepth && r.members(func([]byte) bool { return r.skip(depth + 1) })
	case c == '[':
		if r.at++; depth == maxDepth {
			return false
		}
		if r.peek() == ']' {
			r.at++
			return true
		}
		for {
			if !r.skip(depth + 1) {
				return false
			}
			if more, ok := r.comma(']'); !more {
				return ok
			}
		}
	case c == 't':
		return r.word("true")
	case c == 'f':
		return r.word("false")
	case c == 'n':
		return r.word("null")
	}
	return r.number()
}

// number skips a number in any form.
func (r *reader) number() bool {
	from := r.at
	for r.at < len(r.data) && strings.IndexByte("+-.eE0123456789", r.data[r.at]) >= 0 {
		r.at++
	}
	return r.at > from && json.Valid(r.data[from:r.at])
}
