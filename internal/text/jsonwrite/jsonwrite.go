// Package jsonwrite writes JSON as encoding/json does without the escapes that are for
// HTML, appending to what is there: for messages that are written by hand, member by
// member. What is unusual in a text or value is left to encoding/json.
package jsonwrite

import (
	"bytes"
	"encoding/json"
)

// Appender is a value that writes itself, as encoding/json would.
type Appender interface {
	AppendJSON(b []byte) ([]byte, error)
}

// Append appends any value. Its error is that of encoding/json, or of an Appender.
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

// Encode is the JSON of a value.
func Encode(v any) (json.RawMessage, error) { return Append(nil, v) }

// MustEncode is the JSON of a value that is known to have one.
func MustEncode(v any) json.RawMessage {
	text, err := Append(nil, v)
	if err != nil {
		panic("jsonwrite: " + err.Error())
	}
	return text
}

// Text appends a text.
func Text(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			b, _ = Append(b, s) // a text has JSON
			return b
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// Texts appends a list of texts, that is none of nil.
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

// Raw appends what is known to be JSON, without the space between its parts; nil is null.
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
