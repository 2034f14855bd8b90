package analysis

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Snapshot is the workspace at one moment.
type Snapshot struct {
	number  int
	open    map[string]*document
	disk    *disk
	listed  map[string]bool
	results *results

	once   sync.Once
	found  []*root
	owners map[string]*root // of programs and manifests, by real path
}

// Number returns the snapshot's: later ones have higher numbers.
func (s *Snapshot) Number() int { return s.number }

// File returns the text of a file, or nil when there is none.
func (s *Snapshot) File(path string) *source.File {
	if t, err := s.text(s.real(path)); err == nil {
		return t.file
	}
	return nil
}

// PathOf returns the path of a file that a query has given. It is "" for texts of the library,
// which are in no file.
func (s *Snapshot) PathOf(f *source.File) string {
	if strings.HasPrefix(f.Name, stdPrefix) {
		return ""
	}
	return s.shown(filepath.FromSlash(f.Name))
}

// stdPrefix begins the names of the library's texts.
const stdPrefix = "std/"

// shown returns a real path as the document was opened.
func (s *Snapshot) shown(path string) string {
	if d := s.open[path]; d != nil {
		return d.shown
	}
	return path
}

// real returns the real path of a document.
func (s *Snapshot) real(path string) string {
	if s.open[path] != nil || s.listed[path] {
		return path
	}
	for p, d := range s.open {
		if d.shown == path {
			return p
		}
	}
	return real(path)
}

// text returns the text of a real path.
func (s *Snapshot) text(path string) (*text, error) {
	if d := s.open[path]; d != nil {
		return d.text, nil
	}
	if !IsFile(path) {
		return nil, fs.ErrNotExist
	}
	f := s.disk.read(path)
	return f.text, f.err
}

// state returns the text of a file, or nil if it cannot be read.
func (s *Snapshot) state(path string) *text {
	t, _ := s.text(path)
	return t
}

// tree returns the tree of a program, or nil if there is none.
func (s *Snapshot) tree(path string) *ast.File {
	t, err := s.text(s.real(path))
	if err != nil || isManifest(path) {
		return nil
	}
	tree, _ := t.parse()
	return tree
}

// Diagnostics returns the diagnostics by file path, including files without any. They are the same
// as those of `concerto check`, in the order of the text.
func (s *Snapshot) Diagnostics(ctx context.Context) (map[string][]*diag.Diagnostic, error) {
	all := map[string][]*diag.Diagnostic{}
	for _, p := range s.Files() {
		all[p] = []*diag.Diagnostic{}
	}
	for _, r := range s.roots() {
		list, err := s.told(ctx, r)
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			if p, mine := s.tells(r, d); mine {
				all[p] = append(all[p], d)
			}
		}
	}
	return all, nil
}

// tells returns the file of a diagnostic and reports whether this program reports it: of several
// programs that share a file, only one does.
func (s *Snapshot) tells(r *root, d *diag.Diagnostic) (path string, mine bool) {
	if d.File == nil {
		return s.shown(r.path), true
	}
	p := filepath.FromSlash(d.File.Name)
	if owner := s.owners[p]; owner != nil && owner != r {
		return "", false
	}
	return s.shown(p), true
}

// DiagnosticsOf returns the diagnostics of one file.
func (s *Snapshot) DiagnosticsOf(ctx context.Context, path string) ([]*diag.Diagnostic, error) {
	r := s.rootOf(s.real(path))
	found := []*diag.Diagnostic{}
	if r == nil {
		return found, ctx.Err()
	}
	list, err := s.told(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, d := range list {
		if p, mine := s.tells(r, d); mine && s.real(p) == s.real(path) {
			found = append(found, d)
		}
	}
	return slices.Clip(found), nil
}
