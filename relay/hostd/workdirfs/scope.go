// Package workdirfs implements the operations of apps in the directory of a run (spec/relay.md).
// Apps can read, list, search and write files, and run git. No path leads out of the directory. No
// path, query or repository makes a program run other than those that this package starts.
//
// Files are opened through os.Root, so that links cannot lead out of the directory even if they
// change concurrently. Only regular files and directories are opened, because a FIFO or device
// could block.
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

// MaxPath is the maximum length of a path in bytes.
const MaxPath = 4096

// Error explains why a request was refused.
type Error struct {
	Code protocol.RPCCode
	Why  string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Why) }

// Errorf returns an Error with a formatted message.
func Errorf(code protocol.RPCCode, format string, args ...any) *Error {
	return errorf(code, format, args...)
}

func errorf(code protocol.RPCCode, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Scope is the directory of a run. It is safe for concurrent use.
type Scope struct {
	root *os.Root
	dir  string // absolute path without symbolic links
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

// Close closes the directory.
func (s *Scope) Close() error { return s.root.Close() }

// cleanPath returns a path in the form that os.Root requires, or an error if the path is invalid.
func cleanPath(path string) (string, error) {
	switch {
	case path == "":
		path = "."
	case len(path) > MaxPath:
		return "", errorf(protocol.OutOfScope, "a path has at most %d bytes", MaxPath)
	case strings.ContainsRune(path, 0):
		return "", errorf(protocol.OutOfScope, "a path must not contain NUL")
	case filepath.IsAbs(path) || strings.HasPrefix(path, `\`) || filepath.VolumeName(path) != "":
		return "", errorf(protocol.OutOfScope, "%s is absolute: use a path relative to the run's directory", path)
	}
	if !filepath.IsLocal(path) {
		return "", errorf(protocol.OutOfScope, "%s is outside the run's directory", path)
	}
	return filepath.Clean(path), nil
}

// open opens a regular file. If dir is set, it opens a directory.
func (s *Scope) open(path string, dir bool) (*os.File, fs.FileInfo, error) {
	info, err := s.root.Stat(path)
	if err != nil {
		return nil, nil, s.pathError(path, err)
	}
	if err := checkKind(path, info, dir); err != nil {
		return nil, nil, err
	}
	f, err := s.root.OpenFile(path, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, nil, s.pathError(path, err)
	}
	// The path may refer to another file than before Stat.
	if info, err = f.Stat(); err == nil {
		err = checkKind(path, info, dir)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func checkKind(path string, info fs.FileInfo, dir bool) error {
	switch {
	case dir && !info.IsDir():
		return errorf(protocol.NotFound, "%s is not a directory", path)
	case !dir && !info.Mode().IsRegular():
		return errorf(protocol.NotRegular, "%s is not a regular file", path)
	}
	return nil
}

// pathError converts the error for a path that does not exist or leads out of the directory.
func (s *Scope) pathError(path string, err error) error {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errorf(protocol.NotFound, "%s does not exist", path)
	case errors.Is(err, fs.ErrPermission):
		return errorf(protocol.RPCCode(protocol.Forbidden), "%s cannot be read: permission denied", path)
	case errors.As(err, &at) && isEscape(at.Err):
		return errorf(protocol.OutOfScope, "%s is outside the run's directory", path)
	case errors.As(err, &at):
		return errorf(protocol.NotFound, "%s: %v", path, at.Err)
	}
	return err
}

// isEscape reports whether os.Root has refused a path because it leads out of the root. os exports
// no error for that.
func isEscape(err error) bool { return err != nil && strings.Contains(err.Error(), "escapes") }
