package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testterm"
)

const talking = `
-- Concerto.toml --
[hosts.coder]
command = "testhost"
args = ["coder.host"]
message_types = ["progress"]
-- coder.host --
read
stderr begun
hang
`

// TestReplOnTerminal checks the REPL's prompts, entries of several lines, Tab, and the recall of
// earlier entries. Ctrl-C discards an unfinished input and cancels a running one, in a loop or
// while waiting for a host. Ctrl-D ends the session.
func TestReplOnTerminal(t *testing.T) {
	r, dir := onTerminal(t, talking, 70, 40, func(c *exec.Cmd) {
		c.Env = append(c.Env, "XDG_STATE_HOME="+filepath.Join(c.Dir, "state"), "SOME_KEY=abcdefgh")
	}, "repl")
	before := r.Before
	last := func(text string) testterm.State {
		t.Helper()
		return r.AwaitState("the last line "+text, func(s testterm.State) bool {
			return len(s.Rows) > 0 && strings.TrimRight(s.Rows[len(s.Rows)-1], " ") == strings.TrimRight(text, " ")
		})
	}
	last("> ")
	r.Type("let counter = 3 +\r4;\r")
	r.AwaitText("> let counter = 3 +", "error[E0108]")
	r.Type("let counter = 7;\r")
	last("> ")
	r.Type("coun\t")
	last("> counter")
	r.Type("\r")
	r.AwaitText("> counter\n7")
	r.Type("fn f() -> Int {\r")
	last(". ")
	r.Type("  counter_\x03")
	r.AwaitText("^C")
	last("> ")
	r.Type("fn five() -> Int {\r5\r}\rfive()\r")
	r.AwaitText("> fn five() -> Int {\n. 5\n. }\n> five()\n5")
	r.Type("\x1b[A\x1b[A")
	last("> fn five() -> Int {⏎5⏎}")
	r.Type("\x7f + 1 }\r")
	r.AwaitText("> fn five() -> Int {\n. 5\n.  + 1 }")
	last("> ")
	r.Type("five()\r")
	r.AwaitText("> five()\n6")
	r.Type("\"two\rlines\"\r")
	r.AwaitText("> \"two\n. lines\"\n\"two\\nlines\"")
	r.Type("five()\r")
	last("> ")
	r.Type("nope\r")
	r.AwaitText("error[E0201]: unknown name `nope`")
	last("> ")
	r.Type("\x1b[A")
	last("> nope")
	r.Type("\x1b[A")
	last("> five()")
	r.Type("\x1b[B\x1b[B")
	last(">")
	r.Type(`println("runs"); loop { }` + "\r")
	r.AwaitText("\nruns")
	r.Type("\x03")
	r.AwaitText("interrupted")
	last("> ")
	r.Type(`host Coder { connector: "coder" }` + "\r")
	last("> ")
	r.Type(`Coder.execute("go")` + "\r")
	r.AwaitText("Coder: begun")
	r.Type("\x03")
	r.AwaitState("a second interruption", func(s testterm.State) bool { return strings.Count(s.Text(), "interrupted") == 2 })
	last("> ")
	r.Type(" let hidden = 1;\r" + `let key = "abcdefgh";` + "\r")
	r.Type("counter + 1\r")
	r.AwaitText("> counter + 1\n8")
	last("> ")
	r.Type("\x04")
	code, s := r.AwaitExit()
	if code != 0 {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
	if r.Modes() != before {
		t.Error("the terminal's settings were not restored")
	}
	stored, err := os.ReadFile(filepath.Join(dir, "state", "concerto", "repl_history"))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(stored); !strings.Contains(text, "five()\n") || !strings.Contains(text, "fn five() -> Int {\n\t5\n\t}\n") || strings.Contains(text, "hidden") || strings.Contains(text, "abcdefgh") {
		t.Errorf("unexpected stored history:\n%s", text)
	}
}
