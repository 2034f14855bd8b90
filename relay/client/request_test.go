package client

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestRequestOfReview checks that the patch of a review is shown as a diff, and is not longer than
// 64 KiB.
func TestRequestOfReview(t *testing.T) {
	patch := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n"
	request := func(payload map[string]any) (args, diff string) {
		text, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		q := NewRequest("e1", &effect.AwaitEmit{Channel: "review", Payload: text}, time.Unix(0, 0))
		return string(q.OpArgs), q.Diff
	}
	if args, diff := request(map[string]any{"workspace": "fix", "files": 1, "diff": patch}); args != `{"files":1,"workspace":"fix"}` || diff != patch {
		t.Errorf("arguments %s, diff %q", args, diff)
	}
	long := patch + strings.Repeat("+a line\n", 20_000)
	if _, diff := request(map[string]any{"diff": long}); len(diff) > 64<<10 || !strings.HasSuffix(diff, "\n\\ the rest of the diff is left out: it is longer than 64 KiB\n") {
		t.Errorf("a diff of %d bytes ends with %q", len(diff), diff[len(diff)-100:])
	}
	if args, diff := request(map[string]any{"diff": "a text"}); args != `{"diff":"a text"}` || diff != "" {
		t.Errorf("arguments %s, diff %q", args, diff)
	}
}

// TestApprovalView checks what the page receives of an approval: a title, the arguments that the
// title and the differences do not show, and the differences of changed files.
func TestApprovalView(t *testing.T) {
	read := func(string) ([]byte, error) { return []byte("one\ntwo\n"), nil }
	for _, c := range []struct{ message, prompt, args, summary, diff string }{
		{`{"description":"Bash: ls","tool":"Bash","kind":"execute","args":{"command":"ls -la\necho","description":"List"}}`,
			"Run a command\nList", `{"command":"ls -la\necho"}`, "ls -la echo", ""},
		{`{"description":"Edit: a.txt","tool":"Edit","kind":"edit","risk_level":"medium","args":{"file_path":"a.txt","old_string":"two","new_string":"2"}}`,
			"Edit a.txt", "", "Edit a.txt", "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"},
		{`{"description":"Edit: a.txt","tool":"Edit","kind":"edit","args":{"file_path":"a.txt","old_string":"gone","new_string":"2"}}`,
			"Edit a.txt", "", "Edit a.txt", "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\nthe text to replace does not occur in the file\nthe numbers are those of the edit, not of the file\n@@ -1,1 +1,1 @@\n-gone\n+2\n"},
		{`{"description":"Merge","args":{"branch":"fix"},"reason":"The tests pass"}`, "Merge\nThe tests pass", `{"branch":"fix"}`, "Merge", ""},
		{`{"tool":"stdin","kind":"execute","args":{"text":"` + strings.Repeat("x", 501) + `"}}`,
			"Type into a running program", `{"text":"` + strings.Repeat("x", 501) + `"}`, "Type into a running program: " + strings.Repeat("x", 50) + "…", ""},
		{`[1]`, "Take an action\n[\n  1\n]", "", "Take an action: [ 1 ]", ""},
	} {
		q := newRequest("q", &effect.AskHost{Asking: effect.Asking{Host: "Coder", Type: "approval"}, Message: []byte(c.message)}, time.Unix(0, 0), read)
		if q.Prompt != c.prompt || string(q.OpArgs) != c.args || q.OpArgsSummary != c.summary || q.Diff != c.diff {
			t.Errorf("%s: %q, arguments %s, summary %q, diff %q", c.message, q.Prompt, q.OpArgs, q.OpArgsSummary, q.Diff)
		}
	}
}
