package ir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// peek skips white space and returns the next byte.
func (c *codec) peek() byte {
	for c.pos < len(c.in) {
		switch b := c.in[c.pos]; b {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return b
		}
	}
	panic(failure{fmt.Errorf("the file is truncated: it ends at byte %d", len(c.in))})
}

func (c *codec) expect(b byte) {
	if found := c.peek(); found != b {
		c.fail(c.pos, "expected '%c', found %q", b, found)
	}
	c.pos++
}

// token returns the bytes of a number or of a word such as true.
func (c *codec) token() string {
	c.peek()
	start := c.pos
	for c.pos < len(c.in) && bytes.IndexByte([]byte(" \t\r\n,:{}[]\""), c.in[c.pos]) < 0 {
		c.pos++
	}
	return string(c.in[start:c.pos])
}

func (c *codec) readInt() int64 {
	c.peek()
	start := c.pos
	n, err := strconv.ParseInt(c.token(), 10, 64)
	if err != nil {
		c.fail(start, "expected an integer")
	}
	return n
}

func (c *codec) readBool() bool {
	c.peek()
	start := c.pos
	switch c.token() {
	case "true":
		return true
	case "false":
		return false
	}
	c.fail(start, "expected true or false")
	return false
}

// readFloat reads a number, or one of the strings that represent values which JSON numbers cannot.
func (c *codec) readFloat() float64 {
	if c.peek() == '"' {
		start := c.pos
		switch c.readString() {
		case "inf":
			return inf(1)
		case "-inf":
			return inf(-1)
		case "nan":
			return nan()
		}
		c.fail(start, "expected a number")
	}
	start := c.pos
	f, err := strconv.ParseFloat(c.token(), 64)
	if err != nil {
		c.fail(start, "expected a number")
	}
	return f
}

// readString reads a string. A string without escapes, the frequent case, is copied only once.
func (c *codec) readString() string {
	start := c.pos
	b := c.scanString()
	if bytes.IndexByte(b, '\\') < 0 {
		if !utf8.Valid(b) {
			c.fail(start, "a string is not valid UTF-8")
		}
		return string(b)
	}
	var s string
	if !utf8.Valid(b) || json.Unmarshal(c.in[c.pos-len(b)-2:c.pos], &s) != nil || !pairedSurrogates(b) {
		c.fail(start, "malformed string")
	}
	return s
}

// scanString returns the bytes between the quotes of a string, without decoding escapes.
func (c *codec) scanString() []byte {
	if found := c.peek(); found != '"' {
		c.fail(c.pos, "expected a string, found %q", found)
	}
	c.pos++
	start := c.pos
	for c.pos < len(c.in) {
		switch b := c.in[c.pos]; {
		case b == '"':
			c.pos++
			return c.in[start : c.pos-1]
		case b == '\\':
			c.pos++
		case b < ' ':
			c.fail(c.pos, "control character in a string")
		}
		c.pos++
	}
	panic(failure{fmt.Errorf("the file is truncated: it ends within a string at byte %d", len(c.in))})
}

// pairedSurrogates reports whether each \u escape of a surrogate belongs to a pair.
func pairedSurrogates(b []byte) bool {
	for i := 0; i+5 < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		if b[i+1] != 'u' {
			i++
			continue
		}
		n, _ := strconv.ParseUint(string(b[i+2:i+6]), 16, 32)
		if r := rune(n); utf16.IsSurrogate(r) {
			if i+11 >= len(b) || b[i+6] != '\\' || b[i+7] != 'u' {
				return false
			}
			m, _ := strconv.ParseUint(string(b[i+8:i+12]), 16, 32)
			if utf16.DecodeRune(r, rune(m)) == utf8.RuneError {
				return false
			}
			i += 6
		}
		i += 5
	}
	return true
}

// readRaw returns the bytes of one JSON value.
func (c *codec) readRaw() []byte {
	start := c.skip()
	if b := c.in[start:c.pos]; json.Valid(b) && utf8.Valid(b) {
		return b
	}
	c.fail(start, "malformed value")
	return nil
}

// skip skips a value, of which it checks only that it ends. It returns where the value starts.
func (c *codec) skip() (start int) {
	c.peek()
	start, depth := c.pos, 0
	for {
		switch c.peek() {
		case '"':
			c.scanString()
		case '{', '[':
			depth++
			c.pos++
		case '}', ']':
			depth--
			c.pos++
		case ',', ':':
			c.pos++
		default:
			c.token()
		}
		if depth <= 0 {
			return start
		}
	}
}
