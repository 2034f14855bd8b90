package fs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/effect"
)

// place is where a name is looked up: the whole file system, or one root that
// nothing leads out of.
type place interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	MkdirAll(name string, perm fs.FileMode) error
	Remove(name string) error
	Rename(from, to string) error
}

// system is the whole file system.
type system struct{}

func (system) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}
func (system) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }
func (system) Lstat(name string) (fs.FileInfo, error)       { return os.Lstat(name) }
func (system) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }
func (system) Remove(name string) error                     { return os.Remove(name) }
func (system) Rename(from, to string) error                 { return os.Rename(from, to) }

// absolute is where a program's path leads, by its text alone.
func (f *Files) absolute(path string) (string, error) {
	if path == "" {
		return "", errors.New("the path is empty")
	}
	if strings.IndexByte(path, 0) >= 0 {
		return "", errors.New("the path holds a NUL")
	}
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) && f.dir != "" {
		path = filepath.Join(f.dir, path)
	}
	if f.all {
		return path, nil
	}
	return filepath.Abs(path)
}

// refused is the error of a path that [permissions] does not grant.
func refused(path string) error {
	return effect.Errorf("FsError", "%s is not permitted: add its directory to `fs` in [permissions]", path).With("path", path)
}

// rootOf finds the root that an absolute path is in, and its name there.
func (f *Files) rootOf(abs string) (root, string, bool) {
	for _, r := range f.roots {
		for _, base := range []string{r.path, r.real} {
			if name, err := filepath.Rel(base, abs); base != "" && err == nil && filepath.IsLocal(name) {
				return r, name, true
			}
		}
	}
	return root{}, "", false
}

// Allowed says whether a file may be used that something else than Files opens:
// with every link followed, it must be in a root. path is absolute.
func (f *Files) Allowed(path string) bool {
	if f.all {
		return true
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		dir = filepath.Dir(path)
	}
	real := filepath.Join(dir, filepath.Base(path))
	if target, err := filepath.EvalSymlinks(real); err == nil {
		real = target
	}
	for _, r := range f.roots {
		for _, base := range []string{r.path, r.real} {
			if name, err := filepath.Rel(base, real); base != "" && err == nil && filepath.IsLocal(name) {
				return true
			}
		}
	}
	return false
}

// within calls use with the place and the name there that a path leads to.
func (f *Files) within(path string, use func(p place, name string) error) error {
	abs, err := f.absolute(path)
	if err != nil {
		return err
	}
	if f.all {
		return use(system{}, abs)
	}
	r, name, ok := f.rootOf(abs)
	if !ok {
		return refused(path)
	}
	dir, err := os.OpenRoot(r.path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := use(dir, name); !escapes(err) {
		return err
	}
	return refused(path)
}

// escapes says whether err is that a link led out of a root. Package os does
// not export what it says then.
func escapes(err error) bool {
	const text = "path escapes from parent"
	var at *fs.PathError
	var link *os.LinkError
	return errors.As(err, &at) && at.Err.Error() == text || errors.As(err, &link) && link.Err.Error() == text
}

// open opens the file at a path.
func (f *Files) open(path string, flag int) (*os.File, error) {
	var file *os.File
	err := f.within(path, func(p place, name string) (err error) {
		file, err = p.OpenFile(name, flag, 0o666)
		return err
	})
	return file, err
}
