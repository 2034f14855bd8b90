package merge

import (
	"context"
	"slices"
	"time"
)

// recover finishes what a process that was killed has begun: the changes that were landing. r is
// nil outside of a run.
func (q *Queue) recover(ctx context.Context, r *runner) error {
	all, err := q.List(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(c *Change) bool { return c.State != Landing })
	if len(all) == 0 {
		return nil
	}
	b, err := q.m.newBuilder(ctx, &q.rules, time.Now())
	if err != nil {
		return err
	}
	if r == nil {
		r = &runner{q: q}
	}
	for len(all) > 0 {
		commit := all[0].new
		var group []*Change
		all = slices.DeleteFunc(all, func(c *Change) bool {
			same := c.new == commit
			if same {
				group = append(group, c)
			}
			return same
		})
		if q.rules.proposes() {
			err = q.settleProposal(ctx, r, target{b}, group)
		} else {
			err = q.settle(ctx, r, target{b}, group, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settle finds out whether changes have landed together. If they have not, and the target is where
// it was, they land now if again is set; otherwise they are queued again.
func (q *Queue) settle(ctx context.Context, r *runner, t target, changes []*Change, again bool) error {
	old, commit := changes[0].old, changes[0].new
	var ids []string
	for _, c := range changes {
		ids = append(ids, c.ID)
	}
	local, err := t.local(ctx)
	if err != nil {
		return err
	}
	now := local
	if t.rules.Push != "" {
		if now, err = t.fetch(ctx); err != nil {
			return err
		}
	}
	done, err := t.contains(ctx, now, commit)
	if err != nil {
		return err
	}
	var problem error
	if done && t.rules.Push != "" {
		problem = t.follow(ctx, local, commit, ids)
	}
	if !done && now == old && again {
		problem = t.move(ctx, q.m.step, old, local, commit, ids)
		if ctx.Err() != nil && problem != nil {
			return problem
		}
		if done = problem == nil; !done {
			return q.settle(ctx, r, t, changes, false)
		}
	}
	if done {
		if err := r.land(ctx, changes, commit); err != nil {
			return err
		}
		return problem
	}
	return q.edit(changes, Landing, func(c *Change) { c.State, c.old, c.new = Queued, "", "" })
}
