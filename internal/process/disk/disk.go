// Package disk accesses files. Tests replace it to make operations fail, and to crash processes
// between two operations.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// Disk returns the files in a directory. A nil Disk is the real disk.
type Disk func(dir string) Files

// At returns the files in a directory, which need not exist.
func (d Disk) At(dir string) Files {
	if d == nil {
		return At(dir)
	}
	return d(dir)
}

// File is an open file.
type File interface {
	io.ReadWriteSeeker
	io.Closer
	Sync() error
	Truncate(size int64) error
	// Lock locks the file until it is closed or the process exits. It does not wait. If another
	// process holds the lock, the error is a *lockfile.HeldError.
	Lock() error
}

// Files contains the operations on the files of a directory. Names are slash-separated paths
// relative to the directory. Errors are *fs.PathError, like those of package os.
type Files interface {
	Append(name string) (f File, size int64, err error) // opens a file for appending, and creates it if it does not exist
	// Open opens a regular file with flags of package os. It never blocks. For another kind of file
	// the error wraps userfile.ErrNotRegular.
	Open(name string, flags int, perm fs.FileMode) (File, error)
	Read(name string) ([]byte, error)
	Stat(name string) (fs.FileInfo, error)
	// Put writes a file atomically: it writes and syncs a temporary file, renames it, and syncs the
	// directory.
	Put(name string, text []byte) error
	// Make creates a file. If the file exists, the error wraps fs.ErrExist.
	Make(name string, text []byte) error
	Remove(name string) error
	List(dir string) ([]string, error) // returns the sorted names in a directory; none if the directory does not exist
	Dir(name string) error             // creates a directory
	SyncDir(name string) error
	Path(name string) string
	// Lock locks a file for this process until unlock is called; see lockfile.LockAfter. It creates
	// the file if it does not exist.
	Lock(name string, holder func() int) (unlock func() error, err error)
	IsLocked(name string) (bool, error) // reports whether a process holds the lock of a file
}

// directory is the path of a directory on the real disk.
type directory string

// At returns the files in a directory of the real disk. The directory need not exist.
func At(dir string) Files { return directory(dir) }

// Path returns the path of a file in the directory.
func (d directory) Path(name string) string {
	return filepath.Join(string(d), filepath.FromSlash(name))
}

// Append opens a file for appending.
func (d directory) Append(name string) (File, int64, error) {
	f, err := os.OpenFile(d.Path(name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return osFile{f}, info.Size(), nil
}

// osFile is a file whose Sync writes only the metadata that reading needs.
type osFile struct{ *os.File }

// Sync writes the data of the file to the disk.
func (f osFile) Sync() error { return datasync(f.File) }

// Open opens a regular file.
func (d directory) Open(name string, flags int, perm fs.FileMode) (File, error) {
	f, err := userfile.OpenFile(d.Path(name), flags, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Stat describes a file.
func (d directory) Stat(name string) (fs.FileInfo, error) { return os.Stat(d.Path(name)) }

// Lock locks a file for this process.
func (d directory) Lock(name string, holder func() int) (unlock func() error, err error) {
	return lockfile.LockAfter(d.Path(name), holder)
}

// IsLocked reports whether a process holds the lock of a file.
func (d directory) IsLocked(name string) (bool, error) { return lockfile.Held(d.Path(name)) }

// Read returns the content of a file.
func (d directory) Read(name string) ([]byte, error) { return os.ReadFile(d.Path(name)) }

// Put writes a file atomically.
func (d directory) Put(name string, text []byte) error {
	temporary, err := d.writeTemporary(name, text)
	if err != nil {
		return err
	}
	if err := userfile.Rename(temporary, d.Path(name)); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return d.SyncDir(filepath.Dir(name))
}

// Make creates a file. If the file exists, the error wraps fs.ErrExist.
func (d directory) Make(name string, text []byte) error {
	temporary, err := d.writeTemporary(name, text)
	if err != nil {
		return err
	}
	err = os.Link(temporary, d.Path(name))
	if err = errors.Join(err, os.Remove(temporary)); err != nil {
		return err
	}
	return d.SyncDir(filepath.Dir(name))
}

// writeTemporary writes and syncs a temporary file in the directory of name. It returns its path.
func (d directory) writeTemporary(name string, text []byte) (temporary string, err error) {
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

// Remove removes a file. A missing file is not an error.
func (d directory) Remove(name string) error {
	if err := os.Remove(d.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List returns the sorted names in a directory.
func (d directory) List(dir string) (names []string, err error) {
	all, err := os.ReadDir(d.Path(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names, nil
}

// Dir creates a directory that only its owner can access.
func (d directory) Dir(name string) error { return os.MkdirAll(d.Path(name), 0o700) }

// SyncDir writes the entries of a directory to the disk.
func (d directory) SyncDir(name string) error {
	return userfile.SyncDir(d.Path(name))
}
