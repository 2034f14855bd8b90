package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	if r == nil || r.isCopy() {
		return nil, missing(name)
	}
	if r.State != ready {
		return nil, errorf(Missing, name, "the creation or removal of the workspace %s was interrupted, or is in progress", name).hint("concerto work open %s", name)
	}
	w := s.of(r)
	_, err = w.check(ctx)
	return w, err
}

// Use returns an existing workspace, which belongs to this process until Close.
func (s *Store) Use(ctx context.Context, name string) (*Workspace, error) {
	w, err := s.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	release, err := s.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	// An exchange that was ending may have removed it.
	r, err := s.place.read(name)
	if err == nil && r == nil {
		err = missing(name)
	}
	if err == nil {
		err = s.claim(r)
	}
	if err != nil {
		release()
		return nil, err
	}
	return w, nil
}

func missing(name string) error {
	return errorf(Missing, name, "there is no workspace %s", name).hint("concerto work list")
}

// records returns the records of all workspaces that are worktrees.
func (s *Store) records(ctx context.Context) ([]*record, error) {
	all, err := s.place.records()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if err := s.repository(ctx); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(r *record) bool { return r.Branch == "" }), nil
}

// records returns the records of all workspaces, and of the copies of exchanges.
func (p *Place) records() (all []*record, err error) {
	names, err := p.names()
	if err != nil {
		return nil, failure(err, "", "list the workspaces")
	}
	for _, name := range names {
		r, err := p.read(name)
		if err != nil {
			return nil, err
		}
		if r != nil {
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
	tip, problem := w.check(ctx)
	switch {
	case ctx.Err() != nil:
		return x, context.Cause(ctx)
	case r.State != ready && held:
		x.State = stateBusy
		return x, nil
	case r.State != ready:
		x.State = creating
		return x, nil
	case isMissing(problem):
		x.State = stateMissing
		return x, nil
	case problem != nil:
		return x, problem
	case held:
		x.State = stateBusy
	}
	d, err := w.stat(ctx, w.Base)
	if err != nil {
		return x, err
	}
	x.Head, x.Changed, x.Additions, x.Deletions = tip, len(d.Files), d.Additions, d.Deletions
	return x, nil
}

// isHeld reports whether a process uses a workspace.
func (s *Store) isHeld(name string) (bool, error) {
	s.place.Uses.mu.Lock()
	own := s.place.Uses.locks[name] != nil
	s.place.Uses.mu.Unlock()
	if own {
		return true, nil
	}
	return lockfile.Held(s.place.taskPath(name) + lockSuffix)
}

// Remove removes a workspace: its worktree, its branch and its record. Without force it returns an
// error with the code dirty if the workspace contains work that exists nowhere else, and busy if
// another run that has not ended works there.
func (s *Store) Remove(ctx context.Context, name string, force bool) error {
	if force {
		return s.remove(ctx, name, nil)
	}
	return s.remove(ctx, name, (*Workspace).checkNoWork)
}

// remove removes a workspace. Unless check is nil, it must return no error, and no other run that
// has not ended may work there.
func (s *Store) remove(ctx context.Context, name string, check func(*Workspace, context.Context) error) error {
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
	if r == nil || r.isCopy() {
		return missing(name)
	}
	if check != nil && s.place.isOfOther(r) {
		return errorf(Busy, name, "the run %s, which has not ended, works in the workspace %s", r.Run, name).hint("resume or stop the run, or use --force")
	}
	release, err := s.lock(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	if err := s.endHosts(ctx, name); err != nil {
		return err
	}
	if check != nil && r.State == ready {
		if err := check(s.of(r), ctx); err != nil {
			return err
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

// isMissing reports whether an error means that a worktree or its branch is missing.
func isMissing(err error) bool {
	known, ok := errors.AsType[*Error](err)
	return ok && known.Code == Missing
}

// checkNoWork returns an error if the workspace has work that is neither in its base nor in another
// branch or tag.
func (w *Workspace) checkNoWork(ctx context.Context) error {
	files, commits, err := w.findWork(ctx, "--exclude="+w.Branch, "--branches", "--tags", "--remotes")
	if err != nil {
		return err
	}
	if commits > 0 && files == "" {
		files = count(commits, "commit") + " that no other branch contains"
	}
	if files == "" {
		return nil
	}
	return errorf(Dirty, w.Name, "the workspace %s has %s", w.Name, files).hint("commit and merge its work, or remove it with --force")
}

// findWork returns the work that would be lost with the workspace: a description of files, or ""
// for none, and the number of commits that neither its base nor one of the revisions contains. Its
// worktree or its branch may be missing.
func (w *Workspace) findWork(ctx context.Context, revisions ...string) (files string, commits int, err error) {
	if files, err = w.moduleWork(ctx); err != nil {
		return "", 0, err
	}
	var tips []string
	tip, err := w.tip(ctx)
	if err == nil {
		tips = append(tips, tip)
	} else if !isMissing(err) {
		return "", 0, err
	}
	if _, err := os.Lstat(w.top); err == nil {
		place, err := w.place()
		if isMissing(err) {
			return "a worktree that its repository does not list", 0, nil
		}
		if err != nil {
			return "", 0, err
		}
		head, err := w.store.git.Run(ctx, place, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
		if git.IsExit(err, 1) {
			return "a worktree on a branch without a commit", 0, nil
		}
		if err != nil {
			return "", 0, failure(err, w.Name, "read HEAD")
		}
		tips = append(tips, head)
		d, err := w.stat(ctx, "HEAD")
		if err != nil {
			return "", 0, err
		}
		if n := len(d.Files); n > 0 {
			files = "uncommitted changes in " + count(n, "file")
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", 0, failure(err, w.Name, "find the worktree")
	}
	if len(tips) == 0 {
		return files, 0, nil
	}
	own, err := w.store.git.Run(ctx, w.store.main(), slices.Concat([]string{"rev-list", "--count"}, tips, []string{"--not", w.Base}, revisions)...)
	return files, int(number(own)), failure(err, w.Name, "list the commits of the workspace")
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
// process uses remain, and those of other runs that have not ended. The same applies to the copies
// of exchanges, which no branch contains. With dry, nothing is removed.
func (s *Store) Clean(ctx context.Context, merged string, dry bool) ([]Cleaned, error) {
	records, err := s.place.records()
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(records, func(r *record) bool { return !r.isCopy() }) {
		if err := s.repository(ctx); err != nil {
			return nil, err
		}
	}
	if merged != "" {
		if merged, err = s.resolve(ctx, "", "refs/heads/"+merged); err != nil {
			return nil, err
		}
	}
	var all []Cleaned
	for _, r := range records {
		reason, err := s.clean(ctx, r, merged, dry)
		if err != nil {
			return all, err
		}
		all = append(all, Cleaned{r.Name, reason})
	}
	gates, err := s.cleanGates(ctx, dry)
	return append(all, gates...), errors.Join(err, s.cleanLeftovers(ctx))
}

// clean removes a workspace that is no longer needed, or returns why it remains.
func (s *Store) clean(ctx context.Context, r *record, merged string, dry bool) (reason string, err error) {
	defer s.takeTurn(r.Name)()
	release, err := s.lock(ctx, r.Name)
	var problem *Error
	if errors.As(err, &problem) && problem.Code == Busy {
		return "a process uses it", nil
	}
	if err != nil {
		return "", err
	}
	defer release()
	if r.State == ready {
		if s.place.isOfOther(r) {
			return "the run " + r.Run + " has not ended", nil
		}
		if r.isCopy() {
			reason, err = reasonToKeepCopy(ctx, s, r)
		} else {
			reason, err = s.of(r).reasonToStay(ctx, merged)
		}
		if err != nil || reason != "" {
			return reason, err
		}
	}
	if dry {
		return "", nil
	}
	return "", s.removeLocked(ctx, r)
}

// reasonToKeepCopy returns why a copy remains after Clean, or "".
func reasonToKeepCopy(ctx context.Context, s *Store, r *record) (string, error) {
	changed, err := hasDirChanged(ctx, s, r)
	if err != nil || !changed {
		return "", failure(err, r.Name, "compare the copy with its original state")
	}
	return "its files have changed", nil
}

// reasonToStay returns why a workspace remains after Clean, or "".
func (w *Workspace) reasonToStay(ctx context.Context, merged string) (string, error) {
	var revisions []string
	if merged != "" {
		revisions = append(revisions, merged)
	}
	files, commits, err := w.findWork(ctx, revisions...)
	switch {
	case err != nil || files != "":
		return files, err
	case commits > 0 && merged != "":
		return "it has commits that the branch does not contain", nil
	case commits > 0:
		return "it has commits", nil
	}
	return "", nil
}

// cleanLeftovers removes the temporary indexes of processes that were killed, and the locks of
// workspaces that they had removed.
func (s *Store) cleanLeftovers(ctx context.Context) error {
	files, err := os.ReadDir(s.place.Tasks())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), lockSuffix); ok && checkName(name) == nil {
			err = errors.Join(err, removeLock(ctx, s, name))
		}
		rest, ok := strings.CutPrefix(f.Name(), indexPrefix)
		pid, _, _ := strings.Cut(rest, "-")
		if ok && lockfile.IsDead(int(number(pid))) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.place.Tasks(), f.Name())))
		}
	}
	return failure(err, "", "remove what processes that were killed have left")
}

// removeLock removes the lock of a workspace that does not exist, unless a process holds it.
func removeLock(ctx context.Context, s *Store, name string) error {
	r, err := s.place.read(name)
	if err != nil || r != nil {
		return err
	}
	release, err := s.lock(ctx, name)
	if problem, ok := errors.AsType[*Error](err); ok && problem.Code == Busy {
		return nil
	}
	if err == nil {
		release()
	}
	return err
}

// Exists reports whether there is a workspace with a name. It does not need git.
func (s *Store) Exists(name string) (bool, error) {
	if checkName(name) != nil {
		return false, nil
	}
	r, err := s.place.read(name)
	return r != nil && r.Branch != "", err
}
