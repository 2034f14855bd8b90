package workdirfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// MaxWrite is the maximum size of written content in bytes.
const MaxWrite = 1 << 20

// Write creates or replaces a file atomically. It refuses paths below .git and paths whose last
// component is a link.
func (s *Scope) Write(q protocol.WriteFile) (*protocol.WriteFileResult, error) {
	path, parent, name, err := checkWrite(q)
	if err != nil {
		return nil, err
	}
	if q.Mkdirs {
		if err := s.makeDirs(q.Path, parent); err != nil {
			return nil, err
		}
	}
	dir, err := s.descend(q.Path, parent)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	mode, err := s.checkReplace(dir, name, q)
	if err != nil {
		return nil, err
	}
	if err := replace(dir, name, q.Content, mode); err != nil {
		return nil, s.pathError(path, err)
	}
	return &protocol.WriteFileResult{Path: q.Path, BytesWritten: int64(len(q.Content)), SHA256: hexsum.SHA256(q.Content)}, nil
}

// Preview checks whether a file could be written now, and returns the content that would be
// replaced. It returns "" for a new file, and for a file that is too long or is not text.
func (s *Scope) Preview(ctx context.Context, q protocol.WriteFile) (old string, err error) {
	_, parent, name, err := checkWrite(q)
	if err != nil {
		return "", err
	}
	dir, err := s.descend(q.Path, parent)
	var not *Error
	if errors.As(err, &not) && not.Code == protocol.NotFound && q.Mkdirs {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer dir.Close()
	if _, err := s.checkReplace(dir, name, q); err != nil {
		return "", err
	}
	is, err := s.Read(ctx, protocol.ReadFile{Path: q.Path})
	if err != nil || is.Truncated {
		return "", nil // the file is new, or its content cannot be displayed
	}
	return is.Content, nil
}

// checkWrite validates a request before anything is changed.
func checkWrite(q protocol.WriteFile) (path, parent, name string, err error) {
	path, err = cleanPath(q.Path)
	switch {
	case err != nil:
		return "", "", "", err
	case path == ".":
		return "", "", "", errorf(protocol.NotRegular, "%s is a directory", q.Path)
	case len(q.Content) > MaxWrite:
		return "", "", "", errorf(protocol.RPCCode(protocol.TooLarge), "a file to write has at most %d bytes", MaxWrite)
	}
	if parent, name = filepath.Split(path); isGit(name) {
		return "", "", "", gitPathError(q.Path)
	}
	return path, parent, name, nil
}

func isGit(part string) bool { return strings.EqualFold(part, ".git") }

func gitPathError(path string) error { return errorf(protocol.OutOfScope, "%s is git's", path) }

// checkReplace returns the mode of the file after the write. It returns an error if the file must
// not be replaced.
func (s *Scope) checkReplace(dir *os.Root, name string, q protocol.WriteFile) (fs.FileMode, error) {
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if q.BaseSHA256 != "" {
			return 0, errorf(protocol.Changed, "%s no longer exists", q.Path)
		}
		return 0o666, nil
	case err != nil:
		return 0, s.pathError(q.Path, err)
	case !info.Mode().IsRegular():
		return 0, errorf(protocol.NotRegular, "%s is not a regular file", q.Path)
	case q.BaseSHA256 == "":
		return info.Mode().Perm(), nil
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return 0, s.pathError(q.Path, err)
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return 0, s.pathError(q.Path, err)
	}
	if hex.EncodeToString(hash.Sum(nil)) != q.BaseSHA256 {
		return 0, errorf(protocol.Changed, "%s has changed since it was read", q.Path)
	}
	return info.Mode().Perm(), nil
}

// replace writes a temporary file and renames it to the target.
func replace(dir *os.Root, name, content string, mode fs.FileMode) (err error) {
	beside := fmt.Sprintf(".%.32s.%016x.tmp", name, rand.Uint64())
	f, err := dir.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = dir.Remove(beside) // ignore the error: the first error is returned
		}
	}()
	_, err = io.WriteString(f, content)
	if err == nil && mode != 0o666 { // a new file has the mode that the umask allows
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = dir.Rename(beside, name)
	}
	return err
}
