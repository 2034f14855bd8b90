// Package jsonwrite appends JSON to a buffer, for messages that are built member by member. The
// output is that of encoding/json without escapes for HTML. Unusual texts and values are encoded by
// encoding/json.
package jsonwrite

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Appender is a value that can append its own JSON in the form of encoding/json.
type Appender interface {
	AppendJSON(b []byte) ([]byte, error)
}

// Append appends the JSON of any value. It returns the error of encoding/json or of an Appender.
func Append(b []byte, v any) ([]byte, error) {
	if a, ok := v.(Appender); ok {
		return a.AppendJSON(b)
	}
	to := bytes.NewBuffer(b)
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return b, err
	}
	return bytes.TrimSuffix(to.Bytes(), []byte("\n")), nil
}

// Encode returns the JSON of a value.
func Encode(v any) (json.RawMessage, error) { return Append(nil, v) }

// MustEncode returns the JSON of a value that can always be encoded. It panics on an error.
func MustEncode(v any) json.RawMessage {
	text, err := Append(nil, v)
	if err != nil {
		panic("jsonwrite: " + err.Error())
	}
	return text
}

// Text appends a JSON string.
func Text(b []byte, s string) []byte {
	start := len(b)
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if n == 1 || r == '\u2028' || r == '\u2029' { // encoding/json replaces or escapes these
				b, _ = Append(b[:start], s) // encoding a string never fails
				return b
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		i++
		from = i
		if short := shortEscapes[c]; short != 0 {
			b = append(b, '\\', short)
		} else {
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(b, s[from:]...), '"')
}

const hexDigits = "0123456789abcdef"

// shortEscapes contains the letter of each escape of two characters.
var shortEscapes = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// Texts appends an array of strings, or null if list is nil.
func Texts(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = Text(b, s)
	}
	return append(b, ']')
}

// Raw appends a valid JSON text without the white space between its tokens. It appends null if text
// is nil.
func Raw(b []byte, text json.RawMessage) []byte {
	if text == nil {
		return append(b, "null"...)
	}
	if bytes.IndexByte(text, ' ') < 0 && bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\t') < 0 && bytes.IndexByte(text, '\r') < 0 {
		return append(b, text...)
	}
	to := bytes.NewBuffer(b)
	if json.Compact(to, text) != nil {
		return append(b, text...)
	}
	return to.Bytes()
}
