// Package workspace makes directories of which a task has one to itself: a copy of
// another directory, or a worktree of the repository that it is in; its API promises
// nothing. Who works there may change what he likes: what has changed is kept, the
// rest removed.
//
// They are .concerto/tasks/NAME in the root, the directory of the manifest.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Place is what a directory is made of, and where.
type Place struct {
	Root    string   // absolute
	From    string   // absolute
	Leave   []string // absolute paths that a copy does not have, besides .concerto
	Environ []string // of git, as "NAME=value"
}

// home is the directory of everything that Concerto keeps beside a manifest.
const home = ".concerto"

// Tasks is where the directories are.
func (p *Place) Tasks() string { return filepath.Join(p.Root, home, "tasks") }

func (p *Place) path(name string) string { return filepath.Join(p.Tasks(), name) }

// Dir is such a directory.
type Dir struct {
	Name   string
	Path   string // where the work is done
	Branch string // of a worktree; "" in a copy

	place  Place
	tree   *tree  // what a copy was
	commit string // what a worktree was; "" and no tree: it is kept anyway
}

// Make makes a directory: kind is "copy" or "worktree". When that fails nothing is
// left of it.
func Make(ctx context.Context, kind, name string, p Place) (*Dir, error) {
	if err := p.prepare(); err != nil {
		return nil, err
	}
	d := &Dir{Name: name, Path: p.path(name), place: p}
	if _, err := os.Lstat(d.Path); err == nil {
		return nil, fmt.Errorf("%s is there already", d.Path)
	}
	var err error
	switch kind {
	case "copy":
		err = d.copy(ctx)
	case "worktree":
		err = d.worktree(ctx)
	default:
		return nil, fmt.Errorf("no kind of directory is called %q", kind)
	}
	if err != nil {
		return nil, errors.Join(err, d.discard(context.WithoutCancel(ctx)))
	}
	return d, nil
}

// prepare makes the directory of all tasks, which git leaves alone.
func (p *Place) prepare() error {
	if err := os.MkdirAll(p.Tasks(), 0o755); err != nil {
		return err
	}
	ignore := filepath.Join(p.Tasks(), ".gitignore")
	if _, err := os.Lstat(ignore); err == nil {
		return nil
	}
	return os.WriteFile(ignore, []byte("*\n"), 0o644)
}

// Kept is a directory that was kept before, and will be again.
func Kept(name, path, branch string, p Place) *Dir {
	return &Dir{Name: name, Path: path, Branch: branch, place: p}
}

// Tasks is where it is, with those of other tasks.
func (d *Dir) Tasks() string { return d.place.Tasks() }

// Shown is the directory as the log names it: from the root on.
func (d *Dir) Shown() string { return home + "/tasks/" + d.Name }

// End removes the directory when nothing has changed in it, and says whether it is
// kept.
func (d *Dir) End(ctx context.Context) (kept bool, err error) {
	switch {
	case d.tree != nil:
		now, err := look(ctx, d.Path)
		if err != nil || !d.tree.same(now) {
			return true, err
		}
	case d.commit != "":
		changed, err := d.worktreeChanged(ctx)
		if err != nil || changed {
			return true, err
		}
	default:
		return true, nil
	}
	return false, d.discard(ctx)
}

// discard removes the directory and all that belongs to it.
func (d *Dir) discard(ctx context.Context) error {
	if d.Branch != "" {
		return d.discardWorktree(ctx)
	}
	return removeAll(d.place.path(d.Name))
}

// removeAll removes a tree, also what is in directories that cannot be written.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
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
