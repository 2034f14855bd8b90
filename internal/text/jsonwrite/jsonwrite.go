// Package jsonwrite appends JSON to a buffer, for messages that are built member by member. The
// output is that of encoding/json without escapes for HTML. The other forms of strings that
// Concerto writes are Form values.
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
func Text(b []byte, s string) []byte { return Standard.Append(b, s) }

// Form is a form of JSON strings. Each form escapes `"`, `\` and the control characters.
type Form struct {
	controls   string // of each control character, the letter of its short escape, or u for \u00xx
	invalid    string // replaces a byte that is not valid UTF-8
	separators bool   // U+2028 and U+2029 are escaped
}

var (
	// Standard is the form of encoding/json without escapes for HTML.
	Standard = Form{"uuuuuuuubtnufruuuuuuuuuuuuuuuuuu", `\ufffd`, true}
	// Canonical is the form of RFC 8785.
	Canonical = Form{"uuuuuuuubtnufruuuuuuuuuuuuuuuuuu", "\ufffd", false}
	// Plain is the form in which programs and IR files write strings.
	Plain = Form{"uuuuuuuuutnuuruuuuuuuuuuuuuuuuuu", "\ufffd", false}
)

// Append appends s as a JSON string.
func (f *Form) Append(b []byte, s string) []byte {
	return append(f.AppendEscaped(append(b, '"'), s), '"')
}

const hexDigits = "0123456789abcdef"

// AppendEscaped appends s with escapes and without quotes. A long text may be appended in several
// calls, if the parts end between characters.
func (f *Form) AppendEscaped(b []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if escape := f.escape(r, n); escape != "" {
				b = append(append(b, s[from:i]...), escape...)
				from = i + n
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		letter := c
		if c < ' ' {
			letter = f.controls[c]
		}
		if b = append(b, '\\', letter); letter == 'u' {
			b = append(b, '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(b, s[from:]...)
}

// escape returns what replaces a character that is not ASCII and has n bytes, or "" for none.
func (f *Form) escape(r rune, n int) string {
	switch {
	case r == utf8.RuneError && n == 1:
		return f.invalid
	case f.separators && r == '\u2028':
		return `\u2028`
	case f.separators && r == '\u2029':
		return `\u2029`
	}
	return ""
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
