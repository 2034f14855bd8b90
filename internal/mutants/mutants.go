// Package mutants asks what a package's tests would notice: it changes the
// package's code in one small way after the other, each a mutant, and runs the
// tests on it. A mutant that they let live is a test that nobody wrote, code that
// does nothing, or the same in other words (equal.go).
//
// All mutants of a sample are woven into one build, each behind a switch that the
// environment sets, so that a mutant costs a run of the tests but no compilation.
// Nothing is written into the tree: the compiler reads the woven files by an
// overlay. A mutant that does not compile is none.
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
	File   string // its path
	Line   int
	Func   string // the function around it, "" outside of all
	Change string // what is done to the text there

	start, end int    // bytes of the file that are replaced
	woven      string // by this; a number stands for each %d: the mutant's
	nth        int    // of those in the function with the same change
}

// String names the mutant, by its line.
func (m *Mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.File, m.Line, m.Func, m.Change)
}

// rank puts mutants into the order of a seed, which changes elsewhere in the
// package leave as it is.
func (m *Mutant) rank(seed uint64) uint64 {
	text := fmt.Appendf(nil, "%d %s %s %s %d", seed, filepath.Base(m.File), m.Func, m.Change, m.nth)
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:])
}

// sample takes n of the mutants by a seed, or all when there are no more, in the
// order of the text.
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

// rounds puts mutants into groups of which no two change the same text: each is
// one build.
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
