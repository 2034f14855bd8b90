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
	if t, err := s.text(s.realPath(path)); err == nil {
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
	return s.shownPath(filepath.FromSlash(f.Name))
}

// stdPrefix begins the names of the library's texts.
const stdPrefix = "std/"

// shownPath returns a real path as the document was opened.
func (s *Snapshot) shownPath(path string) string {
	if d := s.open[path]; d != nil {
		return d.shown
	}
	return path
}

// realPath returns the real path of a document.
func (s *Snapshot) realPath(path string) string {
	if s.open[path] != nil || s.listed[path] {
		return path
	}
	for p, d := range s.open {
		if d.shown == path {
			return p
		}
	}
	return realPath(path)
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

// textOf returns the text of a file, or nil if it cannot be read.
func (s *Snapshot) textOf(path string) *text {
	t, _ := s.text(path)
	return t
}

// tree returns the tree of a program, or nil if there is none.
func (s *Snapshot) tree(path string) *ast.File {
	t, err := s.text(s.realPath(path))
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
		list, err := s.listDiagnostics(ctx, r)
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			if p, mine := s.diagnosticFile(r, d); mine {
				all[p] = append(all[p], d)
			}
		}
	}
	return all, nil
}

// diagnosticFile returns the file of a diagnostic and reports whether this program reports it: of
// several programs that share a file, only one does.
func (s *Snapshot) diagnosticFile(r *root, d *diag.Diagnostic) (path string, mine bool) {
	if d.File == nil {
		return s.shownPath(r.path), true
	}
	p := filepath.FromSlash(d.File.Name)
	if owner := s.owners[p]; owner != nil && owner != r {
		return "", false
	}
	return s.shownPath(p), true
}

// DiagnosticsOf returns the diagnostics of one file.
func (s *Snapshot) DiagnosticsOf(ctx context.Context, path string) ([]*diag.Diagnostic, error) {
	r := s.rootOf(s.realPath(path))
	found := []*diag.Diagnostic{}
	if r == nil {
		return found, ctx.Err()
	}
	list, err := s.listDiagnostics(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, d := range list {
		if p, mine := s.diagnosticFile(r, d); mine && s.realPath(p) == s.realPath(path) {
			found = append(found, d)
		}
	}
	return slices.Clip(found), nil
}
