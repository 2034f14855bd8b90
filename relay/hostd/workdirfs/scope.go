// Package workdirfs is what apps may do in a run's directory over the relay, spec/relay.md (its
// API promises nothing): read, list, search and write files, and ask git. Whatever path
// is asked for, nothing outside of the directory is touched; and no path, query, or
// repository has a program run that is not named here.
//
// Files are opened through os.Root, which no link leads out of, also when it is changed
// meanwhile. Nothing is opened that is not a regular file or a directory, so that no
// FIFO or device is waited for.
package workdirfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// MaxPath is how long a path may be, in bytes.
const MaxPath = 4096

// Error is why something is not done.
type Error struct {
	Code protocol.RPCCode
	Why  string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Why) }

// Refused is an Error, for who does more in a run's directory than this package.
func Refused(code protocol.RPCCode, format string, args ...any) *Error {
	return refused(code, format, args...)
}

func refused(code protocol.RPCCode, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Scope is a directory. Safe for concurrent use.
type Scope struct {
	root *os.Root
	dir  string // absolute, without links
}

// Open opens a directory.
func Open(dir string) (*Scope, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open a run's directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open a run's directory: %w", err)
	}
	return &Scope{root, dir}, nil
}

// Close closes it.
func (s *Scope) Close() error { return s.root.Close() }

// within is a path in the form that os.Root takes, or why it may not be one.
func within(path string) (string, error) {
	switch {
	case path == "":
		path = "."
	case len(path) > MaxPath:
		return "", refused(protocol.OutOfScope, "a path has at most %d bytes", MaxPath)
	case strings.ContainsRune(path, 0):
		return "", refused(protocol.OutOfScope, "a path has no NUL in it")
	case filepath.IsAbs(path) || strings.HasPrefix(path, `\`) || filepath.VolumeName(path) != "":
		return "", refused(protocol.OutOfScope, "%s is absolute: paths start at the run's directory", path)
	}
	if !filepath.IsLocal(path) {
		return "", refused(protocol.OutOfScope, "%s leads out of the run's directory", path)
	}
	return filepath.Clean(path), nil
}

// open opens a regular file, or a directory when one is wanted.
func (s *Scope) open(path string, dir bool) (*os.File, fs.FileInfo, error) {
	info, err := s.root.Stat(path)
	if err != nil {
		return nil, nil, s.failed(path, err)
	}
	if err := wanted(path, info, dir); err != nil {
		return nil, nil, err
	}
	f, err := s.root.OpenFile(path, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, nil, s.failed(path, err)
	}
	// It may be another by now than the one that was looked at.
	if info, err = f.Stat(); err == nil {
		err = wanted(path, info, dir)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func wanted(path string, info fs.FileInfo, dir bool) error {
	switch {
	case dir && !info.IsDir():
		return refused(protocol.NotFound, "%s is no directory", path)
	case !dir && !info.Mode().IsRegular():
		return refused(protocol.NotRegular, "%s is no regular file", path)
	}
	return nil
}

// failed is the error of a path: what is not there, or leads out.
func (s *Scope) failed(path string, err error) error {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refused(protocol.NotFound, "%s is not there", path)
	case errors.Is(err, fs.ErrPermission):
		return refused(protocol.RPCCode(protocol.Forbidden), "%s may not be read", path)
	case errors.As(err, &at) && isEscape(at.Err):
		return refused(protocol.OutOfScope, "%s leads out of the run's directory", path)
	case errors.As(err, &at):
		return refused(protocol.NotFound, "%s: %v", path, at.Err)
	}
	return err
}

// isEscape says whether os.Root has refused a path; it has no error of its own for that.
func isEscape(err error) bool { return err != nil && strings.Contains(err.Error(), "escapes") }
