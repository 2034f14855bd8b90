// Package utf8cut cuts UTF-8 text between characters.
//
// Code that bounds a text by bytes, or reads it in pieces, may cut a character of up to four bytes
// in two. The remainder is not UTF-8: it prints as U+FFFD, and JSON and databases reject it. None
// of these functions fails for a text that was already invalid; they read only the bytes around the
// cut.
package utf8cut

import (
	"strings"
	"unicode/utf8"
)

// Text is a string or a slice of bytes.
type Text interface{ ~string | ~[]byte }

// Before returns the last boundary between characters at or before the byte at most: s[:Before(s,
// most)] is the longest beginning of s with at most that many bytes. If s is not UTF-8 around most,
// it returns most itself; a most below 0 counts as 0.
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

// Short returns s if it has at most most bytes, and otherwise its beginning followed by "…". Bytes
// of the beginning that are not UTF-8 are left out.
func Short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:Before(s, most)], "") + "…"
}

// Unfinished returns the number of bytes at the end of s that begin an incomplete character: 0 to
// 3. A reader of pieces retains them for the next piece.
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

// Rest returns the number of bytes at the beginning of s that are the rest of a cut character: 0 to
// 3.
func Rest[T Text](s T) int {
	n := 0
	for n < utf8.UTFMax-1 && n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}
