// Package mutants finds out what a package's tests would notice. It changes the
// package's code in one small way at a time, each a mutant, and runs the tests
// on it. A mutant that survives the tests shows a missing test or code without
// effect, or it has the same behaviour as the code (equal.go).
//
// All mutants of a sample are compiled into one build, each behind a switch in
// the environment, so that a mutant costs a run of the tests but no compilation.
// Nothing is written into the source tree: the compiler reads the changed files
// through an overlay. A mutant that does not compile does not count.
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

// rank is the mutant's place in the order of a seed. It does not depend on
// changes elsewhere in the package.
func (m *Mutant) rank(seed uint64) uint64 {
	text := fmt.Appendf(nil, "%d %s %s %s %d", seed, filepath.Base(m.File), m.Func, m.Change, m.nth)
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:])
}

// sample chooses n of the mutants by a seed, or all when there are no more. They
// are in the order of the text.
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

// rounds groups the mutants so that no two of a group change the same text. Each
// group is one build.
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
