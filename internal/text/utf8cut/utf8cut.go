// Package utf8cut cuts UTF-8 text between characters.
//
// Whoever bounds a text by bytes, or reads it in pieces, may cut a character of up
// to four bytes in two. What is left of it is no UTF-8: it prints as U+FFFD, and JSON
// and databases refuse it. None of these functions fails for a text that was invalid
// before; they look at no more than the bytes around the cut.
package utf8cut

import (
	"strings"
	"unicode/utf8"
)

// Text is text as Go holds it.
type Text interface{ ~string | ~[]byte }

// Before returns the last border between characters at or before the byte at most:
// s[:Before(s, most)] is the longest beginning of s with at most that many bytes.
// Where s is no UTF-8 around most, it is most itself; a most below 0 counts as 0.
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

// Short returns s when it has at most so many bytes, and else its beginning with "…" behind
// it. Bytes of the beginning that are no UTF-8 are left out.
func Short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:Before(s, most)], "") + "…"
}

// Unfinished returns how many bytes at the end of s begin a character that is not complete
// yet: 0 to 3. A reader of pieces keeps them for the next one.
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

// Rest returns how many bytes at the beginning of s are the rest of a character that was cut: 0 to 3.
func Rest[T Text](s T) int {
	n := 0
	for n < utf8.UTFMax-1 && n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}
