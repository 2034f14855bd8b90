package files

import (
	"context"
	"errors"
	"os"
	"path"
	"syscall"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// walk finds the files below a directory. It follows a link only if the directory itself is one; it
// lists all other links without following them.
func (f *Files) walk(ctx context.Context, q *effect.Walk) (effect.Result, error) {
	var found []string
	pending := []string{q.Path}
	for len(pending) > 0 {
		dir := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		all, err := f.readDir(dir)
		if err != nil && len(found) == 0 && dir == q.Path || err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, pathError("list", dir, err)
		}
		for _, e := range all { // a directory that was removed during the walk has no entries
			name := path.Join(dir, e.Name())
			if e.IsDir() {
				pending = append(pending, name)
				continue
			}
			if found = append(found, name); len(found) > maxMatches {
				return nil, pathError("list", q.Path, errors.New("it contains more than a million files"))
			}
		}
	}
	return sorted(found), nil
}

func (f *Files) readDir(name string) ([]os.DirEntry, error) {
	dir, err := f.openFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if info, err := dir.Stat(); err != nil || !info.IsDir() {
		return nil, errors.Join(err, syscall.ENOTDIR)
	}
	return dir.ReadDir(-1)
}
