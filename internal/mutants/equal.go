package mutants

import (
	"path/filepath"
	"slices"
)

// same is a mutant that no test can notice, with the reason: its change affects
// only speed, or a case that cannot occur.
type same struct{ pkg, file, fn, change, why string }

// equal are the mutants that are left out.
var equal = []same{}

// is says whether it is a mutant of its package.
func (s same) is(m *Mutant) bool {
	return s.file == filepath.Base(m.File) && s.fn == m.Func && s.change == m.Change
}

// isEqual says whether a mutant of a package is among those.
func isEqual(pkg string, m *Mutant) bool {
	return slices.ContainsFunc(equal, func(s same) bool { return s.pkg == pkg && s.is(m) })
}
