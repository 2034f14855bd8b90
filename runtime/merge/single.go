package merge

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/runtime/workspace"
)

// Single describes the merge of one workspace.
type Single struct {
	Into  string // a branch
	Title string // "" for the subject of its last commit
	Gate  Gate   // nil for the commands of the manifest
	At    time.Time
	Event func(GateEvent) // nil for none
}

// Result is the result of a merge. Before is the target's previous commit. Proposed is set if there
// is a pull request instead; URL is nil if its address is not known.
type Result struct {
	Into    string   `json:"into"`
	Commit  string   `json:"commit"`
	Before  string   `json:"before"`
	Changes []string `json:"changes"`

	Proposed bool    `json:"-"`
	URL      *string `json:"-"`

	landed bool // the call has moved the target
}

// Merge merges the branch of a workspace. If an earlier process was killed after the merge, Merge
// returns its result. The error is a *Conflict, a *GateFailed, a *workspace.Error or that of ctx.
func (m *Merges) Merge(ctx context.Context, w *workspace.Workspace, o Single) (*Result, error) {
	r := m.o.rulesFor(o.Into)
	if o.Gate == nil {
		if err := r.checkGate(); err != nil {
			return nil, err
		}
	}
	file, err := m.database(r.File)
	if err != nil {
		return nil, err
	}
	b, err := m.newBuilder(ctx, &r, o.At)
	if err != nil {
		return nil, err
	}
	t := target{b}
	if _, err := t.local(ctx); err != nil { // before anything else
		return nil, err
	}
	if _, err := t.checkFree(ctx); err != nil {
		return nil, err
	}
	commit, err := w.Committed(ctx)
	if err != nil {
		return nil, err
	}
	g := &gate{m: m, rules: &r, file: file, check: o.Gate, green: map[string]bool{}, event: o.Event}
	for range maxRestarts {
		found, err := m.mergeOnce(ctx, t, g, change{w.Name, firstLine(o.Title), commit}, w)
		if !errors.Is(err, errMoved) {
			return found, err
		}
	}
	return nil, busyTarget(&r)
}

// mergeOnce tries to merge a change. The error is errMoved if the target has moved.
func (m *Merges) mergeOnce(ctx context.Context, t target, g *gate, c change, w *workspace.Workspace) (*Result, error) {
	if _, err := t.checkFree(ctx); err != nil {
		return nil, err
	}
	old, local, err := t.tips(ctx)
	if err != nil {
		return nil, err
	}
	done, err := m.findMerged(ctx, t, g.file, c, old, local)
	if done != nil || err != nil {
		return done, err
	}
	m.step("merge")
	merged, err := t.merge(ctx, old, c)
	if paths, ok := isConflict(err); ok {
		return nil, &Conflict{c.id, t.rules.Into, paths}
	}
	if err != nil {
		return nil, err
	}
	if err := m.o.Store.CheckSubmodules(ctx, old, merged.commit, w.Branch); err != nil {
		return nil, err
	}
	failed, err := g.test(ctx, merged, old, []string{c.id}, 0)
	if err == nil && failed != nil {
		err = m.blame(ctx, t, g, old, failed)
	}
	if err != nil {
		return nil, err
	}
	out := &Result{Into: t.rules.Into, Commit: merged.commit, Before: old, Changes: []string{c.id}}
	if t.rules.proposes() {
		p := proposal{target: t, store: m.o.Store, folder: m.folder(t.rules), change: c, branch: w.Branch}
		if out.URL, err = p.run(ctx, m.step); err != nil {
			return nil, err
		}
		out.Proposed = true
		return out, nil
	}
	m.step("landing")
	if err := g.file.setSingle(single{c.id, t.rules.Into, c.commit, old, merged.commit}); err != nil {
		return nil, err
	}
	out.landed = true
	return out, t.move(ctx, m.step, old, local, merged.commit, []string{c.id})
}

// findMerged returns the result of a merge that is done, or nil. If only the remote's branch has
// moved, it moves the local one.
func (m *Merges) findMerged(ctx context.Context, t target, file *database, c change, old, local string) (*Result, error) {
	out := &Result{Into: t.rules.Into, Commit: old, Before: old, Changes: []string{c.id}}
	earlier, err := file.single(c.id, t.rules.Into)
	if err != nil {
		return nil, err
	}
	if earlier != nil && earlier.commit == c.commit {
		done, err := t.contains(ctx, old, earlier.new)
		if err != nil {
			return nil, err
		}
		if done {
			out.Commit, out.Before = earlier.new, earlier.old
			return out, t.follow(ctx, local, earlier.new, out.Changes)
		}
	}
	done, err := t.contains(ctx, old, c.commit)
	if err != nil || !done {
		return nil, err
	}
	return out, nil
}

// firstLine returns the first line of a text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// blame returns a failure of the gate, which is that of the target itself if that fails, too.
func (m *Merges) blame(ctx context.Context, t target, g *gate, old string, failed *GateFailed) error {
	own, err := testTarget(ctx, t, g, old, failed)
	switch {
	case err != nil:
		return err
	case own != nil:
		return own
	}
	return failed
}

// testTarget runs the gate for the target itself, unless it is known to pass. If the worktree could
// not be prepared for a change, it only prepares it for the target.
func testTarget(ctx context.Context, t target, g *gate, old string, of *GateFailed) (*GateFailed, error) {
	tree, err := t.treeOf(ctx, old)
	if err != nil {
		return nil, err
	}
	var failed *GateFailed
	if of.unprepared {
		failed, err = g.prepareTarget(ctx, old)
	} else {
		failed, err = g.test(ctx, result{old, tree}, old, nil, t.rules.Retry)
	}
	if failed == nil || err != nil {
		return nil, err
	}
	failed.OnTarget, failed.Workspace = true, ""
	return failed, nil
}
