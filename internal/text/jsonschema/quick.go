package jsonschema

import (
	"encoding/json"
	"strings"
)

// quick decodes a text that is known to be valid JSON and UTF-8. It is many times faster than
// reading the tokens of encoding/json. For any other text, decodeSlow returns the error messages.
type quick struct {
	text string
	at   int
}

// decodeFast returns the result of Decode. It returns false if Decode would return an error.
func decodeFast(text []byte) (any, bool) {
	if !json.Valid(text) {
		return nil, false
	}
	q := quick{text: string(text)}
	return q.value()
}

// skip skips white space and the separators between values.
func (q *quick) skip() byte {
	for {
		switch c := q.text[q.at]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
			q.at++
		default:
			return c
		}
	}
}

func (q *quick) value() (any, bool) {
	switch q.skip() {
	case '{':
		return q.object()
	case '[':
		return q.array()
	case '"':
		return q.string()
	case 't':
		q.at += len("true")
		return true, true
	case 'f':
		q.at += len("false")
		return false, true
	case 'n':
		q.at += len("null")
		return nil, true
	}
	return q.number()
}

func (q *quick) object() (any, bool) {
	o := map[string]any{}
	for q.at++; q.skip() != '}'; {
		name, ok := q.string()
		if !ok {
			return nil, false
		}
		if _, twice := o[name]; twice {
			return nil, false
		}
		v, ok := q.value()
		if !ok {
			return nil, false
		}
		o[name] = v
	}
	q.at++
	return o, true
}

func (q *quick) array() (any, bool) {
	list := []any{}
	for q.at++; q.skip() != ']'; {
		v, ok := q.value()
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	q.at++
	return list, true
}

// string reads a string. Strings with escapes are decoded by encoding/json.
func (q *quick) string() (string, bool) {
	from, escapes := q.at, false
	for q.at++; q.text[q.at] != '"'; q.at++ {
		if q.text[q.at] == '\\' {
			escapes = true
			q.at++
		}
	}
	q.at++
	whole := q.text[from:q.at]
	if !escapes {
		return whole[1 : len(whole)-1], true
	}
	var s string
	err := json.Unmarshal([]byte(whole), &s)
	return s, err == nil
}

func (q *quick) number() (any, bool) {
	from := q.at
	for q.at < len(q.text) && strings.IndexByte("0123456789+-.eE", q.text[q.at]) >= 0 {
		q.at++
	}
	n := json.Number(q.text[from:q.at])
	return n, reasonable(n)
}
