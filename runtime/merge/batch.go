package merge

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/runtime/workspace"
)

// batch is a stack of changes that are tested together.
type batch struct {
	r          *runner
	target     target
	fixes      context.Context // of the functions that resolve problems
	old, local string          // the target's commits
	layers     []layer
	landing    map[int]result // what lands, by the number of changes
}

// layer is a change with the merge of all changes up to it.
type layer struct {
	change *Change
	merged result
}

// fill stacks the candidates that merge with the target and with each other. A change that
// conflicts with the target fails; one that conflicts only with an earlier change of the batch
// waits. fill reports whether a row has changed.
func (b *batch) fill(ctx context.Context, candidates, all []*Change) (tried bool, err error) {
	chosen, seen := map[string]bool{}, map[string]bool{}
	b.landing = map[int]result{}
	for len(b.layers) < b.r.q.rules.Batch {
		var c *Change
		for _, x := range candidates {
			if seen[x.ID] {
				continue
			}
			ready, err := isSatisfied(ctx, b.target.builder, b.old, x, all, chosen)
			if err != nil {
				return tried, err
			}
			if ready {
				c = x
				break
			}
		}
		if c == nil {
			break
		}
		seen[c.ID] = true
		done, changed, err := b.add(ctx, c)
		tried = tried || changed
		if err != nil {
			return tried, err
		}
		chosen[c.ID] = done && !b.r.q.rules.proposes() // what depends on a proposed change waits for its merge
	}
	return tried, nil
}

// add adds a change to the stack. chosen is false if it cannot be in this batch, and changed is
// true if its state is another.
func (b *batch) add(ctx context.Context, c *Change) (chosen, changed bool, err error) {
	has, err := b.target.contains(ctx, b.old, c.Commit)
	if codeOf(err) == workspace.OtherGit {
		return false, true, b.r.recordFailure(c, failed(err))
	}
	if err != nil {
		return false, false, err
	}
	if has {
		return false, true, b.recordContained(ctx, c)
	}
	tip := b.old
	if n := len(b.layers); n > 0 {
		tip = b.layers[n-1].merged.commit
	}
	b.r.q.m.step("merge")
	merged, err := b.target.merge(ctx, tip, c.change())
	if err == nil {
		err = b.r.q.m.o.Store.CheckSubmodules(ctx, tip, merged.commit, c.Branch)
	}
	if err == nil {
		b.layers = append(b.layers, layer{c, merged})
		return true, false, nil
	}
	paths, conflicts := isConflict(err)
	if conflicts && tip != b.old {
		_, err = b.target.mergeTree(ctx, b.old, c.Commit)
		if err == nil {
			return false, false, nil // it waits for the next round
		}
		paths, conflicts = isConflict(err)
	}
	switch {
	case conflicts:
		return false, true, b.r.fail(ctx, b.fixes, c, failure{state: InConfl, message: strings.Join(paths, ","), paths: paths, conflictsWith: []string{}})
	case codeOf(err) == workspace.Unrelated:
		return false, true, b.r.recordFailure(c, failure{state: InConfl, message: err.Error(), paths: []string{}, conflictsWith: []string{}})
	case codeOf(err) == workspace.Unpushed, codeOf(err) == workspace.OtherGit && ctx.Err() == nil: // the target was read before
		return false, true, b.r.recordFailure(c, failed(err))
	}
	return false, false, err
}

// failed returns the failure of a change that git cannot merge.
func failed(err error) failure {
	message := err.Error()
	if codeOf(err) == workspace.OtherGit {
		message = reasonOf(err)
	}
	return failure{state: Failed, message: message, paths: []string{}, conflictsWith: []string{}}
}

// recordContained records that the target contains a change already.
func (b *batch) recordContained(ctx context.Context, c *Change) error {
	err := b.r.q.update([]*Change{c}, func(c *Change) { c.State, c.Merged, c.run = Merged, &b.old, b.r.o.Token })
	if errors.Is(err, errChanged) {
		return nil
	}
	if err != nil {
		return err
	}
	return b.r.finish(ctx, []*Change{c}, b.old)
}

// prefix returns what lands if the first k changes land: a merge of the target and their stack.
func (b *batch) prefix(ctx context.Context, k int) (result, error) {
	if k == 1 {
		return b.layers[0].merged, nil
	}
	if known, ok := b.landing[k]; ok {
		return known, nil
	}
	made, err := b.target.mergeBatch(ctx, b.old, b.layers[k-1].merged, b.ids(k))
	b.landing[k] = made
	return made, err
}

// ids returns the ids of the first k changes.
func (b *batch) ids(k int) (all []string) {
	for _, l := range b.layers[:k] {
		all = append(all, l.change.ID)
	}
	return all
}

// changes returns the first k changes.
func (b *batch) changes(k int) (all []*Change) {
	for _, l := range b.layers[:k] {
		all = append(all, l.change)
	}
	return all
}

// test runs the gate for the first k changes. The error is errChanged if one of the batch was
// replaced or dropped.
func (b *batch) test(ctx context.Context, k, again int) (*GateFailed, error) {
	p, err := b.prefix(ctx, k)
	if err != nil {
		return nil, err
	}
	b.r.showProgress(k, len(b.layers))
	failed, err := b.r.gate.test(ctx, p, b.old, b.ids(k), again)
	if err != nil {
		return nil, err
	}
	return failed, b.checkQueued(ctx)
}

// checkQueued returns errChanged if a change of the batch is no longer queued with the same commit.
func (b *batch) checkQueued(ctx context.Context) error {
	now, err := b.r.q.List(ctx)
	if err != nil {
		return err
	}
	for _, l := range b.layers {
		i := slices.IndexFunc(now, func(c *Change) bool { return c.ID == l.change.ID })
		if i < 0 || now[i].State != Queued || now[i].Commit != l.change.Commit {
			return errChanged
		}
	}
	return nil
}

// try tests the batch and lands it, or the part before the first change with which it fails.
func (b *batch) try(ctx context.Context) error {
	n := len(b.layers)
	failed, err := b.test(ctx, n, b.r.q.rules.Retry)
	if err != nil {
		return err
	}
	if failed == nil {
		return b.land(ctx, n)
	}
	k, err := search(0, n, func(k int) (bool, error) {
		red, err := b.test(ctx, k, 0)
		if red != nil {
			failed = red
		}
		return red != nil, err
	})
	if err != nil {
		return err
	}
	if k > 1 {
		if err := b.land(ctx, k-1); err != nil {
			return err
		}
		return b.blame(ctx, k, failed)
	}
	return b.failAlone(ctx, b.layers[0].change, failed)
}

// failAlone records that a change does not pass the gate alone, unless the target itself fails.
func (b *batch) failAlone(ctx context.Context, c *Change, failed *GateFailed) error {
	own, err := testTarget(ctx, b.target, b.r.gate, b.old, failed)
	switch {
	case err != nil:
		return err
	case own != nil:
		return own
	case failed.unprepared: // it could not be prepared to be resolved, either
		return b.r.recordFailure(c, redFailure(failed))
	}
	return b.r.fail(ctx, b.fixes, c, redFailure(failed))
}

// search returns the smallest k in (low, high] for which red is true. It is true for high.
func search(low, high int, red func(k int) (bool, error)) (int, error) {
	for high-low > 1 {
		middle := (low + high) / 2
		is, err := red(middle)
		if err != nil {
			return 0, err
		}
		if is {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}

func redFailure(f *GateFailed) failure {
	state := Red
	if f.unprepared {
		state = Failed
	}
	return failure{state: state, message: f.reason, paths: []string{}, conflictsWith: []string{}, output: f.Output}
}

// blame finds out why the batch fails with change k: alone, or together with an earlier one. The
// changes before it have landed.
func (b *batch) blame(ctx context.Context, k int, failed *GateFailed) error {
	culprit := b.layers[k-1].change
	// with tests the culprit together with the first j changes. Commits that do not merge cannot be
	// tested.
	with := func(j int) (*GateFailed, error) {
		base := b.old
		if j > 0 {
			base = b.layers[j-1].merged.commit
		}
		merged, err := b.target.merge(ctx, base, culprit.change())
		if _, conflicts := isConflict(err); conflicts {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return b.r.gate.test(ctx, merged, b.old, append(b.ids(j), culprit.ID), 0)
	}
	alone, err := with(0)
	if err != nil {
		return err
	}
	if alone != nil && alone.unprepared {
		return b.failAlone(ctx, culprit, alone)
	}
	if alone != nil {
		return b.r.fail(ctx, b.fixes, culprit, redFailure(alone))
	}
	j, err := search(0, k-1, func(j int) (bool, error) {
		red, err := with(j)
		if red != nil {
			failed = red
		}
		return red != nil, err
	})
	if err != nil {
		return err
	}
	other := b.layers[j-1].change.ID
	return b.r.fail(ctx, b.fixes, culprit, failure{state: Semantic, message: "conflicts with " + other + ": " + failed.reason, paths: []string{}, conflictsWith: []string{other}, output: failed.Output})
}
