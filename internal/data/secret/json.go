package secret

import (
	"bytes"
	"encoding/json"
	"strings"
)

// JSON replaces the secrets in a JSON text by placeholders. The decoded values of strings are
// searched, so the result is valid JSON. A number that contains a secret becomes a string. A text
// that is not JSON is treated like plain text.
func (s *Set) JSON(text []byte) []byte {
	if s.Empty() || !s.Contains(string(text)) {
		return text
	}
	if !json.Valid(text) {
		return []byte(s.Text(string(text)))
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		n := scalarLength(text)
		if n == 0 {
			out, text = append(out, text[0]), text[1:]
			continue
		}
		out, text = append(out, s.cleanScalar(text[:n])...), text[n:]
	}
	return out
}

// scalarLength returns the length of the JSON string or number at the start of text, or 0 if there
// is none.
func scalarLength(text []byte) int {
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

// cleanScalar cleans a JSON string or number.
func (s *Set) cleanScalar(text []byte) []byte {
	if text[0] == '"' {
		return cleanString(text, s.Text)
	}
	plain := string(text)
	clean := s.Text(plain)
	if clean == plain {
		return text
	}
	return []byte(`"` + inJSON(clean, false) + `"`)
}

// cleanString applies clean to the decoded value of a JSON string.
func cleanString(text []byte, clean func(string) string) []byte {
	plain := string(text[1 : len(text)-1])
	if strings.Contains(plain, `\`) && json.Unmarshal(text, &plain) != nil {
		panic("secret: a string of valid JSON cannot be read")
	}
	now := clean(plain)
	if now == plain {
		return text
	}
	return []byte(`"` + inJSON(now, false) + `"`)
}
