package notice

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testcommand"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestSummary checks the summaries of requests, which must not contain their arguments.
func TestSummary(t *testing.T) {
	for data, want := range map[string]string{
		`{"reason":"permission","prompt":"rm -rf s3cret","op_tool":"rpc.bash","op_args":{"cmd":"s3cret"},"op_args_summary":"s3cret"}`: "it requests a permission: rpc.bash",
		`{"reason":"permission","prompt":"rm -rf s3cret? [y/N]"}`:                                                                     "it requests a permission",
		`{"reason":"choice","prompt":"When?\nNow\u202e or then?","from":{"kind":"emit","channel":"when"}}`:                            `When?⏎Now\u{202e} or then?`,
		`{"reason":"prompt","prompt":"` + strings.Repeat("x", 200) + `","from":{"kind":"question"},"redacted":true}`:                  strings.Repeat("x", 160) + " … (40 more characters) (secrets are redacted)",
		`{"reason":"prompt","prompt":"password:"}`:                                                                                    "it requests an input",
		`{"reason":"new"}`: "it has a request", `"ct"`: "it has a request",
	} {
		if got := Request([]byte(data)); got != want {
			t.Errorf("summary of %s = %q", data, got)
		}
	}
	if got := Title(strings.Repeat("é", 100), "x", "run_a"); len([]rune(got)) != maxTitle || !strings.HasSuffix(got, "…") {
		t.Errorf("title = %q, want it shortened", got)
	}
	if got := Title("\n", "", "run_a"); got != "run_a" {
		t.Errorf("title of a run with an empty title = %q, want the run id", got)
	}
}

// TestSummaryIsWhole checks the summaries of questions and approvals. The summary of a program's
// question contains the whole question, or the number of omitted characters, and escapes invisible
// characters. The summary of an approval does not contain the command, because other people may see
// the screen.
func TestSummaryIsWhole(t *testing.T) {
	for _, command := range testcommand.Hostile() {
		asks := func(d protocol.PermissionRequested) string {
			data, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			return Request(data)
		}
		shown := asks(protocol.PermissionRequested{Reason: "prompt", Prompt: command, From: &protocol.Origin{Kind: "question"}})
		testcommand.RequireWhole(t, "the summary", shown, command, maxSummary)
		for _, r := range shown {
			if !testcommand.Visible(r) {
				t.Errorf("invisible character %U in the summary of %.80q", r, command)
			}
		}
		approval := protocol.PermissionRequested{Reason: "permission", Prompt: "Bash: " + command, OpTool: "bash", OpArgs: json.RawMessage(`{}`), From: &protocol.Origin{Kind: "approval"}}
		if shown := asks(approval); shown != "it requests a permission: bash" {
			t.Errorf("summary of an approval of %.80q = %q", command, shown)
		}
	}
}
