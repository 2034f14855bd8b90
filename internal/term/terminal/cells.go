package terminal

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width returns the number of cells of a text without control characters. Sequences that only some
// terminals join to one character count as on the others.
func Width(text string) int {
	n, last := 0, 0
	for _, r := range text {
		last = cells(r, last)
		n += last
	}
	return n
}

// presented requests the wide picture of the preceding character.
const presented = '\ufe0f'

// cells is how many cells a character adds; before is what the one before it did.
func cells(r rune, before int) int {
	switch {
	case r < 0x300:
		if r == 0xad { // a soft hyphen
			return 0
		}
		return 1
	case r == presented:
		if before == 1 {
			return 1
		}
		return 0
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf), r >= 0x1160 && r <= 0x11ff: // marks, and what joins syllables
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut is a text within so many cells: what is longer ends in "…".
func Cut(text string, most int) string {
	if most <= 0 {
		return ""
	}
	n, last, fits := 0, 0, 0 // fits is how long the text is that leaves room for "…"
	for i, r := range text {
		last = cells(r, last)
		if n+last > most {
			return text[:fits] + "…"
		}
		if n += last; n < most {
			fits = i + len(string(r))
		}
	}
	return text
}

// Wrap breaks a text into lines of at most so many cells, at blanks where there
// are any. Line feeds break it too.
func Wrap(text string, most int) []string {
	most = max(most, 2)
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		for Width(line) > most {
			n, last, at, blank := 0, 0, 0, 0
			for i, r := range line {
				last = cells(r, last)
				if n+last > most {
					break
				}
				n += last
				at = i + len(string(r))
				if r == ' ' {
					blank = at
				}
			}
			if blank > 0 {
				at = blank
			}
			out = append(out, strings.TrimRight(line[:at], " "))
			line = line[at:]
		}
		out = append(out, line)
	}
	return out
}
