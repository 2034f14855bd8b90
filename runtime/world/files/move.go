package files

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// copy copies the bytes and the mode of a file. Copying a file to itself does not change it.
func (f *Files) copy(ctx context.Context, q *effect.CopyFile) error {
	if path, err := f.duplicate(ctx, q.From, q.Path); err != nil {
		return operationError("copy "+q.From+" to "+q.Path, path, path, err)
	}
	return nil
}

// duplicate copies a file. If it fails, it also returns the path that has caused the error.
func (f *Files) duplicate(ctx context.Context, from, to string) (string, error) {
	in, err := f.openFile(from, os.O_RDONLY)
	if err != nil {
		return from, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return from, err
	}
	out, err := f.openFile(to, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return to, err
	}
	if there, err := out.Stat(); err == nil && os.SameFile(info, there) {
		return to, out.Close()
	}
	err = out.Truncate(0)
	if err == nil {
		_, err = io.Copy(out, reader{ctx, in})
	}
	if err == nil {
		err = out.Chmod(info.Mode().Perm())
	}
	return to, errors.Join(err, out.Close())
}

// reader is an io.Reader that stops reading when ctx ends.
type reader struct {
	ctx context.Context
	in  io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.in.Read(p)
}

// moveFile renames a file or directory. Between file systems, and between roots, it copies a file
// and then removes the original.
func (f *Files) moveFile(ctx context.Context, q *effect.MoveFile) error {
	err := f.rename(q.From, q.Path)
	path := q.From
	if errors.Is(err, syscall.EXDEV) {
		if path, err = f.duplicate(ctx, q.From, q.Path); err == nil {
			return f.removeFile(&effect.RemoveFile{Path: q.From})
		}
	}
	if err != nil {
		return operationError("move "+q.From+" to "+q.Path, path, path, err)
	}
	return nil
}

// rename renames a path within one place. If the two paths are in different places, it returns
// syscall.EXDEV.
func (f *Files) rename(from, to string) error {
	source, err := f.absolute(from)
	if err != nil {
		return err
	}
	target, err := f.absolute(to)
	if err != nil {
		return err
	}
	if f.writes.all {
		return os.Rename(source, target)
	}
	a, _, ok := f.rootOf(&f.writes, source, false)
	if !ok {
		return f.refusePath(&f.writes, from)
	}
	b, real, ok := f.rootOf(&f.writes, target, false)
	if !ok {
		return f.refusePath(&f.writes, to)
	}
	if a != b {
		return syscall.EXDEV
	}
	toName, err := filepath.Rel(directory(a), real)
	if err != nil {
		return err
	}
	return f.usePlace(&f.writes, from, false, func(p place, fromName string) error { return p.Rename(fromName, toName) })
}
