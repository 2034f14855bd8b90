package diag

import (
	"strconv"
	"strings"
)

// counts contains the numbers of errors and warnings.
type counts [2]int

// Count returns the number of errors and warnings in words: "1 error, 2 warnings".
func Count(ds []*Diagnostic) string {
	var n counts
	for _, d := range ds {
		n[d.Severity()]++
	}
	return n.words("")
}

// beyond returns the part of each count that exceeds most.
func (n counts) beyond(most int) counts {
	for i := range n {
		n[i] = max(n[i]-most, 0)
	}
	return n
}

// words describes the counts that are not 0. more follows each of them.
func (n counts) words(more string) string {
	var parts []string
	for i, k := range n {
		word := thousands(k) + more + " " + Severity(i).String()
		switch {
		case k == 1:
			parts = append(parts, word)
		case k > 1:
			parts = append(parts, word+"s")
		}
	}
	return strings.Join(parts, ", ")
}

// thousands formats a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
