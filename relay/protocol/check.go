package protocol

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Check validates the data of a message if its type is known. For an event, it checks only required
// fields and JSON types, because the data of a refused event would be lost. For other messages it
// also checks values, because their senders can correct them. A field that is null counts as
// omitted. Unknown types and fields are accepted.
func Check(e *Envelope) *Refusal {
	m := Find(e.Type)
	if m == nil {
		return nil
	}
	if m.IsSealed() && e.Enc == nil {
		return bad("%s requires enc", e.Type)
	}
	c := checker{strict: m.Kind != Event}
	if why := c.check(shapeOf(m.Data), e.Data, "data"); why != "" {
		return bad("%s: %s", e.Type, why)
	}
	return nil
}

// Decode decodes the data of an envelope that Check has accepted.
func Decode[T any](e *Envelope) (T, error) {
	var v T
	err := json.Unmarshal(e.Data, &v)
	return v, err
}

type checker struct{ strict bool }

// check returns a description of what is wrong with a value, or "". at is the path of the value.
func (c checker) check(s *shape, v json.RawMessage, at string) string {
	if got := kindOf(v); !fits(s.kind, got, v) {
		return at + " must be " + s.kind.String()
	}
	switch s.kind {
	case object:
		return c.object(s, v, at)
	case array:
		return c.array(s, v, at)
	case text:
		return c.text(s, v, at)
	case integer:
		return c.integer(s, v, at)
	}
	return ""
}

func (c checker) object(s *shape, v json.RawMessage, at string) string {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(v, &all); err != nil {
		return at + " is not JSON"
	}
	for i := range s.fields {
		f := &s.fields[i]
		value, there := all[f.name]
		switch {
		case there && (f.shape.kind == anything || !isNull(value)):
			if why := c.check(f.shape, value, at+"."+f.name); why != "" {
				return why
			}
		case f.required:
			return at + "." + f.name + " is missing"
		}
	}
	if s.each != nil {
		for name, value := range all {
			if why := c.check(s.each, value, at+"."+name); why != "" {
				return why
			}
		}
	}
	return ""
}

func (c checker) array(s *shape, v json.RawMessage, at string) string {
	var all []json.RawMessage
	if err := json.Unmarshal(v, &all); err != nil {
		return at + " is not JSON"
	}
	if c.strict && s.items > 0 && int64(len(all)) > s.items {
		return at + " must have at most " + strconv.FormatInt(s.items, 10) + " items"
	}
	for i, value := range all {
		if why := c.check(s.each, value, at+"["+strconv.Itoa(i)+"]"); why != "" {
			return why
		}
	}
	return ""
}

func (c checker) text(s *shape, v json.RawMessage, at string) string {
	if !c.strict {
		return ""
	}
	var t string
	if err := json.Unmarshal(v, &t); err != nil {
		return at + " is not JSON"
	}
	switch {
	case s.bytes > 0 && int64(len(t)) > s.bytes:
		return at + " must be at most " + strconv.FormatInt(s.bytes, 10) + " bytes"
	case s.chars > 0 && int64(utf8.RuneCountInString(t)) > s.chars:
		return at + " must be at most " + strconv.FormatInt(s.chars, 10) + " characters"
	case len(s.enum) > 0 && !isOneOf(s.enum, t):
		return at + " must be one of " + strings.Join(s.enum, ", ")
	case s.form != "" && !forms[s.form].is(t):
		return at + " must be " + forms[s.form].what
	}
	return ""
}

func isOneOf(all []string, t string) bool {
	for _, one := range all {
		if one == t {
			return true
		}
	}
	return false
}

func (c checker) integer(s *shape, v json.RawMessage, at string) string {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return at + " must be an integer of 64 bits"
	}
	if c.strict && s.bounded && (n < s.from || n > s.to) {
		return at + " must be from " + strconv.FormatInt(s.from, 10) + " to " + strconv.FormatInt(s.to, 10)
	}
	return ""
}

// form is a format for texts, such as an id.
type form struct {
	what    string
	pattern string // regular expression for the JSON Schema; "" for none
	is      func(string) bool
}

var forms = map[string]form{
	"id":     {"1 to 64 of A-Z a-z 0-9 _ -", "^[A-Za-z0-9_-]{1,64}$", IsID},
	"sha256": {"64 lower-case hexadecimal digits", "^[0-9a-f]{64}$", isSHA256},
	"time":   {"a time in RFC 3339", "", isTime},
}

// IsID reports whether a text is a valid id of a machine, run, request or input.
func IsID(t string) bool {
	if t == "" || len(t) > 64 {
		return false
	}
	for i := range len(t) {
		c := t[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

func isSHA256(t string) bool {
	return len(t) == 64 && strings.Trim(t, "0123456789abcdef") == ""
}

func isTime(t string) bool {
	_, err := time.Parse(time.RFC3339, t)
	return err == nil
}

// kindOf returns the JSON type of a valid JSON text. The first byte determines it.
func kindOf(v json.RawMessage) kind {
	if len(v) == 0 {
		return anything
	}
	switch v[0] {
	case '"':
		return text
	case '{':
		return object
	case '[':
		return array
	case 't', 'f':
		return boolean
	case 'n':
		return anything
	}
	return number
}

func fits(want, got kind, v json.RawMessage) bool {
	if want == integer {
		return got == number && !bytes.ContainsAny(v, ".eE")
	}
	return want == anything || want == got
}

func isNull(v json.RawMessage) bool { return string(v) == "null" }
