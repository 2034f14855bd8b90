package graph

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Sizes of letters in pixels.
const (
	nameSize  = 13
	smallSize = 11 // of kinds of nodes, and of edges
)

// advances contains the widths of the characters from " " to "~" in thousandths of the font's size.
// They are those of common sans-serif fonts, rounded up. A reader's font may have others: each text
// of a drawing states the width for which the layout has room.
var advances = [...]uint16{
	290, 300, 380, 600, 600, 900, 700, 220, 350, 350, 420, 620, 300, 350, 300, 320,
	600, 600, 600, 600, 600, 600, 600, 600, 600, 600, 300, 300, 620, 620, 620, 560,
	1000, 690, 690, 730, 730, 680, 620, 780, 740, 300, 530, 690, 580, 850, 740, 790,
	680, 790, 730, 680, 630, 740, 680, 950, 680, 680, 630, 320, 320, 320, 500, 570,
	350, 580, 590, 540, 590, 580, 320, 590, 590, 250, 260, 540, 250, 860, 590, 590,
	590, 590, 360, 520, 320, 590, 530, 750, 530, 530, 520, 360, 290, 360, 620,
}

// textWidth returns the width of a text in pixels.
func textWidth(s string, size int) int {
	sum := 0
	for _, r := range s {
		switch {
		case r >= ' ' && r <= '~':
			sum += int(advances[r-' '])
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
			// drawn over the character before
		default:
			switch width.LookupRune(r).Kind() {
			case width.EastAsianWide, width.EastAsianFullwidth:
				sum += 1000
			default:
				sum += 700
			}
		}
	}
	return (sum*size + 999) / 1000
}

// wrapAfter is the number of characters after which a name continues on another line.
const wrapAfter = 32

// wrap divides a name into lines of at most wrapAfter characters: after "_", "/", "." or ":", or
// before a capital letter, if there is one in the second half of the line, and anywhere otherwise.
func wrap(name string) []string {
	var lines []string
	rest := []rune(name)
	for len(rest) > wrapAfter {
		at := wrapAfter
		for i := wrapAfter; i > wrapAfter/2; i-- {
			if strings.ContainsRune("_/.:", rest[i-1]) || unicode.IsUpper(rest[i]) && !unicode.IsUpper(rest[i-1]) {
				at = i
				break
			}
		}
		lines = append(lines, string(rest[:at]))
		rest = rest[at:]
	}
	return append(lines, string(rest))
}
