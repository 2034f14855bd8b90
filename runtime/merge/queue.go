package merge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/process/git"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// Queue is a merge queue.
type Queue struct {
	m     *Merges
	rules rules
	check Gate // replaces the commands in tests
}

// Name returns the name of the queue, and Into the branch into which it merges.
func (q *Queue) Name() string { return q.rules.name }

// Into returns the branch into which the queue merges.
func (q *Queue) Into() string { return q.rules.Into }

func (q *Queue) database() (*database, error) { return q.m.database(q.rules.File) }

// pin is the ref that contains a change.
func (q *Queue) pin(id string) string { return "refs/concerto/changes/" + q.rules.name + "/" + id }

// List returns all changes in the order in which they are tried.
func (q *Queue) List(context.Context) (all []*Change, err error) {
	d, err := q.database()
	if err != nil {
		return nil, err
	}
	return all, d.transaction(func(t *tx) (err error) {
		all, err = d.changes(t, q.rules.name)
		return err
	})
}

// Submission describes a change.
type Submission struct {
	ID       string // "" for the name of the workspace or branch
	Title    string // "" for the subject of the last commit
	After    []string
	Priority int
}

// Submit submits the current commit of a workspace, and returns the id of the change.
func (q *Queue) Submit(ctx context.Context, w *workspace.Workspace, s Submission) (string, error) {
	commit, err := w.Committed(ctx)
	if err != nil {
		return "", err
	}
	if s.ID == "" {
		s.ID = w.Name
	}
	return s.ID, q.submit(ctx, &Change{ID: s.ID, Branch: w.Branch, Commit: commit, workspace: w.Name}, s)
}

// SubmitBranch submits the current commit of a branch, and returns the id of the change.
func (q *Queue) SubmitBranch(ctx context.Context, branch string, s Submission) (string, error) {
	repo, err := q.m.o.Store.Repository(ctx)
	if err != nil {
		return "", err
	}
	commit, err := repo.Git.Run(ctx, repo.Main, "rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+branch+"^{commit}")
	if git.IsExit(err, 1) || git.IsExit(err, 128) {
		return "", fail(workspace.NoBranch, "there is no workspace and no branch %s", branch)
	}
	if err != nil {
		return "", workspace.Failure(err, "", "find the branch "+branch)
	}
	if s.ID == "" {
		s.ID = strings.ReplaceAll(strings.TrimPrefix(branch, "concerto/"), "/", "-")
	}
	return s.ID, q.submit(ctx, &Change{ID: s.ID, Branch: branch, Commit: commit}, s)
}

// submit stores a change.
func (q *Queue) submit(ctx context.Context, c *Change, s Submission) error {
	if !workspace.IsName(c.ID) {
		e := fail(workspace.BadName, "invalid id of a change: %q", c.ID)
		e.Hint = "choose another one with --id: 1 to 64 letters, digits, '.', '_' and '-'"
		return e
	}
	b, err := q.m.newBuilder(ctx, &q.rules, time.Now())
	if err != nil {
		return err
	}
	tip, err := target{b}.local(ctx)
	if err != nil {
		return err
	}
	if err := b.checkRelated(ctx, tip, c.Commit); err != nil {
		return err
	}
	if c.Title, err = b.titleOf(ctx, change{commit: c.Commit, title: firstLine(s.Title)}); err != nil {
		return err
	}
	c.Priority, c.After = s.Priority, s.After
	if c.After == nil {
		c.After = []string{}
	}
	return q.change(ctx, c.ID, func(all []*Change, now *Change) (*Change, error) {
		switch {
		case now != nil && now.Commit == c.Commit && now.State != Dropped:
			return nil, nil
		case now != nil && now.State == Merged:
			return nil, fail(workspace.AlreadyMerged, "the change %s has already been merged", c.ID)
		}
		if err := checkAfter(c, all); err != nil {
			return nil, err
		}
		requeue(c, all)
		return c, q.setPin(ctx, c)
	})
}

// checkAfter returns an error if a change depends on an unknown one, or on itself.
func checkAfter(c *Change, all []*Change) error {
	by := map[string]*Change{}
	for _, x := range all {
		by[x.ID] = x
	}
	by[c.ID] = c
	seen := map[string]bool{}
	var visit func(id string) error
	visit = func(id string) error {
		for _, next := range by[id].After {
			switch {
			case by[next] == nil:
				if id == c.ID {
					return fmt.Errorf("%w %s in `after` of %s", ErrUnknown, next, c.ID)
				}
			case next == c.ID:
				return fail(workspace.BadName, "the change %s would have to be merged after itself", c.ID)
			case !seen[next]:
				seen[next] = true
				if err := visit(next); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return visit(c.ID)
}

// setPin makes git keep the commit of a change.
func (q *Queue) setPin(ctx context.Context, c *Change) error {
	repo, err := q.m.o.Store.Repository(ctx)
	if err != nil {
		return err
	}
	return workspace.Failure(repo.Git.Finish(ctx, repo.Main, "update-ref", q.pin(c.ID), c.Commit), c.workspace, "pin the change "+c.ID)
}

// removePin lets git remove the commit of a change.
func (q *Queue) removePin(ctx context.Context, id string) error {
	repo, err := q.m.o.Store.Repository(ctx)
	if err != nil {
		return err
	}
	return workspace.Failure(repo.Git.Finish(ctx, repo.Main, "update-ref", "-d", q.pin(id)), "", "remove the pin of the change "+id)
}

// change replaces the row of a change by the result of edit, unless that is nil. now is nil for an
// unknown change. A change that lands cannot be edited, unless the process that landed it was
// killed.
func (q *Queue) change(ctx context.Context, id string, edit func(all []*Change, now *Change) (*Change, error)) error {
	d, err := q.database()
	if err != nil {
		return err
	}
	recovered := false
	for {
		err := d.transaction(func(t *tx) error {
			all, err := d.changes(t, q.rules.name)
			if err != nil {
				return err
			}
			var now *Change
			if i := slices.IndexFunc(all, func(c *Change) bool { return c.ID == id }); i >= 0 {
				now = all[i]
			}
			if now != nil && now.State == Landing {
				return errLanding
			}
			c, err := edit(all, now)
			if err != nil || c == nil {
				return err
			}
			return save(t, q.rules.name, c)
		})
		if !errors.Is(err, errLanding) {
			return err
		}
		if recovered {
			return fail(workspace.Busy, "the change %s is being merged", id)
		}
		recovered = true
		if err := q.recoverIdle(ctx); err != nil {
			return err
		}
	}
}

var errLanding = errors.New("the change is being merged")

// Retry queues changes again.
func (q *Queue) Retry(ctx context.Context, id string) error {
	return q.change(ctx, id, func(all []*Change, now *Change) (*Change, error) {
		switch {
		case now == nil:
			return nil, fmt.Errorf("%w %s", ErrUnknown, id)
		case now.State == Queued:
			return nil, nil
		case now.State == Merged:
			return nil, fail(workspace.AlreadyMerged, "the change %s has already been merged", id)
		}
		requeue(now, all)
		return now, q.setPin(ctx, now)
	})
}

// Drop removes a change from the queue. Its row remains, with the state dropped.
func (q *Queue) Drop(ctx context.Context, id string) error {
	return q.change(ctx, id, func(_ []*Change, now *Change) (*Change, error) {
		switch {
		case now == nil:
			return nil, fmt.Errorf("%w %s", ErrUnknown, id)
		case now.State == Merged:
			return nil, fail(workspace.AlreadyMerged, "the change %s has already been merged", id)
		}
		now.State, now.Message = Dropped, ""
		return now, q.removePin(ctx, id) // in the transaction: the change may be submitted at once
	})
}

// lock makes this process the only one that runs the queue.
func (q *Queue) lock() (unlock func(), err error) {
	if err := q.m.prepare(); err != nil {
		return nil, workspace.Failure(err, "", "create the directory "+q.m.home())
	}
	path := q.m.folder(&q.rules) + ".lock"
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, workspace.Failure(err, "", "create the directory of the queue")
	}
	unlock, err = lockfile.LockAs(path)
	if held, ok := errors.AsType[*lockfile.HeldError](err); ok {
		return nil, fail(workspace.Busy, "%v runs the merge queue %s", held, q.rules.name)
	}
	return unlock, workspace.Failure(err, "", "lock the queue")
}

// recoverIdle finishes what a process that was killed has begun, if none runs the queue.
func (q *Queue) recoverIdle(ctx context.Context) error {
	unlock, err := q.lock()
	if known, ok := errors.AsType[*workspace.Error](err); ok && known.Code == workspace.Busy {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	return q.recover(ctx, nil)
}
