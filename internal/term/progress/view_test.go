package progress

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/activity"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// shown returns the text of a view 200 seconds after the run began.
func shown(v *View, width, most int) string {
	var b strings.Builder
	for _, l := range v.Lines(200*time.Second, width, most) {
		fmt.Fprintf(&b, "%s %s\n", l.Mark, l.Text)
	}
	return b.String()
}

func TestView(t *testing.T) {
	v := NewView()
	add := func(e activity.Event) {
		if e.Name == "" {
			e.Name = e.Host
		}
		v.HandleEvent(e)
	}
	want := func(width, most int, lines ...string) {
		t.Helper()
		if d := cmp.Diff(strings.Join(lines, "\n")+"\n", shown(v, width, most)); d != "" {
			t.Error(d)
		}
	}
	coder := func(k activity.Kind) activity.Event {
		return activity.Event{Kind: k, Number: 3, Host: "Coder", Lane: 1, At: 8 * time.Second, Percent: -1, Used: activity.Usage{Tokens: 12000, Cost: 0.04}}
	}
	add(activity.Event{Kind: activity.StageBegan, Number: 1, Name: "Build/review"})
	add(activity.Event{Kind: activity.ListenBegan, Number: 2, Name: "main", Host: "Coder", At: 7 * time.Second})
	add(coder(activity.Began))
	e := coder(activity.Moved)
	e.Percent, e.Text = 62, "Bash: go test ./…\n--- and\x1b[2J all"
	add(e)
	want(96, 22, "▸ Build/review  3m20s", "▸ main  listens to Coder  3m13s", `● Coder  ██████░░░░ 62%  Bash: go test ./… --- and\u{1b}[2J all  3m12s  $0.04  12k tok`)
	e.Text, e.Percent = "Bash: go test ./…", -1
	add(e)
	want(80, 22, "▸ Build/review  3m20s", "▸ main  listens to Coder  3m13s", "● Coder  ██████░░░░ 62%  Bash: go test ./…  3m12s  $0.04  12k tok")
	// A narrow line first shortens the host's activity, then the rest.
	want(46, 22, "▸ Build/review  3m20s", "▸ main  listens to Coder  3m13s", "● Coder  62%  Bash: go…  3m12s  $0.04  12k tok")
	want(34, 22, "▸ Build/review  3m20s", "▸ main  listens to Coder  3m13s", "● Coder  62%  3m12s  $0.04  12k t…")
	want(16, 22, "▸ Build/review …", "▸ main  3m13s", "● Coder  62%  3…")
	want(80, 2, "▸ Build/review  3m20s", "… and 2 more")
	want(80, 1, "… and 3 more")
	a := coder(activity.Asked)
	a.ID, a.Type, a.Text = "1", "question", "タブ or 空白?"
	add(a)
	a.ID, a.Text = "2", "else?"
	add(a)
	for _, l := range v.Lines(200*time.Second, 44, 9) {
		if terminal.Width(l.Mark+" "+l.Text) > 44 {
			t.Error(l.Text)
		}
	}
	add(activity.Event{Kind: activity.StageEnded, Number: 1})
	want(80, 22, "▸ main  listens to Coder  3m13s", "? Coder  ██████░░░░ 62%  タブ or 空白?  3m12s  $0.04  12k tok")
	a.Kind = activity.Answered
	add(a)
	a.Kind, a.ID = activity.Withdrawn, "1"
	add(a)
	want(80, 22, "▸ main  listens to Coder  3m13s", "● Coder  ██████░░░░ 62%  Bash: go test ./…  3m12s  $0.04  12k tok")
	// The next exchange of a host adds to the usage of the previous one.
	add(coder(activity.Ended))
	next := coder(activity.Began)
	next.Number, next.Lane = 4, 2
	add(next)
	add(activity.Event{Kind: activity.ListenEnded, Number: 2, Host: "Coder"})
	want(80, 22, "● Coder 2  3m12s  $0.04  12k tok")
	// A task can report its own progress.
	task := activity.Event{Kind: activity.Progressed, Number: 5, Name: "main", At: 190 * time.Second, Text: "b.md", Percent: 25, Done: 3, Of: 12}
	add(task)
	want(80, 22, "● Coder 2  3m12s  $0.04  12k tok", "▸ main  ██░░░░░░░░ 25%  3 of 12 b.md  10s")
	task.Percent, task.Done, task.Of, task.Text = -1, 4, 0, ""
	add(task)
	want(80, 22, "● Coder 2  3m12s  $0.04  12k tok", "▸ main  4  10s")
	add(activity.Event{Kind: activity.ProgressEnded, Number: 5})
	want(80, 22, "● Coder 2  3m12s  $0.04  12k tok")
}

// TestManyHosts checks that the hosts of a declaration share a line if they do not fit.
func TestManyHosts(t *testing.T) {
	v := NewView()
	n := int64(0)
	add := func(host, workspace string, tokens int64) {
		n++
		v.HandleEvent(activity.Event{Kind: activity.ListenBegan, Number: n, Name: "main", Host: host})
		n++
		v.HandleEvent(activity.Event{Kind: activity.Began, Number: n, Host: host, Lane: int(n), Workspace: workspace, Percent: -1})
		v.HandleEvent(activity.Event{Kind: activity.Moved, Number: n, Host: host, Percent: -1, Used: activity.Usage{Tokens: tokens, Cost: 0.1}})
	}
	for i := range 3 {
		add("Coder", fmt.Sprintf("fix-%d", i+1), 1000)
	}
	add("Tester", "fix-1", 500)
	v.HandleEvent(activity.Event{Kind: activity.Asked, Number: 4, Host: "Coder", Answer: activity.Answer{Type: "question", ID: "1"}, Text: "tabs?"})
	want := func(most int, lines ...string) {
		t.Helper()
		if d := cmp.Diff(strings.Join(lines, "\n")+"\n", shown(v, 80, most)); d != "" {
			t.Error(d)
		}
	}
	want(8, "▸ main  listens to Coder  3m20s", "● Coder fix-1  3m20s  $0.10  1k tok", "▸ main  listens to Coder  3m20s", "? Coder fix-2  tabs?  3m20s  $0.10  1k tok",
		"▸ main  listens to Coder  3m20s", "● Coder fix-3  3m20s  $0.10  1k tok", "▸ main  listens to Tester  3m20s", "● Tester fix-1  3m20s  $0.10  500 tok")
	want(7, "● Coder ×3  1 waiting  $0.30  3k tokens", "▸ main  listens to Tester  3m20s", "● Tester fix-1  3m20s  $0.10  500 tok")
	want(2, "● Coder ×3  1 waiting  $0.30  3k tokens", "… and 2 more")
	want(1, "… and 5 more")
}

// TestQueueView checks the line of a merge queue.
func TestQueueView(t *testing.T) {
	v := NewView()
	e := activity.Event{Kind: activity.MergeBegan, Number: 1, Name: "main\x1b", Percent: -1}
	steps := []struct {
		queue effect.QueueState
		want  string
	}{
		{effect.QueueState{Queued: 12}, "⇢ main\\u{1b}  12 queued · 0 merged · 0 failed\n"},
		{effect.QueueState{Queued: 12, Tested: 3, Batch: 8, Merged: 41, Failed: 2}, "⇢ main\\u{1b}  12 queued · gate 3 of 8 · 41 merged · 2 failed\n"},
	}
	v.HandleEvent(e)
	for _, s := range steps {
		e.Kind, e.Queue = activity.MergeMoved, s.queue
		v.HandleEvent(e)
		if got := shown(v, 80, 5); got != s.want {
			t.Errorf("view = %q, want %q", got, s.want)
		}
	}
	if got, want := shown(v, 30, 5), "⇢ main\\u{1b}  12 queued · gat…\n"; got != want {
		t.Errorf("narrow view = %q, want %q", got, want)
	}
	e.Kind = activity.MergeEnded
	v.HandleEvent(e)
	if got := shown(v, 80, 5); got != "" {
		t.Errorf("view after the end = %q", got)
	}
}
