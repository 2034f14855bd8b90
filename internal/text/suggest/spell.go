// Package suggest finds the name that was most likely meant by a misspelled name. The parser, the
// checker, the manifest and the command line use it for "did you mean" hints. It does not know what
// the names denote.
package suggest

import (
	"math/bits"
	"strings"
	"unicode"
)

// Set is a set of names, prepared for repeated queries. The zero value is an empty set.
type Set struct{ parts [][]candidate }

// candidate is a name in a Set.
type candidate struct {
	text    string
	n       int // number of letters
	letters letters
}

// letters is the set of letters in a name, regardless of case. Each letter is represented by a bit;
// some letters share a bit.
type letters uint64

func (l letters) and(lower rune) letters { return l | 1<<(uint(lower)%64) }

// without returns the number of letters that are in l but not in o. Letters that share a bit count
// as one.
func (l letters) without(o letters) int { return bits.OnesCount64(uint64(l &^ o)) }

func newCandidate(text string) candidate {
	c := candidate{text: text}
	for _, r := range text {
		c.n++
		c.letters = c.letters.and(unicode.ToLower(r))
	}
	return c
}

// NewSet returns the Set of names.
func NewSet(names []string) Set {
	part := make([]candidate, len(names))
	for i, n := range names {
		part[i] = newCandidate(n)
	}
	return Set{[][]candidate{part}}
}

// And returns the union of two sets.
func (s Set) And(o Set) Set {
	return Set{append(s.parts[:len(s.parts):len(s.parts)], o.parts...)}
}

// Has reports whether the set contains a name.
func (s Set) Has(name string) bool {
	for _, part := range s.parts {
		for i := range part {
			if part[i].text == name {
				return true
			}
		}
	}
	return false
}

// Nearest returns the candidate that name was most likely meant to be. It returns "" if no
// candidate is close enough to be explained by a typing error. The choice depends on the edit
// distance (insertions, deletions, replacements and swaps of neighbours; letter case is ignored)
// and on the length of the common beginning, because people usually type the beginning correctly.
// The two names must have more than two letters in common, or all letters of the shorter name. A
// name of at least four letters may also be an abbreviation, that is, the beginning of a candidate.
// A candidate equal to name is never returned. Among equally likely candidates, the alphabetically
// first is returned.
func Nearest(name string, candidates []string) string { return NewSet(candidates).Nearest(name) }

// Nearest is the function Nearest for the names in the set.
func (s Set) Nearest(name string) string {
	m := newMatcher(name)
	if len(m.name) == 0 {
		return ""
	}
	best, bestCost := "", 0
	for _, part := range s.parts {
		for i := range part {
			c := &part[i]
			if c.text == name || c.n == 0 {
				continue
			}
			cost, ok := m.cost(c)
			if ok && (best == "" || cost < bestCost || cost == bestCost && c.text < best) {
				best, bestCost = c.text, cost
			}
		}
	}
	return best
}

// Certain reports whether name certainly means near, which is the result of Nearest. The two must
// differ only by a typing error, and no other candidate may be close to name. If they differ only
// by letter case or `_`, it is enough that no other candidate differs only in this way.
func Certain(name, near string, candidates []string) bool {
	return NewSet(candidates).Certain(name, near)
}

// Certain is the function Certain for the names in the set.
func (s Set) Certain(name, near string) bool {
	if !isSlip(name, near) {
		return false
	}
	m, same := newMatcher(name), plain(name) == plain(near)
	for _, part := range s.parts {
		for i := range part {
			c := &part[i]
			if c.text == name || c.text == near || c.n == 0 || same && plain(c.text) != plain(near) {
				continue
			}
			if _, ok := m.cost(c); ok {
				return false
			}
		}
	}
	return true
}

// EditDistance returns the edit distance between two names: the number of wrong, missing, extra or
// swapped letters, regardless of case.
func EditDistance(a, b string) int {
	var m matcher
	return m.distance([]rune(strings.ToLower(a)), []rune(strings.ToLower(b)))
}

// Costs of edits, the discount for each letter of a common beginning, and the maximum number of
// such letters. abbreviated is the cost of an abbreviation, which is higher than the cost of any
// edit.
const (
	perEdit     = 4
	perLetter   = 1
	mostLetters = 6
	abbreviated = 1000
)

// matcher compares one name with many candidates.
type matcher struct {
	name, other []rune
	letters     letters
	rows        [3][]int
}

func newMatcher(name string) *matcher {
	m := &matcher{name: []rune(strings.ToLower(name))}
	for _, r := range m.name {
		m.letters = m.letters.and(r)
	}
	return m
}

// cost returns a measure of how unlikely it is that a candidate was meant. ok is false if the
// candidate is too different.
func (m *matcher) cost(candidate *candidate) (cost int, ok bool) {
	n, k, most := len(m.name), candidate.n, limit(len(m.name))
	if k > 3*n || k < n-most || k > n+most && n < 4 {
		return 0, false
	}
	// Each letter that occurs in only one of the names requires an edit.
	lacks := m.letters.without(candidate.letters)
	near := max(n-k, k-n) <= most && lacks <= most && candidate.letters.without(m.letters) <= most
	if !near && (lacks > 0 || n < 4) {
		return 0, false
	}
	m.other = m.other[:0]
	for _, r := range candidate.text {
		m.other = append(m.other, unicode.ToLower(r))
	}
	a, b, same := middles(m.name, m.other)
	if near {
		both := n - len(a) + common(a, b) // number of common letters
		d := max(n, k) - both             // lower bound of the edit distance
		if d <= most {
			d = m.distance(a, b)
		}
		if d <= most && (both > 2 || d <= 1 && both == min(n, k)) {
			return perEdit*d - perLetter*min(same, mostLetters), true
		}
	}
	if n >= 4 && same == n && k <= 3*n {
		return abbreviated + k, true
	}
	return 0, false
}

// middles returns two names without their common beginning and common end, and the length of the
// common beginning. The edit distance of the middles is that of the names.
func middles(a, b []rune) (x, y []rune, same int) {
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	x, y = a[same:], b[same:]
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return x, y, same
}

// common returns the number of letters that both names contain, at any position.
func common(a, b []rune) int {
	n := 0
	for i, r := range a {
		if count(a[:i], r) < count(b, r) {
			n++
		}
	}
	return n
}

func count(rs []rune, r rune) int {
	n := 0
	for _, x := range rs {
		n += boolInt(x == r)
	}
	return n
}

// limit returns the maximum edit distance at which a name of n letters counts as close: about a
// third of n.
func limit(n int) int {
	if n <= 3 {
		return n / 2
	}
	return max(2, n/3)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// distance returns the restricted Damerau-Levenshtein distance of a and b.
func (m *matcher) distance(a, b []rune) int {
	for i := range m.rows {
		if cap(m.rows[i]) <= len(b) {
			m.rows[i] = make([]int, len(b)+1)
		}
		m.rows[i] = m.rows[i][:len(b)+1]
	}
	before, last, row := m.rows[0], m.rows[1], m.rows[2]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+boolInt(a[i-1] != b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
