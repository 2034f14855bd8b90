package simdisk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
)

// View is the disk as one process uses it. It implements disk.System and vfs.VFS.
type View struct {
	disk    *Disk
	process Process
	name    string // of the registered VFS; "" for none
}

var _ disk.System = (*View)(nil)

// At returns the files in a directory. It is a disk.Disk.
func (v *View) At(dir string) disk.Files { return disk.On(v, dir) }

// find returns the file with a path, or an error like one of package os.
func (v *View) find(op, path string) (*inode, error) {
	if v.process.IsDead() {
		return nil, ErrDead
	}
	n := v.disk.names[filepath.Clean(path)]
	if n == nil {
		return nil, &fs.PathError{Op: op, Path: path, Err: v.disk.missing(path)}
	}
	return n, nil
}

// missing returns the error for a path that does not exist: ENOTDIR if it leads through a file.
func (d *Disk) missing(path string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		switch n := d.names[dir]; {
		case n != nil && !n.dir:
			return syscall.ENOTDIR
		case n != nil || dir == filepath.Dir(dir):
			return syscall.ENOENT
		}
	}
}

// checkParent returns an error if the directory of a path does not exist.
func (v *View) checkParent(op, path string) error {
	n, err := v.find(op, filepath.Dir(path))
	if err == nil && !n.dir {
		return &fs.PathError{Op: op, Path: path, Err: syscall.ENOTDIR}
	}
	return err
}

// Open opens a file.
func (v *View) Open(path string, flags int, _ fs.FileMode) (disk.File, error) {
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	h, err := v.open(path, flags)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (v *View) open(path string, flags int) (*handle, error) {
	path = filepath.Clean(path)
	if err := v.checkParent("open", path); err != nil {
		return nil, err
	}
	h := &handle{view: v, path: path, flags: flags}
	h.inode = v.disk.names[path]
	var err error
	switch {
	case h.inode == nil && flags&os.O_CREATE == 0:
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
	case h.inode == nil:
		err = v.operate("create "+label(path), space, func() {
			h.inode = v.disk.newInode()
			v.disk.rename(change{path: h.inode})
		})
	case h.inode.dir:
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	case flags&os.O_EXCL != 0:
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EEXIST}
	case flags&os.O_TRUNC != 0 && len(h.inode.data) > 0:
		err = v.operate("truncate "+label(path), nothing, func() { h.inode.apply(step{}, v.disk) })
	}
	return h, wrap("open", path, err)
}

// wrap adds a path to an error of the system.
func wrap(op, path string, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		return &fs.PathError{Op: op, Path: path, Err: errno}
	}
	return err
}

// apply changes the content of a file.
func (n *inode) apply(s step, d *Disk) {
	n.data = s.applyTo(n.data)
	n.pending = append(n.pending, s)
	n.changed = len(d.operations)
}

// Read returns the content of a file.
func (v *View) Read(path string) ([]byte, error) {
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	n, err := v.find("open", path)
	if err == nil && n.dir {
		err = &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	}
	if err != nil {
		return nil, err
	}
	return slices.Clone(n.data), nil
}

// Stat describes a file.
func (v *View) Stat(path string) (fs.FileInfo, error) {
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	n, err := v.find("stat", path)
	if err != nil {
		return nil, err
	}
	return info{filepath.Base(path), int64(len(n.data)), n.dir, n.changed}, nil
}

// Rename replaces the file `to` by the file `from`.
func (v *View) Rename(from, to string) error {
	from, to = filepath.Clean(from), filepath.Clean(to)
	return v.move("rename", from, to, func(n *inode) change { return change{from: nil, to: n} })
}

// Link adds a name to a file.
func (v *View) Link(from, to string) error {
	from, to = filepath.Clean(from), filepath.Clean(to)
	return v.move("link", from, to, func(n *inode) change { return change{to: n} })
}

func (v *View) move(op, from, to string, by func(*inode) change) error {
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	n, err := v.find(op, from)
	if err == nil {
		err = v.checkParent(op, to)
	}
	if old := v.disk.names[to]; err == nil && old != nil && (op == "link" || old.dir) {
		err = &os.LinkError{Op: op, Old: from, New: to, Err: syscall.EEXIST}
	}
	if err != nil {
		return err
	}
	return wrap(op, to, v.operate(op+" "+label(to), space, func() { v.disk.rename(by(n)) }))
}

// Remove removes a file or an empty directory.
func (v *View) Remove(path string) error {
	path = filepath.Clean(path)
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	if _, err := v.find("remove", path); err != nil {
		return err
	}
	if len(v.disk.list(path)) > 0 {
		return &fs.PathError{Op: "remove", Path: path, Err: syscall.ENOTEMPTY}
	}
	return wrap("remove", path, v.operate("remove "+label(path), nothing, func() { v.disk.rename(change{path: nil}) }))
}

// Mkdir creates a directory.
func (v *View) Mkdir(path string, _ fs.FileMode) error {
	path = filepath.Clean(path)
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	if err := v.checkParent("mkdir", path); err != nil {
		return err
	}
	if v.disk.names[path] != nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.EEXIST}
	}
	return wrap("mkdir", path, v.operate("mkdir "+label(path), space, func() {
		n := v.disk.newInode()
		n.dir = true
		v.disk.rename(change{path: n})
	}))
}

// List returns the sorted names in a directory.
func (v *View) List(dir string) ([]string, error) {
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	n, err := v.find("open", dir)
	if err == nil && !n.dir {
		err = &fs.PathError{Op: "readdirent", Path: dir, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return nil, err
	}
	return v.disk.list(filepath.Clean(dir)), nil
}

func (d *Disk) list(dir string) (names []string) {
	for path := range d.names {
		if filepath.Dir(path) == dir && path != dir {
			names = append(names, filepath.Base(path))
		}
	}
	slices.Sort(names)
	return names
}

// SyncDir makes the names in a directory survive a power cut.
func (v *View) SyncDir(dir string) error {
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	if _, err := v.find("open", dir); err != nil {
		return err
	}
	return wrap("sync", dir, v.syncDir(dir))
}

func (v *View) syncDir(dir string) error {
	dir = filepath.Clean(dir)
	return v.operate("sync directory "+filepath.Base(dir), nothing, func() { v.disk.syncDir(dir) })
}

// Lock locks a file. It does not wait, because the locks of a dead process are released at once.
func (v *View) Lock(path string, _ func() int) (unlock func() error, err error) {
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	h, err := v.open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := h.lock(); err != nil {
		return nil, lockfile.ErrHeld
	}
	return h.Close, nil
}

// IsLocked reports whether a process holds the lock of a file.
func (v *View) IsLocked(path string) (bool, error) {
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	if v.process.IsDead() {
		return false, ErrDead
	}
	n := v.disk.names[filepath.Clean(path)]
	return n != nil && n.isLocked(), nil
}

func (n *inode) isLocked() bool { return n.lock != nil && !n.lock.view.process.IsDead() }

// handle is an open file.
type handle struct {
	view   *View
	inode  *inode
	path   string
	flags  int
	at     int64
	closed bool
}

// check returns the error of a call to a file that is closed or whose process is dead.
func (h *handle) check() error {
	if h.view.process.IsDead() {
		return ErrDead
	}
	if h.closed {
		return fs.ErrClosed
	}
	return nil
}

// checkRead is like check for a call that reads.
func (h *handle) checkRead() error {
	if err := h.check(); err != nil || h.flags&os.O_WRONLY == 0 {
		return err
	}
	return &fs.PathError{Op: "read", Path: h.path, Err: syscall.EBADF}
}

// checkOpen is like check for a call that passes the file's descriptor to the system.
func (h *handle) checkOpen() error {
	err := h.check()
	if err == fs.ErrClosed {
		err = syscall.EBADF
	}
	return err
}

// Read reads at the position of the handle.
func (h *handle) Read(b []byte) (int, error) {
	h.view.disk.mu.Lock()
	defer h.view.disk.mu.Unlock()
	if err := h.checkRead(); err != nil {
		return 0, err
	}
	n := h.inode.readAt(b, h.at)
	h.at += int64(n)
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// ReadAt reads at an offset.
func (h *handle) ReadAt(b []byte, at int64) (int, error) {
	h.view.disk.mu.Lock()
	defer h.view.disk.mu.Unlock()
	if err := h.checkRead(); err != nil {
		return 0, err
	}
	if at < 0 {
		return 0, &fs.PathError{Op: "readat", Path: h.path, Err: errNegative}
	}
	n := h.inode.readAt(b, at)
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (n *inode) readAt(b []byte, at int64) int {
	if at >= int64(len(n.data)) {
		return 0
	}
	return copy(b, n.data[at:])
}

// Seek changes the position of the handle.
func (h *handle) Seek(offset int64, whence int) (int64, error) {
	h.view.disk.mu.Lock()
	defer h.view.disk.mu.Unlock()
	if err := h.check(); err != nil {
		return 0, err
	}
	switch whence {
	case io.SeekCurrent:
		offset += h.at
	case io.SeekEnd:
		offset += int64(len(h.inode.data))
	}
	if offset < 0 {
		return 0, &fs.PathError{Op: "seek", Path: h.path, Err: syscall.EINVAL}
	}
	h.at = offset
	return h.at, nil
}

// Write writes at the position of the handle, or at the end of a file that is open for appending.
func (h *handle) Write(b []byte) (int, error) {
	h.view.disk.mu.Lock()
	defer h.view.disk.mu.Unlock()
	at := h.at
	if h.flags&os.O_APPEND != 0 {
		at = int64(len(h.inode.data))
	}
	n, err := h.writeAt(b, at)
	h.at = at + int64(n)
	return n, err
}

// errNegative and errAppends are errors of package os for offsets.
var (
	errNegative = errors.New("negative offset")
	errAppends  = errors.New("WriteAt of a file that is open for appending")
)

// WriteAt writes at an offset.
func (h *handle) WriteAt(b []byte, at int64) (int, error) {
	h.view.disk.mu.Lock()
	defer h.view.disk.mu.Unlock()
	switch {
	case h.flags&os.O_APPEND != 0:
		return 0, errAppends
	case at < 0:
		return 0, &fs.PathError{Op: "writeat", Path: h.path, Err: errNegative}
	}
	return h.writeAt(b, at)
}

// writeAt writes at an offset. If the disk is full, it writes the first half.
func (h *handle) writeAt(b []byte, at int64) (int, error) {
	if err := h.check(); err != nil {
		return 0, err
	}
	if h.flags&(os.O_WRONLY|os.O_RDWR) == 0 {
		return 0, &fs.PathError{Op: "write", Path: h.path, Err: syscall.EBADF}
	}
	write := func(b []byte) func() {
		return func() {
			if len(b) > 0 { // otherwise the file is not extended
				h.inode.apply(step{at, slices.Clone(b)}, h.view.disk)
			}
		}
	}
	err := h.view.operate("write "+label(h.path), space, write(b))
	if err == syscall.ENOSPC {
		write(b[:len(b)/2])()
		return len(b) / 2, wrap("write", h.path, err)
	}
	if err != nil {
		return 0, wrap("write", h.path, err)
	}
	return len(b), nil
}

// Sync makes the content survive a power cut.
func (h *handle) Sync() error {
	h.view.disk.mu.Lock()
	defer h.view.disk.mu.Unlock()
	return h.sync()
}

func (h *handle) sync() error {
	if err := h.checkOpen(); err != nil {
		return wrap("sync", h.path, err)
	}
	return wrap("sync", h.path, h.view.operate("sync "+label(h.path), nothing, h.inode.sync))
}

// Truncate changes the size of the file.
func (h *handle) Truncate(size int64) error {
	h.view.disk.mu.Lock()
	defer h.view.disk.mu.Unlock()
	return h.truncate(size)
}

func (h *handle) truncate(size int64) error {
	if err := h.check(); err != nil {
		return err
	}
	if size < 0 || h.flags&(os.O_WRONLY|os.O_RDWR) == 0 {
		return &fs.PathError{Op: "truncate", Path: h.path, Err: syscall.EINVAL}
	}
	err := h.view.operate("truncate "+label(h.path), nothing, func() { h.inode.apply(step{at: size}, h.view.disk) })
	return wrap("truncate", h.path, err)
}

// Lock locks the file until it is closed or its process dies.
func (h *handle) Lock() error {
	h.view.disk.mu.Lock()
	defer h.view.disk.mu.Unlock()
	return h.lock()
}

func (h *handle) lock() error {
	if err := h.checkOpen(); err != nil {
		return err
	}
	if h.inode.lock != h && h.inode.isLocked() {
		return &lockfile.HeldError{}
	}
	h.inode.lock = h
	return nil
}

// Close closes the file and releases its lock.
func (h *handle) Close() error {
	h.view.disk.mu.Lock()
	defer h.view.disk.mu.Unlock()
	if err := h.check(); err != nil {
		return err
	}
	h.closed = true
	if h.inode.lock == h {
		h.inode.lock = nil
	}
	return nil
}

// IsRemoved reports whether the file has no name any more.
func (h *handle) IsRemoved() bool {
	h.view.disk.mu.Lock()
	defer h.view.disk.mu.Unlock()
	for _, n := range h.view.disk.names {
		if n == h.inode {
			return false
		}
	}
	return true
}

// IsTemporary reports whether a path is that of a temporary file.
func IsTemporary(path string) bool {
	return strings.HasPrefix(filepath.Base(path), disk.TemporaryPrefix)
}
