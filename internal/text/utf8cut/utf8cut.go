// Package utf8cut cuts UTF-8 text between characters, and finds invalid text.
//
// Code that limits the bytes of a text, or reads it in pieces, may cut a character of several bytes
// in two. The resulting pieces are not valid UTF-8: terminals print U+FFFD, and JSON and databases
// reject them. The functions also accept text that is already invalid. Except Invalid, they read
// only the bytes around the cut.
package utf8cut

import (
	"strings"
	"unicode/utf8"
)

// Text is a string or a slice of bytes.
type Text interface{ ~string | ~[]byte }

// Before returns the last boundary between characters at or before the byte offset most.
// s[:Before(s, most)] is therefore the longest beginning of s that has at most most bytes. If s is
// not valid UTF-8 around most, Before returns most. A negative most counts as 0.
func Before[T Text](s T, most int) int {
	most = max(most, 0)
	if len(s) <= most {
		return len(s)
	}
	for at := most; at >= 0 && at > most-utf8.UTFMax; at-- {
		if utf8.RuneStart(s[at]) {
			return at
		}
	}
	return most
}

// Short returns s if it has at most most bytes. Otherwise it returns the beginning of s followed by
// "…", without bytes that are not valid UTF-8.
func Short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:Before(s, most)], "") + "…"
}

// Unfinished returns the number of bytes at the end of s that are the beginning of an incomplete
// character, from 0 to 3. A caller that reads pieces should prepend these bytes to the next piece.
func Unfinished[T Text](s T) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if at := len(s) - n; utf8.RuneStart(s[at]) {
			if utf8.FullRuneInString(string(s[at:])) {
				return 0
			}
			return n
		}
	}
	return 0
}

// Rest returns the number of bytes at the beginning of s that are the end of a cut character, from
// 0 to 3.
func Rest[T Text](s T) int {
	n := 0
	for n < utf8.UTFMax-1 && n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}

// Invalid returns the offset of the first byte that is not valid UTF-8, or -1 if s is valid.
func Invalid(s []byte) int {
	if utf8.Valid(s) { // which is much faster
		return -1
	}
	for at := 0; at < len(s); {
		c, size := utf8.DecodeRune(s[at:])
		if c == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}
