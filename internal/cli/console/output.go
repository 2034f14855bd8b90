package console

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// Output of the command besides its standard streams.

// WriteFile replaces the contents of a file by data, whole or not at all. Links
// are followed. An existing file keeps its mode. A device, a pipe, or anything
// else that is no regular file is written into.
func WriteFile(path string, data []byte) error {
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
		return overwrite(path, data) // the directory takes no other file
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

// maxLinks is how many links may lead from one to the next.
const maxLinks = 40

// resolveLinks is the path to which the links at path lead; nothing need exist
// there.
func resolveLinks(path string) (string, error) {
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", errors.New("its links lead in a circle")
}

// createBeside makes a file with an unused name beside path, with the mode of a new
// file.
func createBeside(path string) (*os.File, error) {
	for n := 0; ; n++ {
		f, err := os.OpenFile(filepath.Join(filepath.Dir(path), fmt.Sprintf(".concerto-%d-%d", os.Getpid(), n)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// overwrite writes into what is there.
func overwrite(path string, data []byte) error {
	f, err := userfile.OpenWrite(path, os.O_TRUNC, 0)
	if err != nil {
		return Cause(err)
	}
	_, err = f.Write(data)
	return Cause(errors.Join(err, f.Close()))
}

// PrivateFile opens a file that is written while a run goes on. It cannot be read by
// other users, as it holds what models, hosts and programs say. Links are followed; a
// device or a pipe is written into.
func PrivateFile(path string) (*os.File, error) {
	const private = 0o600
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

// Cause drops the path from an error, which our own message names.
func Cause(err error) error {
	var path *os.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// CreateRecord opens the file of a record, for the flag that names it.
func (a *Console) CreateRecord(flag, path string) (*os.File, error) {
	file, err := PrivateFile(a.Abs(path))
	if err != nil {
		return nil, Usage("", "%s: write %s: %v", flag, path, Cause(err))
	}
	return file, nil
}

// CloseRecord closes the file of a record. It gives err, or why the record may not
// be whole.
func CloseRecord(err error, file *os.File, path string) error {
	if cerr := file.Close(); err == nil && cerr != nil {
		return fmt.Errorf("write %s: %w", path, Cause(cerr))
	}
	return err
}
