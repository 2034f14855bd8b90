package simdisk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// registered is the number of registered VFSes so far.
var registered atomic.Int64

// VFS returns the name of an SQLite VFS with the files of the view.
func (v *View) VFS() string {
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	if v.name == "" {
		v.name = fmt.Sprintf("simdisk-%d", registered.Add(1))
		vfs.Register(v.name, sqliteFiles{v})
	}
	return v.name
}

func (v *View) unregister() {
	if v.name != "" {
		vfs.Unregister(v.name)
	}
}

// database is the part of an inode that only databases have.
type database struct {
	shm  string // path of the memory that connections share
	open []*databaseFile
}

// sqliteFiles is a view as a VFS.
type sqliteFiles struct{ view *View }

// FullPathname returns an absolute path.
func (sqliteFiles) FullPathname(path string) (string, error) { return filepath.Clean(path), nil }

// Access reports whether a file exists.
func (s sqliteFiles) Access(path string, _ vfs.AccessFlag) (bool, error) {
	_, err := s.view.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Delete removes a file.
func (s sqliteFiles) Delete(path string, syncDir bool) error {
	err := s.view.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return vfs.SystemError(err, sqlite3.IOERR_DELETE_NOENT)
	}
	if err == nil && syncDir {
		err = vfs.SystemError(s.view.SyncDir(filepath.Dir(path)), sqlite3.IOERR_DIR_FSYNC)
	}
	return err
}

// Open opens a file. SQLite uses files without a name as temporary files.
func (s sqliteFiles) Open(path string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if path == "" {
		return &vfsutil.SliceFile{}, flags | vfs.OPEN_MEMORY, nil
	}
	mode := os.O_RDONLY
	if flags&vfs.OPEN_READWRITE != 0 {
		mode = os.O_RDWR
	}
	if flags&vfs.OPEN_CREATE != 0 {
		mode |= os.O_CREATE
	}
	if flags&vfs.OPEN_EXCLUSIVE != 0 {
		mode |= os.O_EXCL
	}
	d := s.view.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	h, err := s.view.open(path, mode)
	if err != nil {
		return nil, flags, err
	}
	h.inode.anywhere = true
	f := &databaseFile{handle: h}
	f.syncsDir = flags&vfs.OPEN_CREATE != 0 && flags&(vfs.OPEN_MAIN_JOURNAL|vfs.OPEN_SUPER_JOURNAL|vfs.OPEN_WAL) != 0
	if flags&vfs.OPEN_MAIN_DB != 0 {
		f.shared = vfs.NewSharedMemory(d.sharedMemory(h.inode), flags)
	}
	h.inode.base.open = append(h.inode.base.open, f)
	return f, flags, nil
}

// sharedMemory returns the path of the memory that the connections to a database share. The memory
// does not survive its last process.
func (d *Disk) sharedMemory(n *inode) string {
	if len(n.openFiles()) == 0 {
		d.shared++
		n.base.shm = filepath.Join(d.options.Scratch, fmt.Sprintf("shm-%d", d.shared))
	}
	return n.base.shm
}

// openFiles returns the open files of living processes.
func (n *inode) openFiles() []*databaseFile {
	var all []*databaseFile
	for _, f := range n.base.open {
		if f.handle.check() == nil {
			all = append(all, f)
		}
	}
	n.base.open = all
	return all
}

// databaseFile is a database or one of its logs.
type databaseFile struct {
	handle   *handle
	level    vfs.LockLevel
	shared   vfs.SharedMemory
	syncsDir bool // the next Sync also syncs the directory
}

var _ vfs.FileSharedMemory = (*databaseFile)(nil)

func (f *databaseFile) lock() (unlock func()) {
	f.handle.view.disk.mu.Lock()
	return f.handle.view.disk.mu.Unlock
}

// SharedMemory returns the memory that the connections to a database share.
func (f *databaseFile) SharedMemory() vfs.SharedMemory { return f.shared }

// Close closes the file.
func (f *databaseFile) Close() error {
	if f.shared != nil {
		_ = f.shared.Close() // only the process's own memory
	}
	return f.handle.Close()
}

// ReadAt reads a part of the file.
func (f *databaseFile) ReadAt(b []byte, at int64) (int, error) {
	defer f.lock()()
	if err := f.handle.check(); err != nil {
		return 0, err
	}
	n := f.handle.inode.readAt(b, at)
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt writes a part of the file.
func (f *databaseFile) WriteAt(b []byte, at int64) (int, error) {
	defer f.lock()()
	n, err := f.handle.writeAt(b, at)
	if errors.Is(err, syscall.ENOSPC) {
		err = vfs.SystemError(err, sqlite3.FULL)
	}
	return n, err
}

// Truncate changes the size of the file.
func (f *databaseFile) Truncate(size int64) error {
	defer f.lock()()
	return f.handle.truncate(size)
}

// Sync makes the content survive a power cut, and the name of a new log.
func (f *databaseFile) Sync(vfs.SyncFlag) error {
	defer f.lock()()
	if err := f.handle.sync(); err != nil || !f.syncsDir {
		return err
	}
	f.syncsDir = false
	return f.handle.view.syncDir(filepath.Dir(f.handle.path))
}

// Size returns the size of the file in bytes.
func (f *databaseFile) Size() (int64, error) {
	defer f.lock()()
	return int64(len(f.handle.inode.data)), f.handle.check()
}

// SectorSize returns the size that SQLite assumes for a file of the real disk.
func (f *databaseFile) SectorSize() int { return 4096 }

// DeviceCharacteristics returns those that SQLite assumes for a file of the real disk.
func (f *databaseFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return vfs.IOCAP_SUBPAGE_READ | vfs.IOCAP_POWERSAFE_OVERWRITE
}

// others returns the highest lock that other connections hold.
func (f *databaseFile) others() (highest vfs.LockLevel) {
	for _, o := range f.handle.inode.openFiles() {
		if o != f {
			highest = max(highest, o.level)
		}
	}
	return highest
}

// Lock acquires a lock of the database. It does not wait.
func (f *databaseFile) Lock(level vfs.LockLevel) error {
	defer f.lock()()
	if err := f.handle.check(); err != nil {
		return err
	}
	if f.level >= level {
		return nil
	}
	others := f.others()
	switch {
	case level == vfs.LOCK_SHARED && others >= vfs.LOCK_PENDING,
		level == vfs.LOCK_RESERVED && others >= vfs.LOCK_RESERVED:
		return sqlite3.BUSY
	case level == vfs.LOCK_EXCLUSIVE && others > vfs.LOCK_NONE:
		if others < vfs.LOCK_RESERVED {
			f.level = vfs.LOCK_PENDING // prevents new readers
		}
		return sqlite3.BUSY
	}
	f.level = level
	return nil
}

// Unlock lowers the lock of the connection.
func (f *databaseFile) Unlock(level vfs.LockLevel) error {
	defer f.lock()()
	f.level = min(f.level, level)
	return nil
}

// CheckReservedLock reports whether a connection is about to write.
func (f *databaseFile) CheckReservedLock() (bool, error) {
	defer f.lock()()
	return max(f.level, f.others()) >= vfs.LOCK_RESERVED, f.handle.check()
}
