package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// makeCopy creates a directory as a copy. Links remain links, and times and permissions are copied.
// Entries that are neither files nor directories nor links are omitted.
func makeCopy(ctx context.Context, s *Store, name string) (*Dir, error) {
	release, err := s.lockOwn(ctx, name)
	if err != nil {
		return nil, err
	}
	r := s.newRecord(name, name)
	if err = s.place.write(r); err == nil {
		leave := append(slices.Clone(s.place.Leave), filepath.Join(s.place.Root, home), filepath.Join(s.place.From, home))
		c := copier{ctx: ctx, leave: leave}
		err = c.dir(s.place.From, s.place.dirOf(r))
	}
	if err == nil {
		r.Tree, err = scanTree(ctx, s.place.dirOf(r))
	}
	if err == nil {
		r.State = ready
		err = s.place.write(r)
	}
	if err != nil {
		err = errors.Join(err, s.discard(context.WithoutCancel(ctx), r))
		release()
		return nil, err
	}
	return newDir(s, r, release), nil
}

type copier struct {
	ctx   context.Context
	leave []string
}

func (c *copier) dir(from, to string) error {
	if err := c.ctx.Err(); err != nil {
		return context.Cause(c.ctx)
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		at := filepath.Join(from, e.Name())
		if slices.Contains(c.leave, at) {
			continue
		}
		if err := c.copyEntry(e, at, filepath.Join(to, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // a file that was removed during the copy is skipped
		}
	}
	if err := os.Chmod(to, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, info.ModTime())
}

func (c *copier) copyEntry(e fs.DirEntry, from, to string) error {
	switch e.Type() {
	case fs.ModeDir:
		return c.dir(from, to)
	case fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case 0:
		return c.copyFile(from, to)
	}
	return nil
}

// copyFile copies a file. If the file system supports it, the copy shares the blocks of the
// original.
func (c *copier) copyFile(from, to string) error {
	if err := c.ctx.Err(); err != nil {
		return context.Cause(c.ctx)
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if !clone(dst, src) {
		_, err = io.Copy(dst, src)
	}
	if err = errors.Join(err, dst.Close()); err != nil {
		return err
	}
	if err := os.Chmod(to, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, info.ModTime())
}
