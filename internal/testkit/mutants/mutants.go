// Package mutants measures which changes of a package its tests detect. It changes the code in one
// small way at a time, each change a mutant, and runs the tests on it. A mutant that survives the
// tests shows a missing test or code without effect, or it behaves like the original (equal.go).
//
// All mutants of a sample are compiled into one build, each selected by an environment variable, so
// that a mutant costs a test run but no compilation. The source tree stays unchanged: the compiler
// reads the changed files through an overlay. A mutant that does not compile does not count.
//
// With all of its mutators, gremlins finds 634 mutants in lexer and 529 in internal/data/schema,
// and this package 1,139 and 1,156.
package mutants

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
)

// Mutant is one change of a package's code.
type Mutant struct {
	File   string // path of the file
	Line   int
	Func   string // name of the enclosing function, or ""
	Change string // description of the change

	start, end int    // byte offsets of the replaced text
	woven      string // replacement of the text, in which %d represents the mutant's number
	nth        int    // index among the mutants of the function that have the same description
}

// String returns the mutant's position and change.
func (m *Mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.File, m.Line, m.Func, m.Change)
}

// rank returns a number for the mutant's order under a seed. It does not depend on changes
// elsewhere in the package.
func (m *Mutant) rank(seed uint64) uint64 {
	text := fmt.Appendf(nil, "%d %s %s %s %d", seed, filepath.Base(m.File), m.Func, m.Change, m.nth)
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:])
}

// sample chooses n of the mutants by a seed, or all if there are at most n. It returns them in
// source order.
func sample(all []*Mutant, n int, seed uint64) []*Mutant {
	out := slices.Clone(all)
	slices.SortFunc(out, func(a, b *Mutant) int { return cmp.Compare(a.rank(seed), b.rank(seed)) })
	out = out[:min(n, len(out))]
	slices.SortFunc(out, inText)
	return out
}

func inText(a, b *Mutant) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.Change, b.Change))
}

// rounds groups the mutants so that no two of a group change the same text. Each group is one
// build.
func rounds(mutants []*Mutant) [][]*Mutant {
	var out [][]*Mutant
	for _, m := range mutants {
		i := slices.IndexFunc(out, func(round []*Mutant) bool {
			return !slices.ContainsFunc(round, func(o *Mutant) bool { return o.File == m.File && o.start < m.end && m.start < o.end })
		})
		if i < 0 {
			i, out = len(out), append(out, nil)
		}
		out[i] = append(out[i], m)
	}
	return out
}
