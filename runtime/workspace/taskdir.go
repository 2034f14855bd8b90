// Package workspace creates working directories for single tasks. A directory is a copy of another
// directory, or a worktree of its repository. When a task ends, its directory is removed if nothing
// in it has changed.
//
// The directories are .concerto/tasks/NAME below the root, which is the directory of the manifest.
package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/process/git"
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
	// IsPending reports whether a stored run may not have ended; nil if no run is stored. journal
	// is the directory of the run, if it is known.
	IsPending func(run, journal string) bool
	Uses      *Uses // of the workspaces of this process; nil if nothing else uses them

	Git   *git.Git // nil for the installed one
	Start Start    // starts commands; nil for processes of this machine

	folder string // of the worktrees in .concerto; "" for that of tasks
}

// Start runs a command as Store.Execute does.
type Start func(ctx context.Context, dir string, command, environ []string, out io.Writer) (exit int, err error)

// home is the directory of Concerto's files next to a manifest, and taskFolder that of task
// directories in it.
const (
	home       = ".concerto"
	taskFolder = "tasks"
)

// Tasks returns the path of the directory that contains all task directories.
func (p *Place) Tasks() string { return filepath.Join(p.Root, home, cmp.Or(p.folder, taskFolder)) }

func (p *Place) taskPath(name string) string { return filepath.Join(p.Tasks(), name) }

// Exchange is the exchange of a host to which a directory belongs. Key identifies it among those of
// Place.Run; it may be "" for a run that ends with its process.
type Exchange struct{ Host, Key string }

// Dir is the working directory of an exchange, or a workspace in which a host works. A directory of
// an exchange is locked by the process that runs it, and its record names the exchange until the
// exchange ends. Another process of the run therefore finds it.
type Dir struct {
	Name   string
	Path   string // path of the working directory
	Branch string // branch of a worktree; "" for a copy

	place   Place
	store   *Store
	release func() // releases the lock; nil if the directory belongs to the program
}

// ErrExists means that the directory that Make should create exists. The text continues a sentence
// that begins with the directory.
var ErrExists = errors.New("already exists")

// Make creates a directory for an exchange. kind is "copy" or "worktree". If Make fails, it removes
// everything that it has created.
func Make(ctx context.Context, kind, name string, x Exchange, p Place) (*Dir, error) {
	if err := p.prepare(); err != nil {
		return nil, err
	}
	if r, err := p.read(name); err != nil || r != nil {
		return nil, cmp.Or(err, fmt.Errorf("%s %w", p.taskPath(name), ErrExists))
	}
	if _, err := os.Lstat(p.taskPath(name)); err == nil {
		return nil, fmt.Errorf("%s %w", p.taskPath(name), ErrExists)
	}
	x.Key = cmp.Or(x.Key, name)
	s := NewStore(p)
	s.exchange = &x
	switch kind {
	case "copy":
		return makeCopy(ctx, s, name)
	case "worktree":
		return makeWorktree(ctx, s, name)
	}
	return nil, fmt.Errorf("unknown kind of directory %q", kind)
}

// newDir returns the directory of a record whose lock this process holds until release is called.
func newDir(s *Store, r *record, release func()) *Dir {
	return &Dir{Name: r.Name, Path: s.place.dirOf(r), Branch: r.Branch, place: s.place, store: s, release: release}
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

// Adopt passes an existing directory to an exchange: one whose conversation it continues, or its
// own after the end of an earlier process of the run. The error has the code busy if an open
// exchange of this or another run works there, and missing if its creation or removal was
// interrupted; then nothing is left of it.
func Adopt(ctx context.Context, name string, x Exchange, p Place) (*Dir, error) {
	s := NewStore(p)
	s.exchange = &x
	defer s.takeTurn(name)()
	release, err := s.lockOwn(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := adopt(ctx, s, name, x)
	if err != nil {
		if release != nil {
			release()
		}
		return nil, err
	}
	return newDir(s, r, release), nil
}

func adopt(ctx context.Context, s *Store, name string, x Exchange) (*record, error) {
	r, err := s.place.read(name)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, missing(name)
	case r.State != ready: // an earlier process was killed
		if r.Branch != "" {
			if err := s.repository(ctx); err != nil {
				return nil, err
			}
		}
		return nil, errors.Join(missing(name), s.discard(ctx, r))
	case r.Exchange != "" && s.place.isOfOther(r):
		return nil, errorf(Busy, name, "an exchange of the run %s works in %s", r.Run, Shown(name))
	}
	r.Run, r.Journal, r.Host, r.Exchange = s.place.Run, s.place.Journal, x.Host, cmp.Or(x.Key, r.Exchange, name)
	return r, s.place.write(r)
}

// isOfOther reports whether a directory belongs to another run that has not ended.
func (p *Place) isOfOther(r *record) bool {
	return r.Run != "" && r.Run != p.Run && p.IsPending != nil && p.IsPending(r.Run, r.Journal)
}

// Owned returns the names of the directories that belong to exchanges of Place.Run with a host, by
// the exchange's key.
func Owned(host string, p Place) map[string]string {
	all := map[string]string{}
	names, _ := p.names() // without a list there is none
	for _, name := range names {
		if !strings.HasPrefix(name, p.Run) {
			continue
		}
		if r, err := p.read(name); err == nil && r != nil && r.Run == p.Run && r.Host == host && r.Exchange != "" {
			all[r.Exchange] = name
		}
	}
	return all
}

// Names returns the name, the path and the branch.
func (d *Dir) Names() (name, path, branch string) { return d.Name, d.Path, d.Branch }

// Shown returns the path of a directory for log lines, relative to the root.
func Shown(name string) string { return home + "/tasks/" + name }

// End ends the directory of an exchange that has ended: it removes the directory if nothing in it
// has changed. It reports whether the directory remains.
func (d *Dir) End(ctx context.Context) (remains bool, err error) {
	if d.release == nil {
		return true, nil
	}
	defer d.Leave()
	return endDir(ctx, d.store, d.Name)
}

// Leave releases the directory without ending it: its exchange continues in another process of the
// run.
func (d *Dir) Leave() {
	if d.release != nil {
		d.release()
	}
}

// endDir ends a directory that this process has locked. It takes no turn, because a call that waits
// for the lock has it.
func endDir(ctx context.Context, s *Store, name string) (remains bool, err error) {
	r, err := s.place.read(name)
	if err != nil || r == nil {
		return r != nil, err
	}
	if r.Branch != "" {
		if err := s.repository(ctx); err != nil {
			return true, err
		}
	}
	if r.State == ready {
		if remains, err = hasDirChanged(ctx, s, r); err != nil {
			return true, err
		}
	}
	if !remains {
		return false, s.removeLocked(ctx, r)
	}
	if r.Exchange = ""; r.Branch == "" && len(r.Sessions) == 0 { // nothing refers to the copy any more
		return true, os.Remove(s.place.taskPath(name) + recordSuffix)
	}
	return true, s.place.write(r)
}

// hasDirChanged reports whether something in the directory of an exchange has changed, or whether
// it must remain anyway.
func hasDirChanged(ctx context.Context, s *Store, r *record) (bool, error) {
	if r.Branch != "" {
		if s.place.Worktrees.Keep == "always" {
			return true, nil
		}
		return s.of(r).hasChanged(ctx)
	}
	now, err := scanTree(ctx, s.place.dirOf(r))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // it was removed by other means
	}
	return err != nil || now != r.Tree, err
}

// Ending notes that the exchange has ended, and that End will follow. The program that opens the
// workspace waits for it.
func (d *Dir) Ending() {
	if d.release != nil {
		d.place.Uses.markEnding(d.Name)
	}
}

// EndRun ends the directories of exchanges of a run that has ended, and removes the locks of its
// processes that were killed.
func (s *Store) EndRun(ctx context.Context, run string) error {
	names, err := s.place.names()
	for _, name := range names {
		r, rerr := s.place.read(name)
		if rerr != nil || r == nil || r.Run != run {
			continue // the commands for workspaces report a damaged record
		}
		release, lerr := s.lock(ctx, name)
		if known, ok := errors.AsType[*Error](lerr); ok && known.Code == Busy {
			continue
		}
		if lerr != nil {
			return errors.Join(err, lerr)
		}
		if r.Exchange != "" {
			_, derr := endDir(ctx, s, name)
			err = errors.Join(err, derr)
		}
		release()
	}
	return err
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
