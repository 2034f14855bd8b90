package jcs

import (
	"bytes"
	"unicode/utf8"
)

// mostDepth is the maximum nesting that isCanonical checks. More deeply nested texts are decoded.
const mostDepth = 100

// isCanonical reports whether a text is in canonical form. It may return false for a canonical
// text, for example if a member's name contains an escape. It never returns true for a text that is
// not canonical. It does not allocate memory.
func isCanonical(text []byte) bool {
	rest, ok := skipValue(text, mostDepth)
	return ok && len(rest) == 0 && utf8.Valid(text)
}

// skipValue skips a JSON value at the start of b.
func skipValue(b []byte, depth int) (rest []byte, ok bool) {
	if len(b) == 0 || depth == 0 {
		return nil, false
	}
	switch b[0] {
	case '{':
		return skipObject(b[1:], depth-1)
	case '[':
		return skipArray(b[1:], depth-1)
	case '"':
		_, rest, ok = skipText(b)
		return rest, ok
	case 'n':
		return bytes.CutPrefix(b, []byte("null"))
	case 't':
		return bytes.CutPrefix(b, []byte("true"))
	case 'f':
		return bytes.CutPrefix(b, []byte("false"))
	}
	return skipInteger(b)
}

func skipArray(b []byte, depth int) (rest []byte, ok bool) {
	if len(b) > 0 && b[0] == ']' {
		return b[1:], true
	}
	for {
		if b, ok = skipValue(b, depth); !ok || len(b) == 0 {
			return nil, false
		}
		if b[0] == ']' {
			return b[1:], true
		}
		if b[0] != ',' {
			return nil, false
		}
		b = b[1:]
	}
}

func skipObject(b []byte, depth int) (rest []byte, ok bool) {
	if len(b) > 0 && b[0] == '}' {
		return b[1:], true
	}
	var before []byte
	for first := true; ; first = false {
		var name []byte
		if name, b, ok = skipText(b); !ok || len(b) == 0 || b[0] != ':' {
			return nil, false
		}
		if !first && bytes.Compare(before, name) >= 0 || bytes.IndexFunc(name, notPlain) >= 0 {
			return nil, false
		}
		before = name
		if b, ok = skipValue(b[1:], depth); !ok || len(b) == 0 {
			return nil, false
		}
		if b[0] == '}' {
			return b[1:], true
		}
		if b[0] != ',' {
			return nil, false
		}
		b = b[1:]
	}
}

// notPlain reports whether the bytes of a name that contains r may not determine the name's
// position in the order: r begins an escape, or UTF-16 orders r differently from UTF-8.
func notPlain(r rune) bool { return r == '\\' || r >= 0xe000 }

// skipText skips a JSON string. inner is the part between the quotes.
func skipText(b []byte) (inner, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return b[1:i], b[i+1:], true
		case c < ' ':
			return nil, nil, false
		case c == '\\':
			n := escape(b[i+1:])
			if n == 0 {
				return nil, nil, false
			}
			i += n
		}
	}
	return nil, nil, false
}

// escape returns the length of a canonical escape after its backslash. It returns 0 if the escape
// is not canonical.
func escape(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	if bytes.IndexByte([]byte(`"\bfnrt`), b[0]) >= 0 {
		return 1
	}
	// \u00xx is canonical only for a control character that has no short escape
	if len(b) < 5 || b[0] != 'u' || b[1] != '0' || b[2] != '0' || b[3] != '0' && b[3] != '1' {
		return 0
	}
	low := bytes.IndexByte([]byte("0123456789abcdef"), b[4])
	if low < 0 || b[3] == '0' && bytes.IndexByte([]byte("\b\f\n\r\t"), byte(low)) >= 0 {
		return 0
	}
	return 5
}

// skipInteger skips an integer. It returns false for other numbers, even canonical ones.
func skipInteger(b []byte) (rest []byte, ok bool) {
	n := 0
	if b[0] == '-' {
		n = 1
	}
	from := n
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	switch {
	case n == from, b[from] == '0' && n > 1: // no digits, -0, or a leading zero
		return nil, false
	case n < len(b) && (b[n] == '.' || b[n] == 'e' || b[n] == 'E'):
		return nil, false
	}
	return b[n:], true
}
