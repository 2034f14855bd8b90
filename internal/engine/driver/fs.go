package driver

import (
	"io/fs"
	"path/filepath"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
)

// FromFS returns sources that read the files of a file system. dir is the absolute path of its
// root.
func FromFS(files fs.FS, dir string) Sources { return &fsSources{files, dir} }

type fsSources struct {
	files fs.FS
	dir   string
}

// relativeName converts an absolute path to a name in the file system. ok is false if the path is
// outside the root.
func (s *fsSources) relativeName(path string) (string, bool) {
	rel, err := filepath.Rel(s.dir, path)
	name := filepath.ToSlash(rel)
	return name, err == nil && fs.ValidPath(name)
}

// Read reads the file at an absolute path. The file's name in messages is name.
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

// IsFile reports whether a file exists at an absolute path.
func (s *fsSources) IsFile(path string) bool {
	name, ok := s.relativeName(path)
	if !ok {
		return false
	}
	info, err := fs.Stat(s.files, name)
	return err == nil && !info.IsDir()
}

// Parse parses a file that Read has returned.
func (s *fsSources) Parse(f *source.File) (*ast.File, diag.List) { return parser.Parse(f) }
