package secret

import (
	"bytes"
	"encoding/json"
)

// JSON replaces the secrets in a JSON text by marks. Each string is cleaned by
// what it means, so that the text stays JSON. A number that contains a secret
// becomes a string. A text that is not JSON is cleaned like any text.
func (s *Set) JSON(text []byte) []byte {
	if s.Empty() || !s.Holds(string(text)) {
		return text
	}
	if !json.Valid(text) {
		return []byte(s.Text(string(text)))
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		n := scalar(text)
		if n == 0 {
			out, text = append(out, text[0]), text[1:]
			continue
		}
		out, text = append(out, s.scalar(text[:n])...), text[n:]
	}
	return out
}

// scalar is the length of the string or number with which text begins; 0 for
// anything else.
func scalar(text []byte) int {
	switch c := text[0]; {
	case c == '"':
		for i := 1; ; i++ {
			switch text[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
	case c == '-' || '0' <= c && c <= '9':
		n := bytes.IndexFunc(text, func(r rune) bool { return !bytes.ContainsRune([]byte("+-.0123456789Ee"), r) })
		if n < 0 {
			return len(text)
		}
		return n
	}
	return 0
}

// scalar cleans a string or a number.
func (s *Set) scalar(text []byte) []byte {
	plain := string(text)
	if text[0] == '"' {
		if json.Unmarshal(text, &plain) != nil {
			panic("secret: a string of valid JSON cannot be read")
		}
	}
	clean := s.Text(plain)
	if clean == plain {
		return text
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(clean) // a string always has JSON
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
