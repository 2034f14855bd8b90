package disk

import (
	"io/fs"
	"os"

	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// System contains the calls to an operating system. Its methods correspond to functions of package
// os, with these additions: Open and Lock are those of Files, List returns the sorted names in a
// directory, and SyncDir syncs a directory.
type System interface {
	Open(path string, flags int, perm fs.FileMode) (File, error)
	Read(path string) ([]byte, error)
	Stat(path string) (fs.FileInfo, error)
	Rename(from, to string) error
	Link(from, to string) error
	Remove(path string) error
	Mkdir(path string, perm fs.FileMode) error
	List(dir string) ([]string, error)
	SyncDir(dir string) error
	Lock(path string, holder func() int) (unlock func() error, err error)
	IsLocked(path string) (bool, error)
}

// system is the real operating system.
type system struct{}

// osFile is a file whose Sync writes only the metadata that reading needs.
type osFile struct{ *os.File }

// Sync writes the data of the file to the disk.
func (f osFile) Sync() error { return datasync(f.File) }

// Lock locks the file until it is closed. If another process holds the lock, the error is a
// *lockfile.HeldError.
func (f osFile) Lock() error { return lockfile.LockOpen(f.File) }

func (system) Open(path string, flags int, perm fs.FileMode) (File, error) {
	f, err := userfile.OpenFile(path, flags, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (system) Read(path string) ([]byte, error)          { return os.ReadFile(path) }
func (system) Stat(path string) (fs.FileInfo, error)     { return os.Stat(path) }
func (system) Rename(from, to string) error              { return userfile.Rename(from, to) }
func (system) Link(from, to string) error                { return os.Link(from, to) }
func (system) Remove(path string) error                  { return os.Remove(path) }
func (system) Mkdir(path string, perm fs.FileMode) error { return os.Mkdir(path, perm) }
func (system) SyncDir(dir string) error                  { return userfile.SyncDir(dir) }
func (system) IsLocked(path string) (bool, error)        { return lockfile.Held(path) }

func (system) List(dir string) (names []string, err error) {
	all, err := os.ReadDir(dir)
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names, err
}

func (system) Lock(path string, holder func() int) (unlock func() error, err error) {
	return lockfile.LockAfter(path, holder)
}
