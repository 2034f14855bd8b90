package merge

import (
	"slices"
	"strings"
	"testing"
)

// TestUnpreparedChanges merges changes whose files git cannot write: each fails with its reason,
// and the others are merged. A conflict names a path of the repository.
func TestUnpreparedChanges(t *testing.T) {
	p, _ := newMode(t, func(p *project, _ *Config) {
		p.git("", "config", "filter.bad.required", "true")
		p.git("", "config", "filter.bad.smudge", "false")
	})
	for name, files := range map[string]map[string]string{
		"long":   {strings.Repeat("n", 300): "x\n"},
		"filter": {".gitattributes": "f filter=bad\n", "f": "x\n"},
		"dir":    {"dd/x": "x\n"},
		"file":   {"dd": "x\n"},
		"good":   {"good": "x\n"},
	} {
		p.commit(name, "main", name, files)
	}
	q := p.queue(nil)
	for _, name := range []string{"long", "dir", "file", "filter", "good"} {
		if _, err := q.SubmitBranch(t.Context(), name, Submission{}); err != nil {
			t.Fatal(err)
		}
	}
	report, err := q.Run(t.Context(), Run{})
	if err != nil || len(report.Merged) != 2 || len(report.Failed) != 3 {
		t.Errorf("the run ended with %+v, %v", report, err)
	}
	by := byID(t, q)
	for name, want := range map[string]struct {
		state   State
		message string
	}{
		"long":   {Failed, "its files could not be prepared: "},
		"filter": {Failed, "its files could not be prepared: fatal: f: smudge filter bad failed"},
		"dir":    {Merged, ""}, "good": {Merged, ""},
		"file": {InConfl, "dd"},
	} {
		if c := by[name]; c.State != want.state || !strings.HasPrefix(c.Message, want.message) {
			t.Errorf("%s is %s: %s", name, c.State, c.Message)
		}
	}
	if c := by["file"]; !slices.Equal(c.Paths, []string{"dd"}) {
		t.Errorf("file conflicts in %q", c.Paths)
	}

	// If the files of the branch itself cannot be written, no change is at fault.
	p.git("", "update-ref", "refs/heads/main", p.commit("broken", "main", "broken", map[string]string{".gitattributes": "f filter=bad\n", "f": "x\n"}))
	p.commit("later", "main", "later", map[string]string{"later": "x\n"})
	if _, err := q.SubmitBranch(t.Context(), "later", Submission{}); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Run(t.Context(), Run{}); err == nil || !strings.HasPrefix(err.Error(), "the gate fails on main itself: its files could not be prepared: ") {
		t.Errorf("the run ended with %v", err)
	}
	if c := byID(t, q)["later"]; c.State != Queued {
		t.Errorf("later is %s: %s", c.State, c.Message)
	}
}
