package diag

import (
	"strconv"
	"strings"
)

// counts contains the number of diagnostics of each severity, indexed by Severity.
type counts [2]int

// Count returns the number of errors and warnings in words: "1 error, 2 warnings".
func Count(ds []*Diagnostic) string {
	var n counts
	for _, d := range ds {
		n[d.Severity()]++
	}
	return n.words("")
}

// beyond returns by how much each count exceeds most, or 0 if it does not.
func (n counts) beyond(most int) counts {
	for i := range n {
		n[i] = max(n[i]-most, 0)
	}
	return n
}

// words describes the counts that are not 0. It inserts more after each number.
func (n counts) words(more string) string {
	var parts []string
	for i, k := range n {
		word := Thousands(k) + more + " " + Severity(i).String()
		switch {
		case k == 1:
			parts = append(parts, word)
		case k > 1:
			parts = append(parts, word+"s")
		}
	}
	return strings.Join(parts, ", ")
}

// Thousands formats a number with commas between groups of three digits.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
