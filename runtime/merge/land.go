package merge

import (
	"context"
	"errors"
)

// land moves the target to the merge of the first k changes, or creates their pull requests.
func (b *batch) land(ctx context.Context, k int) error {
	q := b.r.q
	if q.rules.proposes() {
		for _, l := range b.layers[:k] {
			if err := b.propose(ctx, l); err != nil {
				return err
			}
		}
		return nil
	}
	p, err := b.prefix(ctx, k)
	if err != nil {
		return err
	}
	changes := b.changes(k)
	q.m.step("landing")
	if err := q.update(changes, func(c *Change) { c.State, c.old, c.new = Landing, b.old, p.commit }); err != nil {
		return err
	}
	if err := b.target.move(ctx, q.m.step, b.old, b.local, p.commit, b.ids(k)); err != nil {
		if ctx.Err() != nil {
			return err // the next run finds out what has happened
		}
		return errors.Join(err, q.settle(ctx, b.r, b.target, changes, false))
	}
	q.m.step("moved")
	b.r.moves = 0
	return b.r.land(ctx, changes, p.commit)
}

// land records that changes have landed.
func (r *runner) land(ctx context.Context, changes []*Change, commit string) error {
	if err := r.q.edit(changes, Landing, func(c *Change) { c.State, c.Merged, c.Message, c.run = Merged, &commit, "", r.o.Token }); err != nil {
		return err
	}
	return r.finish(ctx, changes, commit)
}

// finish removes what changes that are merged no longer need, and reports them.
func (r *runner) finish(ctx context.Context, changes []*Change, commit string) error {
	r.q.m.step("merged")
	for _, c := range changes {
		if err := r.q.removePin(ctx, c.ID); err != nil {
			return err
		}
		r.q.removeWorkspace(ctx, c.workspace, c.Commit)
	}
	r.reportLanded(commit, changes)
	return nil
}
