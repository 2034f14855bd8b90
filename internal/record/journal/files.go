package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file that is appended to.
type File interface {
	io.Writer
	io.Closer
	Sync() error
	Truncate(size int64) error
}

// Files are how a directory reaches its files, so that tests can have any of it fail.
type Files interface {
	Append(name string) (f File, size int64, err error) // makes it when it is not there
	Read(name string) ([]byte, error)
	// Put makes a file whole: under another name, synced, renamed, the directory synced.
	Put(name string, text []byte) error
	// Make makes a file exclusively: the error wraps fs.ErrExist when it is there.
	Make(name string, text []byte) error
	Remove(name string) error
	List(dir string) ([]string, error) // the names, sorted; none when it is not there
	Dir(name string) error             // makes a directory
	SyncDir(name string) error
	Path(name string) string
}

// disk is the directory on the disk.
type disk string

// Path is where a file of the directory is.
func (d disk) Path(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// Append opens a file to append to it.
func (d disk) Append(name string) (File, int64, error) {
	f, err := os.OpenFile(d.Path(name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return plain{f}, info.Size(), nil
}

// plain syncs only what is needed to read a file's data again.
type plain struct{ *os.File }

// Sync puts the file's data on the disk.
func (f plain) Sync() error { return datasync(f.File) }

// Read reads a file whole.
func (d disk) Read(name string) ([]byte, error) { return os.ReadFile(d.Path(name)) }

// Put makes a file whole.
func (d disk) Put(name string, text []byte) error {
	temporary, err := d.written(name, text)
	if err != nil {
		return err
	}
	if err := os.Rename(temporary, d.Path(name)); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return d.SyncDir(filepath.Dir(name))
}

// Make makes a file that must not be there.
func (d disk) Make(name string, text []byte) error {
	temporary, err := d.written(name, text)
	if err != nil {
		return err
	}
	err = os.Link(temporary, d.Path(name))
	if err = errors.Join(err, os.Remove(temporary)); err != nil {
		return err
	}
	return d.SyncDir(filepath.Dir(name))
}

// written is a synced file of another name beside name.
func (d disk) written(name string, text []byte) (temporary string, err error) {
	f, err := os.CreateTemp(filepath.Dir(d.Path(name)), ".new-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// Remove removes a file; that it is not there is no error.
func (d disk) Remove(name string) error {
	if err := os.Remove(d.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List names what is in a directory.
func (d disk) List(dir string) (names []string, err error) {
	all, err := os.ReadDir(d.Path(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names, nil
}

// Dir makes a directory that only its owner reads.
func (d disk) Dir(name string) error { return os.MkdirAll(d.Path(name), 0o700) }

// SyncDir puts the names in a directory on the disk.
func (d disk) SyncDir(name string) error {
	f, err := os.Open(d.Path(name))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
