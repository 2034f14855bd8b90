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

// resolution is the result of a Resolve. commit is the new commit, or "".
type resolution struct {
	change  *Change
	failure failure
	commit  string
}

// startFix passes a problem to be resolved.
func (r *runner) startFix(ctx context.Context, c *Change, f failure) error {
	err := r.q.update([]*Change{c}, func(c *Change) { c.fixes++ })
	if errors.Is(err, errChanged) {
		return nil
	}
	if err != nil {
		return err
	}
	r.fixing[c.ID] = true
	mine := *c
	go func() {
		x := resolution{change: &mine, failure: f}
		commit, err := r.q.fix(ctx, &mine, f, r.o.Resolve)
		if err != nil && ctx.Err() == nil {
			r.q.m.o.Log("the change " + c.ID + " was not resolved: " + err.Error())
		}
		x.commit = commit
		r.resolved <- x
	}()
	return nil
}

// fix resolves a problem in a new workspace. It returns "" if the problem remains.
func (q *Queue) fix(ctx context.Context, c *Change, f failure, resolve Resolve) (commit string, err error) {
	b, err := q.m.newBuilder(ctx, &q.rules, time.Now())
	if err != nil {
		return "", err
	}
	tip, _, err := target{b}.tips(ctx)
	if err != nil {
		return "", err
	}
	w, err := q.openFix(ctx, c.ID, tip)
	if err != nil {
		return "", err
	}
	if err := w.StartMerge(ctx, c.Commit); err != nil {
		return "", err
	}
	ok, err := resolve(ctx, &Problem{c, f.state, f.paths, f.conflictsWith, f.output, w})
	if err != nil || !ok {
		return "", err
	}
	if _, err := w.Commit(ctx, "Resolve "+c.ID+": "+c.Title, time.Now(), false); err != nil {
		return "", err
	}
	return w.Committed(ctx)
}

// openFix creates the workspace ID-fix-N, with the first N that is free.
func (q *Queue) openFix(ctx context.Context, id, base string) (*workspace.Workspace, error) {
	for n := 1; ; n++ {
		suffix := fmt.Sprintf("-fix-%d", n)
		name := id[:min(len(id), workspace.MaxName-len(suffix))] + suffix
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
	err := r.q.update([]*Change{c}, func(c *Change) { c.Commit, c.front = x.commit, true })
	if errors.Is(err, errChanged) { // replaced or dropped concurrently
		return r.restorePin(ctx, c.ID)
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
