package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/git"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
)

// States of a workspace, in addition to ready and creating.
const (
	stateBusy    = "busy"    // a process uses it
	stateMissing = "missing" // its worktree or branch was removed
)

// Status describes a workspace.
type Status struct {
	Name      string  `json:"name"`
	State     string  `json:"state"` // ready, busy, creating or missing
	Dir       string  `json:"dir"`
	Branch    string  `json:"branch"`
	Base      string  `json:"base"`
	Head      string  `json:"head"` // commit of the branch
	Host      *string `json:"host"` // of an exchange with isolate
	Run       *string `json:"run"`
	Changed   int     `json:"changed"` // number of changed files
	Additions int64   `json:"additions"`
	Deletions int64   `json:"deletions"`
	Created   string  `json:"created"`
}

// Find returns an existing workspace without using it: a process that works in it is not disturbed.
func (s *Store) Find(ctx context.Context, name string) (*Workspace, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := s.repository(ctx); err != nil {
		return nil, err
	}
	r, err := s.place.read(name)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, errorf(Missing, name, "there is no workspace %s", name).hint("concerto work list")
	}
	if r.State != ready {
		return nil, errorf(Missing, name, "the creation or removal of the workspace %s was interrupted, or is in progress", name).hint("concerto work open %s", name)
	}
	w := s.of(r)
	return w, w.check(ctx)
}

// Use returns an existing workspace, which belongs to this process until Close.
func (s *Store) Use(ctx context.Context, name string) (*Workspace, error) {
	w, err := s.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	if _, err := s.lock(name); err != nil {
		return nil, err
	}
	return w, nil
}

// All returns the workspaces with a worktree in the order of their names.
func (s *Store) All(ctx context.Context) ([]*Workspace, error) {
	records, err := s.records(ctx)
	if err != nil {
		return nil, err
	}
	var all []*Workspace
	for _, r := range records {
		if w := s.of(r); r.State == ready && w.check(ctx) == nil {
			all = append(all, w)
		}
	}
	return all, nil
}

// records returns the records of all workspaces that are worktrees.
func (s *Store) records(ctx context.Context) ([]*record, error) {
	names, err := s.place.names()
	if err != nil || len(names) == 0 {
		return nil, failure(err, "", "list the workspaces")
	}
	if err := s.repository(ctx); err != nil {
		return nil, err
	}
	var all []*record
	for _, name := range names {
		r, err := s.place.read(name)
		if err != nil {
			return nil, err
		}
		if r != nil && r.Branch != "" {
			all = append(all, r)
		}
	}
	return all, nil
}

// List returns the states of all workspaces in the order of their names.
func (s *Store) List(ctx context.Context) ([]Status, error) {
	records, err := s.records(ctx)
	if err != nil {
		return nil, err
	}
	all := []Status{}
	for _, r := range records {
		x, err := s.status(ctx, r)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

func (s *Store) status(ctx context.Context, r *record) (Status, error) {
	w := s.of(r)
	x := Status{Name: r.Name, State: ready, Dir: w.Dir, Branch: r.Branch, Base: r.Base, Created: r.Created}
	if r.Host != "" {
		x.Host = &r.Host
	}
	if r.Run != "" {
		x.Run = &r.Run
	}
	held, err := s.isHeld(r.Name)
	if err != nil {
		return x, failure(err, r.Name, "read the lock of the workspace")
	}
	switch problem := w.check(ctx); {
	case ctx.Err() != nil:
		return x, context.Cause(ctx)
	case r.State != ready && held:
		x.State = stateBusy
		return x, nil
	case r.State != ready:
		x.State = creating
		return x, nil
	case problem != nil:
		x.State = stateMissing
		return x, nil
	case held:
		x.State = stateBusy
	}
	if x.Head, err = w.tip(ctx); err != nil {
		return x, err
	}
	d, err := w.Stat(ctx)
	if err != nil {
		return x, err
	}
	x.Changed, x.Additions, x.Deletions = len(d.Files), d.Additions, d.Deletions
	return x, nil
}

// isHeld reports whether a process uses a workspace.
func (s *Store) isHeld(name string) (bool, error) {
	s.mu.Lock()
	own := s.locks[name] != nil
	s.mu.Unlock()
	if own {
		return true, nil
	}
	return lockfile.Held(s.place.taskPath(name) + lockSuffix)
}

// Remove removes a workspace: its worktree, its branch and its record. Without force it returns an
// error with the code dirty if the workspace contains work that exists nowhere else.
func (s *Store) Remove(ctx context.Context, name string, force bool) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := s.repository(ctx); err != nil {
		return err
	}
	defer s.takeTurn(name)()
	r, err := s.place.read(name)
	if err != nil {
		return err
	}
	if r == nil {
		return errorf(Missing, name, "there is no workspace %s", name).hint("concerto work list")
	}
	release, err := s.lock(name)
	if err != nil {
		return err
	}
	defer release()
	if w := s.of(r); !force && r.State == ready && w.check(ctx) == nil {
		work, err := w.ownWork(ctx)
		if err != nil {
			return err
		}
		if work != "" {
			return errorf(Dirty, name, "the workspace %s has %s", name, work).hint("commit and merge its work, or remove it with --force")
		}
	}
	return s.removeLocked(ctx, r)
}

// removeLocked removes a workspace whose lock this process holds, with its lock.
func (s *Store) removeLocked(ctx context.Context, r *record) error {
	r.State = removing
	if err := s.place.write(r); err != nil {
		return failure(err, r.Name, "write the record of the workspace")
	}
	if err := s.discard(ctx, r); err != nil {
		return err
	}
	s.unlock(r.Name)
	return nil
}

// ownWork describes the work of a workspace that is neither in its base nor in another branch or
// tag; "" means none.
func (w *Workspace) ownWork(ctx context.Context) (string, error) {
	place, err := w.place("")
	if err != nil {
		return "", err
	}
	tip, err := w.tip(ctx)
	if err != nil {
		return "", err
	}
	changed, err := w.changedFiles(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	if changed > 0 {
		return fmt.Sprintf("uncommitted changes in %s", count(changed, "file")), nil
	}
	own, err := w.store.git.Run(ctx, place, "rev-list", "--count", tip, "HEAD", "--not", w.Base, "--exclude="+w.Branch, "--branches", "--tags", "--remotes")
	if err != nil {
		return "", failure(err, w.Name, "list the commits of the workspace")
	}
	if own != "0" {
		return fmt.Sprintf("%s that no other branch contains", count(int(number(own)), "commit")), nil
	}
	return "", nil
}

// changedFiles returns the number of files that differ from a commit.
func (w *Workspace) changedFiles(ctx context.Context, from string) (int, error) {
	at, remove, err := w.snapshot(ctx)
	if err != nil {
		return 0, err
	}
	defer remove()
	out, err := w.store.git.Run(ctx, at, "diff", "--cached", "--no-ext-diff", "--no-textconv", "--name-only", "-z", from, "--")
	return strings.Count(out, "\x00"), failure(err, w.Name, "compare the workspace with "+from)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Cleaned is what Clean has done with a workspace. Reason, if not "", is why it remains.
type Cleaned struct{ Name, Reason string }

// Clean removes workspaces whose creation was interrupted, that are missing or that have no
// changes, and, if merged is not "", those whose work that branch contains. Workspaces that a
// process uses remain, and those of a run for which isPending is true. With dry, nothing is
// removed.
func (s *Store) Clean(ctx context.Context, merged string, dry bool, isPending func(run string) bool) ([]Cleaned, error) {
	records, err := s.records(ctx)
	if err != nil {
		return nil, err
	}
	if merged != "" {
		if merged, err = s.resolve(ctx, "", "refs/heads/"+merged); err != nil {
			return nil, err
		}
	}
	var all []Cleaned
	for _, r := range records {
		reason, err := s.clean(ctx, r, merged, dry, isPending)
		if err != nil {
			return all, err
		}
		all = append(all, Cleaned{r.Name, reason})
	}
	return all, s.cleanIndexes()
}

// clean removes a workspace that is no longer needed, or returns why it remains.
func (s *Store) clean(ctx context.Context, r *record, merged string, dry bool, isPending func(run string) bool) (reason string, err error) {
	defer s.takeTurn(r.Name)()
	release, err := s.lock(r.Name)
	var problem *Error
	if errors.As(err, &problem) && problem.Code == Busy {
		return "a process uses it", nil
	}
	if err != nil {
		return "", err
	}
	defer release()
	w := s.of(r)
	if r.State == ready && w.check(ctx) != nil { // the worktree or the branch is missing
		own, err := w.commitsOf(ctx, merged)
		if err != nil || own {
			return "its worktree is missing, and its branch has commits", err
		}
	} else if r.State == ready {
		if r.Run != "" && isPending != nil && isPending(r.Run) {
			return "the run " + r.Run + " has not ended", nil
		}
		if reason, err = w.reasonToStay(ctx, merged); err != nil || reason != "" {
			return reason, err
		}
	}
	if dry {
		return "", nil
	}
	return "", s.removeLocked(ctx, r)
}

// reasonToStay returns why a workspace remains after Clean, or "".
func (w *Workspace) reasonToStay(ctx context.Context, merged string) (string, error) {
	tip, err := w.tip(ctx)
	if err != nil {
		return "", err
	}
	place, err := w.place("")
	if err != nil {
		return "", err
	}
	head, err := w.store.git.Run(ctx, place, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil && !git.IsExit(err, 1) {
		return "", failure(err, w.Name, "read HEAD")
	}
	changed, err := w.changedFiles(ctx, "HEAD")
	switch {
	case err != nil:
		return "", err
	case changed > 0:
		return fmt.Sprintf("uncommitted changes in %s", count(changed, "file")), nil
	case head != tip:
		return "its worktree is not at its branch", nil
	case tip == w.Base:
		return "", nil
	case merged == "":
		return "it has commits", nil
	}
	_, err = w.store.git.Run(ctx, w.store.main(), "merge-base", "--is-ancestor", tip, merged)
	if git.IsExit(err, 1) {
		return "it has commits that the branch does not contain", nil
	}
	return "", failure(err, w.Name, "compare the workspace with the branch")
}

// commitsOf reports whether the branch of a workspace without a worktree has commits that neither
// the base nor the branch merged contains.
func (w *Workspace) commitsOf(ctx context.Context, merged string) (bool, error) {
	tip, err := w.tip(ctx)
	if known, ok := errors.AsType[*Error](err); ok && known.Code == Missing {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	args := []string{"rev-list", "--count", "--max-count=1", tip, "--not", w.Base}
	if merged != "" {
		args = append(args, merged)
	}
	n, err := w.store.git.Run(ctx, w.store.main(), args...)
	return n != "0", failure(err, w.Name, "list the commits of the workspace")
}

// cleanIndexes removes the temporary indexes of processes that were killed.
func (s *Store) cleanIndexes() error {
	files, err := os.ReadDir(s.place.Tasks())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		rest, ok := strings.CutPrefix(f.Name(), indexPrefix)
		pid, _, _ := strings.Cut(rest, "-")
		if ok && lockfile.IsDead(int(number(pid))) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.place.Tasks(), f.Name())))
		}
	}
	return failure(err, "", "remove the temporary indexes of other processes")
}
