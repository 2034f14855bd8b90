package repair

import (
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Rounds applies safe fixes until there are none left. In each round, the caller passes the
// diagnostics of the current texts. The zero Rounds is ready to use.
type Rounds struct {
	// Program reports whether a file contains Concerto source. If fixes would add syntax errors to
	// such a file, the file stays unchanged. If Program is nil, every file contains Concerto
	// source.
	Program func(name string) bool

	files []*Fixed
}

// Fixed is a file that has been fixed.
type Fixed struct {
	Was   *source.File
	Edits []diag.Edit // edits of Was, in the order of the text
	Fixes int

	left bool // no further fixes are applied, because they would add syntax errors or produce an earlier text again
	seen map[string]bool
}

// Name returns the name of the file.
func (f *Fixed) Name() string { return f.Was.Name }

// Text returns the text with all fixes applied.
func (f *Fixed) Text() []byte { return Apply(f.Was, f.Edits) }

// Round applies the safe fixes of the diagnostics in found, and returns the files that they
// changed.
func (r *Rounds) Round(found []*diag.Diagnostic) (changed []*Fixed) {
	for _, c := range Safe(found) {
		f := r.file(c.File)
		if f.left {
			continue
		}
		text := Apply(c.File, c.Edits)
		if f.seen[string(text)] || (r.Program == nil || r.Program(f.Name())) && Worse(c.File, source.NewFile(f.Name(), text)) {
			f.left = true
			continue
		}
		f.Edits, f.Fixes = Compose(f.Edits, c.Edits), f.Fixes+c.Fixes
		f.seen[string(text)] = true
		changed = append(changed, f)
	}
	return changed
}

// Files returns the fixed files, in the order of their first fix.
func (r *Rounds) Files() (all []*Fixed) {
	for _, f := range r.files {
		if f.Fixes > 0 {
			all = append(all, f)
		}
	}
	return all
}

func (r *Rounds) file(f *source.File) *Fixed {
	for _, x := range r.files {
		if x.Name() == f.Name {
			return x
		}
	}
	x := &Fixed{Was: f, seen: map[string]bool{string(f.Original()): true}}
	r.files = append(r.files, x)
	return x
}
