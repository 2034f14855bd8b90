package merge

import (
	"context"
	"errors"
	"strings"

	"github.com/concerto-lang/concerto/runtime/workspace"
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

// finish reports changes that are merged, and removes what they no longer need.
func (r *runner) finish(ctx context.Context, changes []*Change, commit string) error {
	r.q.m.step("merged")
	r.reportLanded(commit, changes)
	for _, c := range changes {
		if err := r.q.discard(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// discard removes what a change that is merged no longer needs: its workspace, and last its pin, so
// that the next run finds what an interrupted one has left.
func (q *Queue) discard(ctx context.Context, c *Change) error {
	q.removeWorkspace(ctx, c.workspace, c.Commit)
	q.m.step("discarded workspace")
	return q.removePin(ctx, c.ID)
}

// tidyPins makes every change that may still be merged have its pin, and no other one. A process
// that was interrupted, or a power cut, may have left it otherwise. Merged changes with a pin are
// discarded.
func (q *Queue) tidyPins(ctx context.Context) error {
	repo, err := q.m.o.Store.Repository(ctx)
	if err != nil {
		return err
	}
	d, err := q.database()
	if err != nil {
		return err
	}
	var merged []*Change
	err = d.transaction(func(t *tx) error { // in which no other process submits or drops a change
		out, err := repo.Git.Run(ctx, repo.Main, "for-each-ref", "--format=%(objectname) %(refname)", q.pin(""))
		if err != nil {
			return workspace.Failure(err, "", "list the pinned changes")
		}
		pins := map[string]string{} // commits by ids of changes
		for line := range strings.Lines(out) {
			commit, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
			pins[strings.TrimPrefix(ref, q.pin(""))] = commit
		}
		all, err := d.changes(t, q.rules.name)
		if err != nil {
			return err
		}
		for _, c := range all {
			pinned := pins[c.ID]
			switch {
			case c.State == Merged && pinned != "":
				merged = append(merged, c)
			case c.State == Dropped:
				continue
			case c.State != Merged && pinned != c.Commit:
				if err := q.setPin(ctx, c); err != nil { // git may have removed the commit
					q.m.o.Log(err.Error())
				}
			}
			delete(pins, c.ID)
		}
		for id := range pins {
			if err := q.removePin(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range merged {
		if err := q.discard(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
