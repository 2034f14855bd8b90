// Package userfile opens files that users name: on the command line, in a manifest, or in a
// request. The name may be mistyped or chosen by somebody else, and may lead to a device, a FIFO or
// a file of many gigabytes. Reading such a file would block, never end, or fill the memory.
// Therefore files to read must be regular, and are read only up to a limit. Files to write may also
// be devices such as /dev/null. Replace and RemoveAll are for files that belong to Concerto itself.
//
// Errors are *fs.PathError, like those of package os.
package userfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// The limits of Open and Read, in bytes.
const (
	MaxText      = 64 << 20      // programs, manifests, inputs
	MaxRecording = 1 << 30       // tapes, recordings, compiled programs
	MaxCompared  = 4 << 20       // files that are shown with a change
	MaxSecret    = 1 << 20       // tokens, passwords, keys and certificates
	Unlimited    = math.MaxInt64 // logs that are read record by record
)

// ErrNotRegular is the error for a file to read that is a device, a FIFO or a socket.
var ErrNotRegular = errors.New("not a regular file")

// ErrNoReader is the error for a FIFO to write that no process has open for reading.
var ErrNoReader = errors.New("a FIFO that no process reads")

// TooLargeError is the error for a file that is larger than the limit. Size and Limit are in bytes.
// Size is 0 if the file grew while it was being read.
type TooLargeError struct{ Size, Limit int64 }

func (e *TooLargeError) Error() string {
	if e.Size == 0 {
		return fmt.Sprintf("larger than %d MiB, the limit", e.Limit>>20)
	}
	return fmt.Sprintf("%d MiB, and the limit is %d MiB", e.Size>>20, e.Limit>>20)
}

// Open opens a regular file for reading. It never blocks. If the file is larger than limit bytes,
// the error is a *TooLargeError.
func Open(path string, limit int64) (*os.File, error) {
	f, err := open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: &TooLargeError{info.Size(), limit}}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// OpenFile opens a regular file with flags of package os. It never blocks.
func OpenFile(path string, flags int, perm fs.FileMode) (*os.File, error) {
	return open(path, flags, perm)
}

// Read returns the contents of a regular file. If the file is larger than limit bytes, the error is
// a *TooLargeError.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path, limit)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return readAll(f, info.Size(), limit)
}

// ReadPrivate is Read for a file that contains a secret. It refuses a file that other users can
// read, except on Windows, where the mode does not show that.
func ReadPrivate(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by other users (%v): chmod 600 %s", path, mode, path)
	}
	return Read(path, limit)
}

// ReadCompared is Read for a file that is shown with a change.
func ReadCompared(path string) ([]byte, error) { return Read(path, MaxCompared) }

// ReadStream returns the contents of a file of any kind, of at most limit bytes. It is for secrets,
// which shells can pass through a FIFO: --token-file <(pass show relay).
func ReadStream(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, 0, limit)
}

// readAll reads a file until its end. size is the expected size in bytes.
func readAll(f *os.File, size, limit int64) ([]byte, error) {
	text := make([]byte, 0, size+512)
	for {
		n, err := f.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case err == io.EOF:
			return text, nil
		case err != nil:
			return nil, err
		case int64(len(text)) > limit:
			return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: &TooLargeError{0, limit}}
		case len(text) == cap(text):
			text = append(text, 0)[:len(text)]
		}
	}
}

// Create opens a file for writing. It truncates an existing file and creates a missing one. The
// file may be a device. If it is a FIFO without a reader, Create returns ErrNoReader instead of
// waiting for a reader.
func Create(path string, perm fs.FileMode) (*os.File, error) {
	return OpenWrite(path, os.O_CREATE|os.O_TRUNC, perm)
}

// OpenWrite opens a file for writing like Create, but with the given flags, such as os.O_APPEND.
func OpenWrite(path string, flags int, perm fs.FileMode) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		f, err := os.OpenFile(path, os.O_WRONLY|nonblock, 0)
		if errors.Is(err, syscall.ENXIO) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNoReader}
		}
		return f, err
	}
	return os.OpenFile(path, os.O_WRONLY|flags, perm)
}

// Replace replaces a file atomically: it writes and syncs a temporary file and renames it.
func Replace(path string, text []byte, perm fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is more useful than one of removing the file
	}
	return err
}

// ReplacePrivate is Replace for a file that only this user can read. When it returns nil, the file
// also has its name on the disk.
func ReplacePrivate(path string, text []byte) error {
	if err := Replace(path, text, 0o600); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// RemoveAll removes a file or a tree, including directories without write permission.
func RemoveAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(at string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			return os.Chmod(at, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}

// open opens a regular file. It checks the path before opening it, because opening a device may
// have side effects. It checks again after opening it, because the path may have changed in the
// meantime.
func open(path string, flags int, perm fs.FileMode) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, refusal(path, info)
	}
	f, err := os.OpenFile(path, flags|nonblock, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = refusal(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func refusal(path string, info fs.FileInfo) error {
	if info.IsDir() {
		return &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	}
	return &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
}

// Cause returns the error inside an error of package os that contains a path, for messages that
// already contain the path.
func Cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
