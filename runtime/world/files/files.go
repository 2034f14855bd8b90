// Package files performs the effects on files: effect.ReadFile, WriteFile, FileInfo, ListDir,
// RemoveFile, MakeDir, CopyFile, MoveFile, Glob, Walk, TempDir and AttachFile (spec/std/fs.md).
//
// Reading and writing can each be limited to trees of files. The package refuses a path outside of
// these trees, and a path that leaves them by `..` or by a symbolic link. A path is checked and
// used in one step (os.Root), so that it cannot be replaced between the check and the use.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// maxFile is the maximum number of bytes that one request reads into memory.
const maxFile = 256 << 20

var errTooLarge = errors.New("it is larger than 256 MiB")

// Options specifies where files are and which files may be used.
type Options struct {
	// Dir is the directory of relative paths; "" means the working directory.
	Dir string
	// Read lists the files and directories that may be read, and Write those that may be written,
	// both in the form of permit.Real. A directory includes everything below it; nil allows all
	// files.
	Read, Write []string
	// Refused returns the error text for a path that is in none of the lists. If Refused is nil,
	// the text contains only the path.
	Refused func(write bool, path string) string
}

// Files performs the effects on files. It is safe for concurrent use.
type Files struct {
	dir     string
	reads   area
	writes  area
	refused func(write bool, path string) string
	limit   int64 // maxFile; tests set a smaller limit

	mu       sync.Mutex
	temp     string // temporary directory of the run; "" until it is requested
	tempReal string // temp in the form of permit.Real
}

// New returns a Files. The entries of o.Read and o.Write need not exist.
func New(o Options) *Files {
	return &Files{dir: o.Dir, limit: maxFile, refused: o.Refused,
		reads: area{all: o.Read == nil, roots: o.Read}, writes: area{all: o.Write == nil, roots: o.Write}}
}

// Close removes the run's temporary directory.
func (f *Files) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.temp == "" {
		return nil
	}
	dir := f.temp
	f.temp, f.tempReal = "", ""
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("could not remove the temporary directory: %w", err)
	}
	return nil
}

// Perform performs one request. It returns FsErrors for failures of the file system.
func (f *Files) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	result, err := f.performRequest(ctx, r)
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return nil, context.Cause(ctx)
	}
	return result, err
}

func (f *Files) performRequest(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch q := r.(type) {
	case *effect.ReadFile:
		return f.readText(ctx, q)
	case *effect.WriteFile:
		return nil, f.writeFile(q)
	case *effect.FileInfo:
		return f.info(q)
	case *effect.ListDir:
		return f.listDir(q)
	case *effect.RemoveFile:
		return nil, f.removeFile(q)
	case *effect.MakeDir:
		return nil, f.makeDir(q)
	case *effect.CopyFile:
		return nil, f.copy(ctx, q)
	case *effect.MoveFile:
		return nil, f.moveFile(ctx, q)
	case *effect.Glob:
		return f.glob(ctx, q)
	case *effect.Walk:
		return f.walk(ctx, q)
	case *effect.TempDir:
		return f.tempDir()
	case *effect.AttachFile:
		return f.attachFile(q)
	}
	return nil, &effect.UnperformedError{Who: "files", Kind: r.Kind()}
}

// pathError returns the FsError for an operation on a path. If err is an *effect.Error, pathError
// returns it unchanged.
func pathError(verb, path string, err error) error {
	return operationError(verb+" "+path, "it", path, err)
}

// operationError is like pathError, for an operation on several paths. subject names the path that
// has caused the error, as it appears in the error text.
func operationError(what, subject, path string, err error) error {
	var failure *effect.Error
	if errors.As(err, &failure) {
		return failure
	}
	e := effect.Errorf("FsError", "cannot %s: %s", what, errorReason(subject, err)).With("path", path)
	e.Cause = err
	return e
}

// errorReason returns the reason of an error. subject is the path that has caused it.
func errorReason(subject string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return subject + " is not there"
	case errors.Is(err, fs.ErrPermission):
		return "the system does not permit " + subject
	case errors.Is(err, syscall.EISDIR):
		return subject + " is a directory"
	case errors.Is(err, syscall.ENOTDIR):
		return subject + " or one of its parents is not a directory"
	}
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		return at.Err.Error()
	case errors.As(err, &link):
		return link.Err.Error()
	}
	// The error texts of this package begin with "it".
	if rest, ok := strings.CutPrefix(err.Error(), "it "); ok {
		return subject + " " + rest
	}
	return err.Error()
}

func (f *Files) readText(ctx context.Context, q *effect.ReadFile) (effect.Result, error) {
	data, err := f.contents(ctx, q.Path)
	if at := utf8cut.Invalid(data); err == nil && at >= 0 {
		err = fmt.Errorf("byte %d is not UTF-8", at)
	}
	if err != nil {
		return nil, pathError("read", q.Path, err)
	}
	return &effect.FileText{Text: string(data)}, nil
}

// contents reads a file. Reading a file that is not regular, such as a pipe, may block. In this
// case contents returns when ctx ends.
func (f *Files) contents(ctx context.Context, path string) ([]byte, error) {
	regular := false
	err := f.usePlace(&f.reads, path, true, func(p place, name string) error {
		info, err := p.Stat(name)
		regular = err == nil && info.Mode().IsRegular()
		return err
	})
	if err != nil || regular {
		return f.readFile(path, err)
	}
	type outcome struct {
		data []byte
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		data, err := f.readFile(path, nil)
		done <- outcome{data, err}
	}()
	select {
	case o := <-done:
		return o.data, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// readFile returns err if it is not nil. Otherwise it reads a file.
func (f *Files) readFile(path string, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	file, err := f.openFile(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, syscall.EISDIR
	case info.Size() > f.limit:
		return nil, errTooLarge
	}
	return readAll(file, info.Size(), f.limit)
}

func readAll(r io.Reader, size, limit int64) ([]byte, error) {
	data := make([]byte, 0, size+512)
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err
		case int64(len(data)) > limit:
			return nil, errTooLarge
		case len(data) == cap(data):
			data = slices.Grow(data, 512)
		}
	}
}

func (f *Files) writeFile(q *effect.WriteFile) error {
	mode := os.O_TRUNC
	if q.Append {
		mode = os.O_APPEND
	}
	file, err := f.openFile(q.Path, os.O_WRONLY|os.O_CREATE|mode)
	if err != nil {
		return pathError("write", q.Path, err)
	}
	_, err = file.WriteString(q.Text)
	if err := errors.Join(err, file.Close()); err != nil {
		return pathError("write", q.Path, err)
	}
	return nil
}

func (f *Files) info(q *effect.FileInfo) (effect.Result, error) {
	s := &effect.FileStatus{}
	err := f.usePlace(&f.reads, q.Path, true, func(p place, name string) error {
		info, err := p.Stat(name)
		if err == nil {
			s.Exists, s.IsDir = true, info.IsDir()
			if !s.IsDir {
				s.Size = info.Size()
			}
		}
		if escapes(err) {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, pathError("inspect", q.Path, err)
	}
	return s, nil
}

func (f *Files) listDir(q *effect.ListDir) (effect.Result, error) {
	dir, err := f.openFile(q.Path, os.O_RDONLY)
	if err != nil {
		return nil, pathError("list", q.Path, err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, pathError("list", q.Path, err)
	}
	return sorted(names), nil
}

// sorted returns the names that are valid UTF-8, in order. Programs cannot represent other names.
func sorted(names []string) *effect.FileNames {
	names = slices.DeleteFunc(names, func(n string) bool { return !utf8.ValidString(n) })
	slices.Sort(names)
	return &effect.FileNames{Names: slices.Compact(names)}
}

func (f *Files) removeFile(q *effect.RemoveFile) error {
	err := f.usePlace(&f.writes, q.Path, false, func(p place, name string) error {
		info, err := p.Lstat(name)
		if err == nil && info.IsDir() {
			return errors.New("it is a directory")
		}
		if err != nil {
			return err
		}
		return p.Remove(name)
	})
	if err != nil {
		return pathError("remove", q.Path, err)
	}
	return nil
}

func (f *Files) makeDir(q *effect.MakeDir) error {
	err := f.usePlace(&f.writes, q.Path, true, func(p place, name string) error { return p.MkdirAll(name, 0o777) })
	if err != nil {
		return pathError("make the directory", q.Path, err)
	}
	return nil
}

func (f *Files) tempDir() (effect.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.temp == "" {
		dir, err := os.MkdirTemp("", "concerto-")
		if err != nil {
			return nil, pathError("make", "a temporary directory", err)
		}
		f.temp = strings.TrimSuffix(filepath.ToSlash(dir), "/")
		f.tempReal = permit.Real(dir, true)
	}
	return &effect.FileNames{Names: []string{f.temp}}, nil
}
