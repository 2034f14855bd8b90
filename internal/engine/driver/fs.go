package driver

import (
	"io/fs"
	"path/filepath"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
)

// FromFS returns the files of a file system as sources. A file's path in it is relative to dir,
// which is absolute.
func FromFS(files fs.FS, dir string) Sources { return &fsSources{files, dir} }

type fsSources struct {
	files fs.FS
	dir   string
}

// relativeName returns a path's name in the file system; false if it is outside.
func (s *fsSources) relativeName(path string) (string, bool) {
	rel, err := filepath.Rel(s.dir, path)
	name := filepath.ToSlash(rel)
	return name, err == nil && fs.ValidPath(name)
}

// Read reads a file.
func (s *fsSources) Read(path, name string) (*source.File, error) {
	in, ok := s.relativeName(path)
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	text, err := fs.ReadFile(s.files, in)
	if err != nil {
		return nil, err
	}
	return source.NewFile(name, text), nil
}

// IsFile reports whether there is a file.
func (s *fsSources) IsFile(path string) bool {
	name, ok := s.relativeName(path)
	if !ok {
		return false
	}
	info, err := fs.Stat(s.files, name)
	return err == nil && !info.IsDir()
}

// Parse parses a file.
func (s *fsSources) Parse(f *source.File) (*ast.File, diag.List) { return parser.Parse(f) }
