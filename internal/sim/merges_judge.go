package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/runtime/merge"
)

// finish runs the queue without faults until it ends, and compares the result with what the world
// has seen.
func (m *mergeWorld) finish(x *command) {
	for n := 1; ; n++ {
		if _, err := m.runOnce(x); err == nil {
			break
		}
		if n == most {
			m.failed("M7", "the queue has not ended after %d runs without a fault", most)
			return
		}
	}
	tip := m.target()
	report, err := m.runOnce(x)
	if err != nil || len(report.Merged)+len(report.Failed)+report.Gates > 0 || m.target() != tip {
		m.failed("M7", "a run after the last one merges %d changes, fails %d and runs %d gates: %v", len(report.Merged), len(report.Failed), report.Gates, err)
	}
	all, err := x.queue.List(context.Background())
	if err != nil {
		m.failed("M8", "the queue cannot be listed: %v", err)
	}
	m.judgeTarget(tip)
	m.judgeChanges(tip, all)
	m.judgeRest(all)
}

// judgeTarget checks all values that the target has had.
func (m *mergeWorld) judgeTarget(tip string) {
	for _, ref := range m.targets() {
		for _, v := range m.merges.values[ref] {
			if slices.Contains(m.merges.users, v.commit) {
				continue
			}
			if !m.merges.passed[v.tree] {
				m.failed("M1", "%s was at %s, which has not passed the gate", ref, v.commit)
			}
			if local := m.valueOf(targetRef); m.contains(tip, v.commit) && !m.contains(local, v.commit) {
				m.failed("M4", "the local branch lacks %s, which has landed", v.commit)
			}
		}
	}
	for _, commit := range m.merges.users {
		if !m.contains(tip, commit) {
			m.failed("M5", "the commit %s of the user is lost", commit)
		}
	}
}

// judgeChanges checks that each change is merged once, or has a reason.
func (m *mergeWorld) judgeChanges(tip string, all []*merge.Change) {
	landed := map[string]int{}
	for line := range strings.Lines(m.run("", "log", "--format=%B", tip, "--")) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "Concerto-Change: "); ok {
			landed[id]++
		}
	}
	by := map[string]*merge.Change{}
	for _, c := range all {
		by[c.ID] = c
		in := m.contains(tip, c.Commit)
		switch n := landed[c.ID]; {
		case n > 1:
			m.failed("M2", "%s has landed %d times", c.ID, n)
		case c.State == merge.Merged && !in && (n == 0 || !m.plan.Work.Squash):
			m.failed("M3", "%s is merged, and has not landed", c.ID)
		case c.State == merge.Merged && n > 0 && !m.isFree(c, all):
			m.failed("M3", "%s has landed before a change on which it depends", c.ID)
		case c.State == merge.Merged:
		case n > 0 || in && !m.merges.taken[c.ID]:
			m.failed("M3", "%s is %s, and has landed", c.ID, c.State)
		case c.State == merge.Queued && (len(c.After) == 0 || m.isFree(c, all)):
			m.failed("M4", "%s remains in the queue", c.ID)
		case c.State == merge.Landing:
			m.failed("M4", "%s is still landing", c.ID)
		case c.State.HasFailed() && c.State != merge.Dropped && c.Message == "":
			m.failed("M3", "%s is %s without a reason", c.ID, c.State)
		}
	}
	for id, o := range m.merges.orders {
		switch c := by[id]; {
		case !o.done || o.unsure:
		case c == nil:
			m.failed("M3", "%s %s is lost", o.do, id)
		case o.do == "drop" && c.State != merge.Dropped:
			m.failed("M3", "%s was dropped, and is %s", id, c.State)
		case o.do == "submit" && (c.Commit != o.commit || c.State == merge.Dropped):
			m.failed("M3", "%s was submitted at %s, and is %s at %s", id, o.commit, c.State, c.Commit)
		}
	}
}

// isFree reports whether everything that a change depends on is merged.
func (m *mergeWorld) isFree(c *merge.Change, all []*merge.Change) bool {
	return !slices.ContainsFunc(c.After, func(id string) bool {
		return !slices.ContainsFunc(all, func(x *merge.Change) bool { return x.ID == id && x.State == merge.Merged })
	})
}

// judgeRest checks that nothing is left but the pins of changes that may still be merged, and the
// worktrees of gates.
func (m *mergeWorld) judgeRest(all []*merge.Change) {
	pins := map[string]string{}
	for line := range strings.Lines(m.run("", "for-each-ref", "--format=%(refname) %(objectname)", "refs/concerto/changes")) {
		ref, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		pins[strings.TrimPrefix(ref, "refs/concerto/changes/main/")] = commit
	}
	for _, c := range all {
		pinned := pins[c.ID]
		delete(pins, c.ID)
		switch needed := c.State != merge.Merged && c.State != merge.Dropped; {
		case needed && pinned != c.Commit:
			m.failed("M6", "%s is %s at %s, and its pin is at %q", c.ID, c.State, c.Commit, pinned)
		case !needed && pinned != "":
			m.failed("M6", "%s is %s, and its pin remains", c.ID, c.State)
		}
	}
	for id := range pins {
		m.failed("M6", "the unknown change %s has a pin", id)
	}
	home := filepath.Join(m.root(), ".concerto")
	for _, name := range []string{"merge/main.lock", "gates/main-1.lock", "gates/main-1.json.new", "gates/main-2"} {
		if _, err := os.Lstat(filepath.Join(home, filepath.FromSlash(name))); err == nil {
			m.failed("M6", "the file %s remains", name)
		}
	}
	if n := strings.Count(m.run("", "worktree", "list", "--porcelain", "-z"), "worktree "); n > 2 {
		m.failed("M6", "there are %s worktrees", fmt.Sprint(n))
	}
}
