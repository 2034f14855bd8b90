package merge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/runtime/workspace"
)

// maxFixes is how often the problems of a change are passed to be resolved.
const maxFixes = 3

// Problem is a change that cannot be merged, for a function that resolves it. Workspace is a new
// one, at the target's commit with the change merged into it; files that conflict have conflict
// markers.
type Problem struct {
	Change        *Change
	Kind          State // conflict, red or semantic
	Paths         []string
	ConflictsWith []string
	Output        string
	Workspace     *workspace.Workspace
}

// Resolve fixes a problem in its workspace. If it returns true, the contents of the workspace
// become the change. It runs while the queue continues with other changes.
type Resolve func(ctx context.Context, p *Problem) (bool, error)

// resolution is the result of a Resolve. commit is the new commit, or "", and workspace is the name
// of the workspace that contains it.
type resolution struct {
	change            *Change
	failure           failure
	commit, workspace string
}

// startFix passes a problem to be resolved.
func (r *runner) startFix(ctx context.Context, c *Change, f failure) error {
	r.fixing[c.ID] = true
	mine := *c
	go func() {
		x := resolution{change: &mine, failure: f}
		var err error
		x.commit, x.workspace, err = r.q.fix(ctx, &mine, f, r.o.Resolve)
		if err != nil && ctx.Err() == nil {
			r.q.m.o.Log("the change " + mine.ID + " was not resolved: " + err.Error())
		}
		r.resolved <- x
	}()
	return nil
}

// fix resolves a problem in a new workspace. It returns "" if the problem remains.
func (q *Queue) fix(ctx context.Context, c *Change, f failure, resolve Resolve) (commit, name string, err error) {
	b, err := q.m.newBuilder(ctx, &q.rules, time.Now())
	if err != nil {
		return "", "", err
	}
	tip, _, err := target{b}.tips(ctx)
	if err != nil {
		return "", "", err
	}
	w, err := q.openFix(ctx, c, tip)
	if err != nil {
		return "", "", err
	}
	if err := w.StartMerge(ctx, c.Commit); err != nil {
		return "", "", err
	}
	ok, err := resolve(ctx, &Problem{c, f.state, f.paths, f.conflictsWith, f.output, w})
	if err != nil || !ok {
		return "", "", err
	}
	if _, err := w.Commit(ctx, "Resolve "+c.ID+": "+c.Title, time.Now(), false); err != nil {
		return "", "", err
	}
	commit, err = w.Committed(ctx)
	return commit, w.Name, err
}

// openFix creates the workspace ID-fix-N. N is the number of the problem, or the next one for which
// there is no workspace.
func (q *Queue) openFix(ctx context.Context, c *Change, base string) (*workspace.Workspace, error) {
	for n := c.fixes + 1; ; n++ {
		suffix := fmt.Sprintf("-fix-%d", n)
		name := c.ID[:min(len(c.ID), workspace.MaxName-len(suffix))] + suffix
		w, err := q.m.o.Store.Create(ctx, name, base)
		if code := codeOf(err); code == workspace.BranchTaken || code == workspace.Busy {
			continue
		}
		return w, err
	}
}

// finishFix makes the result of a resolution the change, or records its failure.
func (r *runner) finishFix(ctx context.Context, x resolution) error {
	delete(r.fixing, x.change.ID)
	if x.commit == "" {
		return r.recordFailure(x.change, x.failure)
	}
	r.q.m.step("fixed")
	c := x.change
	pinned := *c
	pinned.Commit = x.commit
	if err := r.q.setPin(ctx, &pinned); err != nil {
		return err
	}
	err := r.q.update([]*Change{c}, func(c *Change) { c.Commit, c.front, c.fixes = x.commit, true, c.fixes+1 })
	if errors.Is(err, errChanged) { // replaced or dropped concurrently
		err = r.restorePin(ctx, c.ID)
	}
	if err == nil {
		r.q.removeWorkspace(ctx, x.workspace, x.commit)
	}
	return err
}

// restorePin pins a change that was replaced while its problem was resolved.
func (r *runner) restorePin(ctx context.Context, id string) error {
	all, err := r.q.List(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.ID == id && c.State != Dropped && c.State != Merged {
			return r.q.setPin(ctx, c)
		}
	}
	return r.q.removePin(ctx, id)
}
