// Package jsonread reads the members of a small JSON object without reflection and without copies.
// What is not of the expected form is left to encoding/json, which so decides all that is unusual
// and every error.
package jsonread

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Members calls each for the members of a text that is an object, without reflection and
// without copies: name and value are parts of the text. It gives false where each does,
// and where the text is not surely an object as encoding/json reads it, in each part; then
// what each was told is of no use.
func Members(text []byte, each func(name, value []byte) bool) bool {
	r := reader{data: text}
	return r.peek() == '{' && r.members(func(name []byte) bool {
		value, ok := r.raw(1)
		return ok && each(name, value)
	}) && r.peek() == 0 && r.at == len(r.data)
}

// Plain is what a text in JSON holds when that is what stands between its quotes.
func Plain(value []byte) (inner []byte, ok bool) {
	r := reader{data: value}
	if r.peek() != '"' {
		return nil, false
	}
	inner, plain, ok := r.scan()
	return inner, ok && plain && r.at == len(value)
}

// reader is at a byte of a text. Its methods give false where the text is not JSON, or
// not surely what encoding/json reads so.
type reader struct {
	data []byte
	at   int
}

// maxDepth is how deep it reads; encoding/json goes deeper.
const maxDepth = 64

// members calls each for the members of an object; it reads their values.
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

// comma reads what follows an element.
func (r *reader) comma(end byte) (more, ok bool) {
	c := r.peek()
	if ok = c == ',' || c == end; ok {
		r.at++
	}
	return c == ',', ok
}

// peek gives the next byte that is no space, 0 at the end.
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

// scan reads a string and gives what stands between its quotes; plain says that this is
// what the string holds.
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

// raw reads a value as it stands.
func (r *reader) raw(depth int) ([]byte, bool) {
	r.peek()
	from := r.at
	ok := r.skip(depth)
	return r.data[from:r.at], ok
}

// skip reads a value of any form.
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

// number reads a number of any form.
func (r *reader) number() bool {
	from := r.at
	for r.at < len(r.data) && strings.IndexByte("+-.eE0123456789", r.data[r.at]) >= 0 {
		r.at++
	}
	return r.at > from && json.Valid(r.data[from:r.at])
}
