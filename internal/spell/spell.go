// Package spell finds the name that was most likely meant by a misspelt one.
// The parser, the checker, the manifest and the command line use it for their
// "did you mean" hints. It knows nothing of what the names stand for.
package spell

import (
	"strings"
	"unicode/utf8"
)

// Nearest gives the candidate that is nearest to name by edit distance
// (insertions, deletions, replacements and swaps of neighbours, letter case
// counting little), or "" when none is near enough to be a slip of the
// fingers. Of equally near candidates the first wins. A candidate equal to
// name is no suggestion.
func Nearest(name string, candidates []string) string {
	best, bestDist := "", limit(name)+1
	lower := strings.ToLower(name)
	for _, c := range candidates {
		if c == name || c == "" {
			continue
		}
		if diff := utf8.RuneCountInString(c) - utf8.RuneCountInString(name); diff >= bestDist || -diff >= bestDist {
			continue
		}
		d := distance(lower, strings.ToLower(c))
		if d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}

// limit is the largest distance that still counts as near: about a third of
// the name.
func limit(name string) int {
	switch n := utf8.RuneCountInString(name); {
	case n == 0:
		return -1
	case n == 1:
		return 0
	case n <= 3:
		return 1
	default:
		return max(2, n/3)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// distance is the restricted Damerau-Levenshtein distance of a and b.
func distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	before := make([]int, len(rb)+1)
	last := make([]int, len(rb)+1)
	row := make([]int, len(rb)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(ra); i++ {
		row[0] = i
		for j := 1; j <= len(rb); j++ {
			cost := boolInt(ra[i-1] != rb[j-1])
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(rb)]
}
