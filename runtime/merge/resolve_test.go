package merge

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/runtime/workspace"
)

// submit submits a branch.
func submit(t *testing.T, q *Queue, branch string, s Submission) {
	t.Helper()
	if _, err := q.SubmitBranch(t.Context(), branch, s); err != nil {
		t.Fatal(err)
	}
}

func sortedIDs(all []*Change) []string {
	out := ids(all)
	slices.Sort(out)
	return out
}

// TestResolve resolves a conflict and a red change while the queue merges others. A function that
// leaves conflict markers, returns false or fails has not resolved it.
func TestResolve(t *testing.T) {
	p := newProject(t)
	q := p.queue(refuse("bad"))
	for id, files := range map[string]map[string]string{
		"clash": {"base": "mine\n"}, "red": {"bad": "x\n"}, "markers": {"base": "markers\n"}, "no": {"bad": "x\n", "no": "x\n"}, "err": {"bad": "x\n", "err": "x\n"}, "other": {"other": "x\n"},
	} {
		p.commit(id, "main", "Change "+id, files)
	}
	p.commit("main", "main", "Change base", map[string]string{"base": "theirs\n"})
	for _, id := range []string{"clash", "red", "markers", "no", "err", "other"} {
		submit(t, q, id, Submission{})
	}
	before := p.state()
	landed := make(chan struct{})
	calls := map[string]int{}
	var marked string
	turn := make(chan struct{}, 1)
	o := Run{Resolve: func(ctx context.Context, x *Problem) (bool, error) {
		turn <- struct{}{}
		calls[x.Change.ID]++
		n := calls[x.Change.ID]
		<-turn
		<-landed // the queue continues: the change `other` lands while this function runs
		file := func(name string) string { return filepath.Join(x.Workspace.Dir, name) }
		switch x.Change.ID {
		case "clash":
			if x.Kind != InConfl || !slices.Equal(x.Paths, []string{"base"}) || x.Workspace.Name != "clash-fix-1" {
				t.Errorf("problem %+v in %s", x, x.Workspace.Name)
			}
			text, err := os.ReadFile(file("base"))
			marked = string(text)
			return true, errors.Join(err, os.WriteFile(file("base"), []byte("both\n"), 0o644))
		case "red":
			if x.Kind != Red || x.Output != "bad is bad" {
				t.Errorf("problem %+v", x)
			}
			if n == 1 { // not resolved: the change is passed again
				return true, os.WriteFile(file("more"), []byte("x\n"), 0o644)
			}
			return true, os.Remove(file("bad"))
		case "markers":
			return true, nil
		case "err":
			return false, errors.New("no idea")
		}
		return false, nil
	}}
	o.Landed = func(_ string, changes []*Change) {
		if slices.ContainsFunc(changes, func(c *Change) bool { return c.ID == "other" }) {
			close(landed)
		}
	}
	report, err := q.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(sortedIDs(report.Merged), " "); got != "clash other red" {
		t.Errorf("merged %s", got)
	}
	if got := strings.Join(sortedIDs(report.Failed), " "); got != "err markers no" {
		t.Errorf("failed %s", got)
	}
	if calls["red"] != 2 || calls["clash"] != 1 || calls["markers"] != 1 {
		t.Errorf("calls %v", calls)
	}
	if !strings.Contains(marked, "<<<<<<< ") || !strings.Contains(marked, "theirs\n=======\nmine\n>>>>>>> ") {
		t.Errorf("the file with a conflict was %q", marked)
	}
	if got := p.git("", "show", "main:base"); got != "both" {
		t.Errorf("base is %q", got)
	}
	for _, id := range []string{"clash", "red"} { // the history of the change remains
		if p.git("", "branch", "--list", "main", "--contains", id) == "" {
			t.Errorf("main does not contain %s", id)
		}
	}
	if left := p.git("", "branch", "--list", "concerto/*", "--format=%(refname:short)"); left != "concerto/err-fix-1\nconcerto/markers-fix-1\nconcerto/no-fix-1" {
		t.Errorf("workspaces that remain: %s", left)
	}
	by := byID(t, q)
	if c := by["markers"]; c.State != InConfl || c.Message != "base" {
		t.Errorf("markers: %+v", c)
	}
	if after := p.state(); after != before {
		t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
	}
}

// TestLocked merges while git's lock of the branch exists, as after a crash. The change remains in
// the queue.
func TestLocked(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.commit("a", "main", "Change a", map[string]string{"a": "x\n"})
	q := p.queue(nil)
	submit(t, q, "a", Submission{})
	lock := filepath.Join(p.dir, ".git", "refs", "heads", "main.lock")
	p.must(os.WriteFile(lock, nil, 0o644))
	if _, err := q.Run(t.Context(), Run{}); codeOf(err) != workspace.Locked {
		t.Errorf("a locked branch: %v", err)
	}
	if c := byID(t, q)["a"]; c.State != Queued {
		t.Errorf("the change is %s", c.State)
	}
	p.must(os.Remove(lock))
	if report, err := q.Run(t.Context(), Run{}); err != nil || len(report.Merged) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestNoIdentity merges and resolves without a configured identity of git.
func TestNoIdentity(t *testing.T) {
	p := newProject(t)
	p.commit("a", "main", "Change a", map[string]string{"base": "mine\n"})
	p.commit("main", "main", "Change base", map[string]string{"base": "theirs\n"})
	p.environ = slices.DeleteFunc(p.environ, func(v string) bool {
		return strings.HasPrefix(v, "GIT_AUTHOR") || strings.HasPrefix(v, "GIT_COMMITTER")
	})
	q := p.queue(nil)
	submit(t, q, "a", Submission{})
	report, err := q.Run(t.Context(), Run{Resolve: func(_ context.Context, x *Problem) (bool, error) {
		return true, os.WriteFile(filepath.Join(x.Workspace.Dir, "base"), []byte("both\n"), 0o644)
	}})
	if err != nil || len(report.Merged) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if got := p.git("", "log", "-1", "--format=%an %ce", "main"); got != "concerto concerto@localhost" {
		t.Errorf("the committer is %s", got)
	}
}

// TestResolveThrice checks that a change is passed to be resolved at most three times.
func TestResolveThrice(t *testing.T) {
	p := newProject(t)
	q := p.queue(refuse("bad"))
	p.commit("red", "main", "Change red", map[string]string{"bad": "x\n"})
	submit(t, q, "red", Submission{})
	var names []string
	report, err := q.Run(t.Context(), Run{Resolve: func(_ context.Context, x *Problem) (bool, error) {
		names = append(names, x.Workspace.Name)
		return true, os.WriteFile(filepath.Join(x.Workspace.Dir, x.Workspace.Name), []byte("x\n"), 0o644)
	}})
	if err != nil || len(report.Failed) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if !slices.Equal(names, []string{"red-fix-1", "red-fix-2", "red-fix-3"}) {
		t.Errorf("workspaces %v", names)
	}
}

// TestResolveReplaced replaces and drops changes while functions resolve them. The result of a
// function is then not used.
func TestResolveReplaced(t *testing.T) {
	p := newProject(t)
	q := p.queue(refuse("bad"))
	for _, id := range []string{"replaced", "dropped"} {
		p.commit(id, "main", "Change "+id, map[string]string{"bad": "x\n", id: "x\n"})
		submit(t, q, id, Submission{})
	}
	other := p.queue(nil)
	report, err := q.Run(t.Context(), Run{Resolve: func(ctx context.Context, x *Problem) (bool, error) {
		if x.Change.ID == "dropped" {
			if err := other.Drop(ctx, "dropped"); err != nil {
				t.Error(err)
			}
		} else {
			p.commit("replaced", "main", "Another", map[string]string{"another": "x\n"})
			submit(t, other, "replaced", Submission{})
		}
		return true, os.Remove(filepath.Join(x.Workspace.Dir, "bad"))
	}})
	if err != nil || strings.Join(sortedIDs(report.Merged), " ") != "replaced" {
		t.Fatalf("%+v, %v", report, err)
	}
	if c := byID(t, q)["dropped"]; c.State != Dropped {
		t.Errorf("dropped: %+v", c)
	}
	if files := p.files("main"); slices.Contains(files, "replaced") || !slices.Contains(files, "another") {
		t.Errorf("main has %v", files)
	}
	if left := p.git("", "for-each-ref", "refs/concerto/changes"); left != "" {
		t.Errorf("pins %s", left)
	}
}
