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
