package runs

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
)

// TestListRuns lists a run with a request. The request must appear below its run, with the form of
// the answer. Text from the run must not appear in the command that users copy, and must not
// control the terminal.
func TestListRuns(t *testing.T) {
	t.Parallel()
	const begin = `{"id":"run_a","status":"awaiting_approval","tool":"concerto","started_at":"now","title":"t","command":"c","pending":[{"request_id":"q1","reason":"choice","prompt":"which?\u001b[2J",`
	for text, want := range map[string][2]string{
		`"from":{"kind":"emit"},"questions":[{"id":"answer","question":"?","kind":"confirm"}]`:                                                          {"", "q1"},
		`"from":{"kind":"approval"},"op_tool":"bash","op_args":{"cmd":"ls"}`:                                                                            {"", "q1"},
		`"from":{"kind":"emit"},"questions":[{"id":"answer","question":"?","kind":"text"}]`:                                                             {`  answer: "…"`, "q1 --answer JSON"},
		`"from":{"kind":"question"},"questions":[{"id":"answer","question":"?","kind":"choice","options":[{"value":"'; rm x"},{"value":2}]}]`:           {`  answer: "'; rm x" | 2`, "q1 --answer JSON"},
		`"from":{"kind":"emit"},"questions":[{"id":"a","question":"?","kind":"multi","options":[{"value":1}]},{"id":"b","kind":"json","question":"?"}]`: {`  answer: {"a": [1], "b": …}`, "q1 --answer JSON"},
		`"from":{"kind":"emit"},"questions":[{"id":"a","question":"?","kind":"confirm"}]`:                                                               {`  answer: {"a": true | false}`, "q1 --answer JSON"},
	} {
		var out bytes.Buffer
		a := &console.Console{Stdout: &out}
		if err := listRuns(a, []json.RawMessage{json.RawMessage(begin + text + "}]}")}, " --server http://x"); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("output contains an escape character, which controls the terminal: %q", out.String())
		}
		lines := strings.Split(out.String(), "\n")
		if len(lines) != 5 || !strings.HasPrefix(lines[2], "  asks: which?") || !strings.HasSuffix(lines[2], want[0]) || lines[3] != "    concerto-relay approve run_a "+want[1]+" --server http://x" {
			t.Errorf("output for %s:\n%s", text, out.String())
		}
	}
}
