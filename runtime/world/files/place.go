package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// place is a tree in which names are resolved: the whole file system, or one root out of which no
// name can lead.
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

// area is the set of files that may be read, or the set of files that may be written: all files, or
// trees of files.
type area struct {
	all   bool
	roots []string // trees in the form of permit.Real; nil for all files
}

// absolute converts a program's path to an absolute path. It uses only the text and does not follow
// links.
func (f *Files) absolute(path string) (string, error) {
	if path == "" {
		return "", errors.New("the path is empty")
	}
	if strings.IndexByte(path, 0) >= 0 {
		return "", errors.New("the path contains NUL")
	}
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) && f.dir != "" {
		path = filepath.Join(f.dir, path)
	}
	return path, nil
}

// refusePath returns the error for a path outside the roots of an area.
func (f *Files) refusePath(a *area, path string) error {
	text := path + " is not permitted"
	if f.refused != nil {
		if why := f.refused(a == &f.writes, path); why != "" {
			text = why
		}
	}
	return effect.Errorf("FsError", "%s", text).With("path", path)
}

// rootOf returns the root of an area, or the temporary directory of the run, that contains a path.
// real is the path in the form of permit.Real.
func (f *Files) rootOf(a *area, path string, last bool) (root, real string, ok bool) {
	real = permit.Real(path, last)
	for _, r := range a.roots {
		if permit.Below(r, real) {
			return r, real, true
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tempReal, real, f.tempReal != "" && permit.Below(f.tempReal, real)
}

// usePlace calls use with the place that contains a path and with the path's name in that place. If
// the last element of the path is a link, it is followed only if last is true.
func (f *Files) usePlace(a *area, path string, last bool, use func(p place, name string) error) error {
	abs, err := f.absolute(path)
	if err != nil {
		return err
	}
	if a.all {
		return use(system{}, abs)
	}
	root, real, ok := f.rootOf(a, abs, last)
	if !ok {
		return f.refusePath(a, path)
	}
	base := directory(root)
	name, err := filepath.Rel(base, real)
	if err != nil {
		return err
	}
	dir, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := use(dir, name); !escapes(err) {
		return err
	}
	return f.refusePath(a, path)
}

// directory returns the directory to open for a root: the root itself, or its parent if the root is
// a file or does not exist.
func directory(root string) string {
	if info, err := os.Lstat(root); err != nil || !info.IsDir() {
		return filepath.Dir(root)
	}
	return root
}

// escapes reports whether err means that a link leads out of a root. Package os does not export
// that error, so escapes compares its text.
func escapes(err error) bool {
	const text = "path escapes from parent"
	var at *fs.PathError
	var link *os.LinkError
	return errors.As(err, &at) && at.Err.Error() == text || errors.As(err, &link) && link.Err.Error() == text
}

// openFile opens the file at a path. It opens the file for writing if the flags require it.
func (f *Files) openFile(path string, flag int) (*os.File, error) {
	a := &f.reads
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		a = &f.writes
	}
	var file *os.File
	err := f.usePlace(a, path, true, func(p place, name string) (err error) {
		file, err = p.OpenFile(name, flag, 0o666)
		return err
	})
	return file, err
}
