package merge

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/runtime/workspace"
)

// TestOrder merges changes with priorities and dependencies one by one.
func TestOrder(t *testing.T) {
	p := newProject(t)
	c := p.queues["main"]
	c.Batch = 1
	p.queues["main"] = c
	q := p.queue(refuse("bad"))
	for id, file := range map[string]string{"a": "a", "b": "b", "c": "c", "d": "d", "e": "bad", "f": "f", "g": "g"} {
		p.commit(id, "main", "Change "+id, map[string]string{file: id + "\n"})
	}
	submit(t, q, "a", Submission{})
	submit(t, q, "b", Submission{After: []string{"a"}, Priority: 2})
	submit(t, q, "c", Submission{Priority: 1})
	submit(t, q, "d", Submission{})
	submit(t, q, "e", Submission{Priority: 3})
	submit(t, q, "f", Submission{After: []string{"e", "a"}})
	submit(t, q, "g", Submission{After: []string{"f"}})
	for _, x := range []struct {
		id    string
		after []string
		want  string
	}{
		{"a", []string{"b"}, "the change a would have to be merged after itself"},
		{"a", []string{"a"}, "the change a would have to be merged after itself"},
		{"a", []string{"zzz"}, "unknown change zzz in `after` of a"},
	} {
		p.commit(x.id, x.id, "Again", map[string]string{"again": "x\n"})
		if _, err := q.SubmitBranch(t.Context(), x.id, Submission{After: x.after}); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("submit %s after %v: %v", x.id, x.after, err)
		}
	}
	var order []string
	report, err := q.Run(t.Context(), Run{Observer: Observer{Landed: func(_ string, changes []*Change) { order = append(order, ids(changes)...) }}})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, ""); got != "cabd" {
		t.Errorf("order %s", got)
	}
	if got := strings.Join(ids(report.Blocked), " "); got != "f g" || report.BlockedBy["f"] != "e" || report.BlockedBy["g"] != "f" {
		t.Errorf("blocked %s by %v", got, report.BlockedBy)
	}
}

// TestRetry runs a gate that fails at first. With `retry`, no change is the culprit.
func TestRetry(t *testing.T) {
	p := newProject(t)
	c := p.queues["main"]
	c.Retry = 2
	p.queues["main"] = c
	calls := 0
	q := p.queue(func(context.Context, *workspace.Workspace) error {
		if calls++; calls < 3 {
			return errors.New("flaky")
		}
		return nil
	})
	for _, id := range []string{"a", "b", "c"} {
		p.commit(id, "main", "Change "+id, map[string]string{id: "x\n"})
		submit(t, q, id, Submission{})
	}
	report, err := q.Run(t.Context(), Run{})
	if err != nil || len(report.Merged) != 3 || report.Gates != 3 {
		t.Errorf("%+v, %v", report, err)
	}
	if got := p.git("", "log", "-1", "--format=%s", "main"); got != "Merge 3 changes: a, b, c" {
		t.Errorf("the merge is %q", got)
	}
	if got := p.git("", "rev-list", "--first-parent", "--count", "main"); got != "2" {
		t.Errorf("%s first parents", got)
	}
}

// TestWatch runs a queue until it is closed and empty.
func TestWatch(t *testing.T) {
	p := newProject(t)
	q := p.queue(refuse())
	closed := make(chan struct{})
	p.commit("a", "main", "Change a", map[string]string{"a": "x\n"})
	submit(t, q, "a", Submission{})
	n := 0
	report, err := q.Run(t.Context(), Run{Watch: true, Closed: closed, Observer: Observer{Landed: func(string, []*Change) {
		if n++; n == 1 {
			p.commit("b", "main", "Change b", map[string]string{"b": "x\n"})
			submit(t, p.queue(nil), "b", Submission{})
			return
		}
		close(closed)
	}}})
	if err != nil || len(report.Merged) != 2 {
		t.Errorf("%+v, %v", report, err)
	}
}
