// Package workspace creates working directories for single tasks. A directory is a copy of another
// directory, or a worktree of its repository. Its API promises nothing. When a task ends, its
// directory is removed if nothing in it has changed.
//
// The directories are .concerto/tasks/NAME below the root, which is the directory of the manifest.
package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// Place specifies where directories are created and which directory they copy.
type Place struct {
	Root    string   // absolute path of the directory that contains .concerto
	From    string   // absolute path of the directory to copy
	Leave   []string // absolute paths that are not copied, in addition to .concerto
	Environ []string // environment of git, as "NAME=value"

	// Worktrees are the settings of worktrees, CommandEnviron is the environment of their setup
	// commands, and Processes owns these commands; nil for none.
	Worktrees      Worktrees
	CommandEnviron []string
	Processes      *procgroup.Run
	Run            string            // id of the run that uses the worktrees, or ""
	Journal        string            // directory of the run, if it is stored
	Log            func(line string) // nil for none
	Uses           *Uses             // of the workspaces of this process; nil if nothing else uses them

	folder string // of the worktrees in .concerto; "" for that of tasks
}

// home is the directory of Concerto's files next to a manifest.
const home = ".concerto"

// Tasks returns the path of the directory that contains all task directories.
func (p *Place) Tasks() string { return filepath.Join(p.Root, home, cmp.Or(p.folder, "tasks")) }

func (p *Place) taskPath(name string) string { return filepath.Join(p.Tasks(), name) }

// Dir is the working directory of a task.
type Dir struct {
	Name   string
	Path   string // path of the working directory
	Branch string // branch of a worktree; "" for a copy

	place Place
	tree  *tree // original state of a copy; nil for a worktree
	// of a worktree. If it is nil and tree is nil, End never removes the directory.
	workspace *Workspace
}

// Make creates a directory. kind is "copy" or "worktree". If Make fails, it removes everything that
// it has created.
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
	if err != nil && kind == "copy" {
		err = errors.Join(err, d.discard(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// prepare creates the directory that contains all task directories, with a .gitignore for its
// content.
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

// Reopen returns an existing directory that an earlier End has not removed. A later End does not
// remove it either.
func Reopen(name, path, branch string, p Place) *Dir {
	return &Dir{Name: name, Path: path, Branch: branch, place: p}
}

// Tasks returns the path of the directory that contains all task directories.
func (d *Dir) Tasks() string { return d.place.Tasks() }

// Names returns the name, the path and the branch.
func (d *Dir) Names() (name, path, branch string) { return d.Name, d.Path, d.Branch }

// Shown returns the path of a directory for log lines, relative to the root.
func Shown(name string) string { return home + "/tasks/" + name }

// End removes the directory if nothing in it has changed. It reports whether the directory remains.
func (d *Dir) End(ctx context.Context) (kept bool, err error) {
	switch {
	case d.tree != nil:
		now, err := scanTree(ctx, d.Path)
		if err != nil || !d.tree.equalTo(now) {
			return true, err
		}
	case d.workspace != nil:
		return d.workspace.end(ctx)
	default:
		return true, nil
	}
	return false, d.discard(ctx)
}

// Ending notes that the exchange has ended, and that End will follow. The program that opens the
// workspace waits for it.
func (d *Dir) Ending() {
	if d.workspace != nil {
		d.workspace.store.place.Uses.markEnding(d.Name)
	}
}

// discard removes the directory and, for a worktree, its branch.
func (d *Dir) discard(ctx context.Context) error {
	if d.workspace != nil {
		return d.workspace.store.remove(ctx, d.Name, nil)
	}
	return userfile.RemoveAll(d.place.taskPath(d.Name))
}

// removal is the time for which removeInUse tries again, and removalPause the pause before that.
const (
	removal      = 10 * time.Second
	removalPause = 20 * time.Millisecond
)

// removeInUse removes a tree in which the processes of a killed process may still be ending.
func removeInUse(ctx context.Context, path string) error {
	for since := time.Now(); ; {
		err := userfile.RemoveAll(path)
		if !errors.Is(err, syscall.ENOTEMPTY) || time.Since(since) > removal {
			return err
		}
		select {
		case <-time.After(removalPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
