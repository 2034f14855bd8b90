package console

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// WriteFile replaces a file's contents by data atomically. It follows links and preserves the mode
// of an existing file. If path names a device or a pipe, it writes data into it.
func WriteFile(path string, data []byte) error { return writeFile(path, data, 0) }

// CheckWritable reports whether WriteFile can write a file. It creates no file that remains.
func CheckWritable(path string) error {
	path, err := resolveLinks(path)
	if err != nil {
		return err
	}
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return errors.New("it is a directory")
	case err == nil && info.Mode().Perm()&0o222 == 0:
		return errors.New("it is read-only")
	case err == nil && !info.Mode().IsRegular():
		return nil
	}
	f, err := createBeside(path)
	if err != nil {
		return Cause(err)
	}
	return Cause(errors.Join(f.Close(), os.Remove(f.Name())))
}

// private is the mode of a file that other users cannot read.
const private fs.FileMode = 0o600

// WritePrivateFile is WriteFile for a file that other users cannot read.
func WritePrivateFile(path string, data []byte) error { return writeFile(path, data, private) }

// writeFile writes a file. newMode is its mode, or 0 for the mode of an existing file or of newly
// created files.
func writeFile(path string, data []byte, newMode fs.FileMode) error {
	path, err := resolveLinks(path)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0)
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return Cause(err)
	case info.IsDir():
		return errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return overwrite(path, data)
	case info.Mode().Perm()&0o222 == 0:
		return errors.New("it is read-only")
	default:
		mode = info.Mode().Perm()
	}
	f, err := createBeside(path)
	if errors.Is(err, fs.ErrPermission) && mode != 0 {
		return overwrite(path, data) // no new file can be created in the directory
	}
	if newMode != 0 {
		mode = newMode
	}
	if err != nil {
		return Cause(err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil && mode != 0 {
		err = f.Chmod(mode)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return Cause(err)
	}
	return Cause(os.Rename(f.Name(), path))
}

// maxLinks is the maximum length of a chain of links.
const maxLinks = 40

// resolveLinks follows the links at path and returns the final path, which need not exist.
func resolveLinks(path string) (string, error) {
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // path is not a link
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", errors.New("its links lead in a circle")
}

// createBeside creates a temporary file in path's directory. Its mode is the mode of newly created
// files.
func createBeside(path string) (*os.File, error) {
	for n := 0; ; n++ {
		f, err := os.OpenFile(filepath.Join(filepath.Dir(path), fmt.Sprintf(".concerto-%d-%d", os.Getpid(), n)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// overwrite writes data into an existing file.
func overwrite(path string, data []byte) error {
	f, err := userfile.OpenWrite(path, os.O_TRUNC, 0)
	if err != nil {
		return Cause(err)
	}
	_, err = f.Write(data)
	return Cause(errors.Join(err, f.Close()))
}

// PrivateFile opens a file for writing during a run. Other users cannot read it, because it
// contains texts of models, hosts and programs. It follows links, and writes into a device or a
// pipe.
func PrivateFile(path string) (*os.File, error) {
	f, err := userfile.Create(path, private)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm() != private {
		err = f.Chmod(private)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// Cause returns the error inside a path error, for messages that already contain the path.
func Cause(err error) error {
	return userfile.Cause(err)
}

// IsSameFile reports whether two paths name the same file, which exists.
func IsSameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// IsFile reports whether a path names a regular file.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// CreateRecord creates the file of a recording. flag is the command line flag with the file's path.
func (a *Console) CreateRecord(flag, path string) (*os.File, error) {
	file, err := PrivateFile(a.Abs(path))
	if err != nil {
		return nil, Usage("", "%s: write %s: %v", flag, path, Cause(err))
	}
	return file, nil
}

// CloseRecord closes the file of a recording. It returns err if that is not nil, and otherwise the
// error of closing the file.
func CloseRecord(err error, file *os.File, path string) error {
	if cerr := file.Close(); err == nil && cerr != nil {
		return fmt.Errorf("write %s: %w", path, Cause(cerr))
	}
	return err
}
