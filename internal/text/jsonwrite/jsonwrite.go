// Package jsonwrite appends JSON to a buffer, for messages that are built member by member. The
// output is that of encoding/json without escapes for HTML. Unusual texts and values are encoded by
// encoding/json.
package jsonwrite

import (
	"bytes"
	"encoding/json"
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
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			b, _ = Append(b, s) // encoding a string never fails
			return b
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

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
