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

	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// Snapshot is an immutable state of the workspace.
type Snapshot struct {
	number  int
	data    driver.CheckData
	open    map[string]*document
	disk    *disk
	listed  map[string]bool
	results *results

	once   sync.Once
	found  []*root
	owners map[string]*root // the root that reports the diagnostics of a program or manifest, by real path
}

// Number returns the number of the snapshot. Later snapshots have higher numbers.
func (s *Snapshot) Number() int { return s.number }

// File returns the text of a file, or nil if the file does not exist.
func (s *Snapshot) File(path string) *source.File {
	if t, err := s.text(s.realPath(path)); err == nil {
		return t.file
	}
	return nil
}

// PathOf returns the path of a file that a query returned. It is "" for a text of the library,
// which is not on the disk.
func (s *Snapshot) PathOf(f *source.File) string {
	if strings.HasPrefix(f.Name, stdPrefix) {
		return ""
	}
	return s.shownPath(filepath.FromSlash(f.Name))
}

// stdPrefix is the prefix of the names of library texts.
const stdPrefix = "std/"

// shownPath returns the path by which a document was opened. For a file that is not open it returns
// the real path.
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

// text returns the text of the file with a real path.
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

// tree returns the syntax tree of a program, or nil if the file does not exist.
func (s *Snapshot) tree(path string) *ast.File {
	t, err := s.text(s.realPath(path))
	if err != nil || isManifest(path) {
		return nil
	}
	tree, _ := t.parse()
	return tree
}

// Diagnostics returns the diagnostics by file path, in the order of the text. Files without
// diagnostics are included. The diagnostics are the same as those of `concerto check`.
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

// diagnosticFile returns the file of a diagnostic and reports whether root r reports it. If several
// programs share a file, only one of them reports the file's diagnostics.
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
