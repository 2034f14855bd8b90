// Package disk accesses files. Tests replace it to make operations fail, and to crash processes
// between two operations.
package disk

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
	Truncate(size int64) error
	// Lock locks the file until it is closed or the process exits. It does not wait. If another
	// process holds the lock, the error is a *lockfile.HeldError.
	Lock() error
	// IsRemoved reports whether the file was deleted. It returns false if only its directory was
	// renamed.
	IsRemoved() bool
}

// Files contains the operations on the files of a directory. Names are slash-separated paths
// relative to the directory. Errors are *fs.PathError, like those of package os.
type Files interface {
	// Append opens a file for appending, and creates it if it does not exist.
	Append(name string) (f File, size int64, err error)
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
	// List returns the sorted names in a directory; none if the directory does not exist.
	List(dir string) ([]string, error)
	// Dir creates a directory and its missing parents. The directory of the Files itself, with the
	// name ".", then survives a power cut; another one does after SyncDir of its parent.
	Dir(name string) error
	SyncDir(name string) error
	Path(name string) string
	// Lock locks a file for this process until unlock is called; see lockfile.LockAfter. It creates
	// the file if it does not exist.
	Lock(name string, holder func() int) (unlock func() error, err error)
	IsLocked(name string) (bool, error) // reports whether a process holds the lock of a file
}

// directory is a directory of a system.
type directory struct {
	system System
	path   string
}

// At returns the files in a directory of the real disk. The directory need not exist.
func At(dir string) Files { return On(system{}, dir) }

// On returns the files in a directory of a system. The directory need not exist.
func On(s System, dir string) Files { return directory{s, dir} }

// Path returns the path of a file in the directory.
func (d directory) Path(name string) string {
	return filepath.Join(d.path, filepath.FromSlash(name))
}

// Append opens a file for appending.
func (d directory) Append(name string) (File, int64, error) {
	f, err := d.system.Open(d.Path(name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, size, nil
}

// Open opens a regular file.
func (d directory) Open(name string, flags int, perm fs.FileMode) (File, error) {
	return d.system.Open(d.Path(name), flags, perm)
}

// Read returns the content of a file.
func (d directory) Read(name string) ([]byte, error) { return d.system.Read(d.Path(name)) }

// Stat describes a file.
func (d directory) Stat(name string) (fs.FileInfo, error) { return d.system.Stat(d.Path(name)) }

// Put writes a file atomically.
func (d directory) Put(name string, text []byte) error {
	return d.writeAtomically(name, text, d.system.Rename)
}

// Make creates a file. If the file exists, the error wraps fs.ErrExist.
func (d directory) Make(name string, text []byte) error {
	return d.writeAtomically(name, text, func(temporary, path string) error {
		return errors.Join(d.system.Link(temporary, path), d.removePath(temporary))
	})
}

// writeAtomically writes a temporary file, which move renames or links. It tries again if the
// temporary file is missing: a run that ends removes all of them, those of live processes, too.
func (d directory) writeAtomically(name string, text []byte, move func(temporary, path string) error) error {
	for tried := false; ; tried = true {
		temporary, err := d.writeTemporary(name, text)
		if err != nil {
			return err
		}
		err = move(temporary, d.Path(name))
		switch {
		case err == nil:
			return d.SyncDir(filepath.Dir(name))
		case tried || !errors.Is(err, fs.ErrNotExist):
			return errors.Join(err, d.removePath(temporary))
		}
	}
}

// TemporaryPrefix is the prefix of the names of temporary files.
const TemporaryPrefix = ".new-"

// writeTemporary writes and syncs a temporary file in the directory of name. It returns its path.
func (d directory) writeTemporary(name string, text []byte) (temporary string, err error) {
	temporary = filepath.Join(filepath.Dir(d.Path(name)), TemporaryPrefix+rand.Text())
	f, err := d.system.Open(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, d.removePath(temporary))
	}
	return temporary, nil
}

// Remove removes a file. A missing file is not an error.
func (d directory) Remove(name string) error { return d.removePath(d.Path(name)) }

func (d directory) removePath(path string) error {
	if err := d.system.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List returns the sorted names in a directory.
func (d directory) List(dir string) ([]string, error) {
	names, err := d.system.List(d.Path(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return names, nil
}

// Dir creates a directory that only its owner can access, and its missing parents.
func (d directory) Dir(name string) error {
	path := d.Path(name)
	return d.makeDir(path, path == filepath.Clean(d.path))
}

// makeDir creates a directory and its missing parents. sync means that it syncs their names, and
// that of an existing directory: the process that has created it may have died before, or failed.
func (d directory) makeDir(path string, sync bool) error {
	err := d.system.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.makeDir(filepath.Dir(path), sync); err != nil {
			return err
		}
		err = d.system.Mkdir(path, 0o700)
	}
	isOld := errors.Is(err, fs.ErrExist)
	if isOld {
		info, serr := d.system.Stat(path)
		switch {
		case serr != nil:
			return err
		case !info.IsDir():
			return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
		}
		err = nil
	}
	if err == nil && sync {
		err = d.system.SyncDir(filepath.Dir(path))
	}
	if isOld && errors.Is(err, fs.ErrPermission) {
		return nil // another user has created it
	}
	return err
}

// SyncDir writes the entries of a directory to the disk.
func (d directory) SyncDir(name string) error { return d.system.SyncDir(d.Path(name)) }

// Lock locks a file for this process.
func (d directory) Lock(name string, holder func() int) (unlock func() error, err error) {
	return d.system.Lock(d.Path(name), holder)
}

// IsLocked reports whether a process holds the lock of a file.
func (d directory) IsLocked(name string) (bool, error) { return d.system.IsLocked(d.Path(name)) }
