package terminal

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width returns the number of cells that a text without control characters occupies. Some terminals
// join a sequence of characters to one; Width counts such characters separately.
func Width(text string) int {
	n, last := 0, 0
	for _, r := range text {
		last = cells(r, last)
		n += last
	}
	return n
}

// presented is the variation selector that requests the wide form of the preceding character.
const presented = '\ufe0f'

// cells returns the number of cells that the character r adds. before is the number of cells that
// the previous character added.
func cells(r rune, before int) int {
	switch {
	case r < 0x300:
		if r == 0xad { // soft hyphen
			return 0
		}
		return 1
	case r == presented:
		if before == 1 {
			return 1
		}
		return 0
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf), r >= 0x1160 && r <= 0x11ff: // combining marks, format characters, and jamo that join the preceding syllable
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut shortens a text to at most most cells. A shortened text ends with "…".
func Cut(text string, most int) string {
	if most <= 0 {
		return ""
	}
	n, last, fits := 0, 0, 0 // fits is the length of the longest beginning that leaves room for "…"
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

// Wrap breaks a text into lines of at most most cells. It breaks at line feeds, and at spaces if
// possible.
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
