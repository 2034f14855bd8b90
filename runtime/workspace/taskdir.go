// Package workspace creates working directories for single tasks: a copy of another directory, or a
// worktree of its repository; its API promises nothing. At the end of its task, a directory is
// removed if nothing has changed in it.
//
// The directories are .concerto/tasks/NAME in the root, the directory of the manifest.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Place specifies where directories are created and what they are copied from.
type Place struct {
	Root    string   // absolute
	From    string   // absolute
	Leave   []string // absolute paths that are not copied, in addition to .concerto
	Environ []string // of git, as "NAME=value"
}

// home is the directory of Concerto's files next to a manifest.
const home = ".concerto"

// Tasks returns the directory of the tasks' directories.
func (p *Place) Tasks() string { return filepath.Join(p.Root, home, "tasks") }

func (p *Place) taskPath(name string) string { return filepath.Join(p.Tasks(), name) }

// Dir is the directory of a task.
type Dir struct {
	Name   string
	Path   string // working directory
	Branch string // of a worktree; "" in a copy

	place Place
	tree  *tree // original state of a copy
	// original commit of a worktree; "" without a tree means that the directory is always kept
	commit string
}

// Make creates a directory. kind is "copy" or "worktree". On failure nothing is left of it.
func Make(ctx context.Context, kind, name string, p Place) (*Dir, error) {
	if err := p.prepare(); err != nil {
		return nil, err
	}
	d := &Dir{Name: name, Path: p.taskPath(name), place: p}
	if _, err := os.Lstat(d.Path); err == nil {
		return nil, fmt.Errorf("%s already exists", d.Path)
	}
	var err error
	switch kind {
	case "copy":
		err = d.copy(ctx)
	case "worktree":
		err = d.worktree(ctx)
	default:
		return nil, fmt.Errorf("unknown kind of directory %q", kind)
	}
	if err != nil {
		return nil, errors.Join(err, d.discard(context.WithoutCancel(ctx)))
	}
	return d, nil
}

// prepare creates the directory of all tasks, which git ignores.
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

// Reopen returns an existing directory that End did not remove. A later End does not remove it
// either.
func Reopen(name, path, branch string, p Place) *Dir {
	return &Dir{Name: name, Path: path, Branch: branch, place: p}
}

// Tasks returns the parent directory.
func (d *Dir) Tasks() string { return d.place.Tasks() }

// Shown returns the directory's name in log lines, relative to the root.
func (d *Dir) Shown() string { return home + "/tasks/" + d.Name }

// End removes the directory if nothing has changed in it, and reports whether it remains.
func (d *Dir) End(ctx context.Context) (kept bool, err error) {
	switch {
	case d.tree != nil:
		now, err := scanTree(ctx, d.Path)
		if err != nil || !d.tree.equalTo(now) {
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

// discard removes the directory and everything that belongs to it.
func (d *Dir) discard(ctx context.Context) error {
	if d.Branch != "" {
		return d.discardWorktree(ctx)
	}
	return removeAll(d.place.taskPath(d.Name))
}

// removeAll removes a tree, including the contents of directories without write permission.
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
