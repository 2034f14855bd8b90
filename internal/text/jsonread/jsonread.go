// Package jsonread is json.Unmarshal at three to six times its speed, for the structs
// in which small answers come: it reads in one pass what is of the expected form, by a
// plan made once a type. Whatever is not, and whatever a plan does not cover, is
// left to encoding/json, which so decides all that is unusual and every error.
package jsonread

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Unmarshal is json.Unmarshal.
func Unmarshal(data []byte, to any) error {
	v := reflect.ValueOf(to)
	if v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().IsZero() {
		r := reader{data: data}
		if r.value(v.Elem(), planOf(v.Elem().Type()), 0) && r.peek() == 0 && r.at == len(data) {
			return nil
		}
		v.Elem().SetZero()
	}
	return json.Unmarshal(data, to)
}

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

// value reads the next value into v, which is zero.
func (r *reader) value(v reflect.Value, p *plan, depth int) bool {
	c := r.peek()
	if c == 'n' && p.kind != asRaw && p.kind != asOther {
		return r.word("null")
	}
	switch p.kind {
	case asText:
		if c != '"' {
			return false
		}
		s, ok := r.text()
		v.SetString(s)
		return ok
	case asInt:
		n, ok := r.integer()
		if !ok || v.OverflowInt(n) {
			return false
		}
		v.SetInt(n)
		return true
	case asBool:
		v.SetBool(c == 't')
		return c == 't' && r.word("true") || c == 'f' && r.word("false")
	case asPointer:
		v.Set(reflect.New(v.Type().Elem()))
		return r.value(v.Elem(), p.elem, depth)
	case asList:
		return c == '[' && r.list(v, p, depth)
	case asObject:
		return c == '{' && r.object(v, p, depth)
	case asRaw:
		raw, ok := r.raw(depth)
		v.SetBytes(bytes.Clone(raw))
		return ok
	}
	raw, ok := r.raw(depth)
	return ok && json.Unmarshal(raw, v.Addr().Interface()) == nil
}

func (r *reader) list(v reflect.Value, p *plan, depth int) bool {
	if depth == maxDepth {
		return false
	}
	r.at++
	if r.peek() == ']' {
		r.at++
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return true
	}
	for n := 0; ; n++ {
		if n == v.Cap() {
			v.Grow(1)
		}
		v.SetLen(n + 1)
		if !r.value(v.Index(n), p.elem, depth+1) {
			return false
		}
		if more, ok := r.comma(']'); !more {
			return ok
		}
	}
}

func (r *reader) object(v reflect.Value, p *plan, depth int) bool {
	if depth == maxDepth {
		return false
	}
	var seen uint64 // of the fields: what comes twice is merged, which is not for us
	return r.members(func(name []byte) bool {
		i := p.field(name)
		switch {
		case i < 0:
			return !p.folds(name) && r.skip(depth+1)
		case seen&(1<<i) != 0:
			return false
		}
		seen |= 1 << i
		f := &p.fields[i]
		to := v.Field(f.index[0])
		for _, inner := range f.index[1:] {
			to = to.Field(inner)
		}
		return r.value(to, f.plan, depth+1)
	})
}

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

// text reads a string; encoding/json unfolds what is in it.
func (r *reader) text() (s string, ok bool) {
	from := r.at
	seg, plain, ok := r.scan()
	if !ok || plain {
		return string(seg), ok
	}
	return s, json.Unmarshal(r.data[from:r.at], &s) == nil
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

// integer reads a number of up to 18 digits that is nothing but them.
func (r *reader) integer() (n int64, ok bool) {
	i, data := r.at, r.data
	negative := i < len(data) && data[i] == '-'
	if negative {
		i++
	}
	from := i
	for ; i < len(data) && data[i]-'0' <= 9; i++ {
		if i == from+18 {
			return 0, false
		}
		n = n*10 + int64(data[i]-'0')
	}
	if i == from || data[from] == '0' && i > from+1 || i < len(data) && strings.IndexByte(".eE", data[i]) >= 0 {
		return 0, false
	}
	r.at = i
	if negative {
		n = -n
	}
	return n, true
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
	if _, ok := r.integer(); ok {
		return true
	}
	from := r.at
	for r.at < len(r.data) && strings.IndexByte("+-.eE0123456789", r.data[r.at]) >= 0 {
		r.at++
	}
	return r.at > from && json.Valid(r.data[from:r.at])
}
