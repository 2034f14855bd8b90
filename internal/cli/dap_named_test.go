package cli

import (
	"fmt"
	"testing"
)

// TestDapMissingPoints checks that a function breakpoint for an unknown function is reported as
// unverified, with a message.
func TestDapMissingPoints(t *testing.T) {
	t.Parallel()
	const program = `tool Db {
    description: "Rows.",
    @describe("How many there are.")
    @param("what", "Of what.")
    pub fn count(self, what: String) -> Int { what.len() }
}
agent Judge uses main { tools: [Db] }
host Coder { connector: coder }
fn main() {
    let done = listen Coder.execute("go") {
        "question" => |q: HostQuestion| "yes",
    };
    println("${done.is_ok()} ${Judge.execute("hello").is_ok()}");
}
`
	const manifest = "[connections.main]\nprovider = \"scripted\"\ndefault_model = \"m\"\nreplies = [{ text = \"three\" }]\n[hosts.coder]\ncommand = \"testhost\"\noutput_format = \"json\"\n"
	d := startDebugger(t, map[string]string{"main.conc": program, "Concerto.toml": manifest})
	d.launch(nil)
	for name, want := range map[string]string{
		`host Coder "question"`:  "",
		`host * "question"`:      "",
		`host Coder *`:           "",
		`emit "any"`:             "",
		`agent Judge reply`:      "",
		`tool Db.count`:          "",
		`tool *`:                 "",
		`host Nobody "question"`: "the program has no host Nobody: it has Coder",
		`host Coder "quesiton"`:  `the program has no handler for message "quesiton"`,
		`agent Nobody request`:   "the program has no agent Nobody: it has Judge",
		`tool X.y`:               "the program has no tool X: it has Db",
		`tool Db.sum`:            "tool Db has no function sum: it has count",
		`tool *.sum`:             "tool * has no function sum: it has count",
		`nobody`:                 "the program has no function nobody",
	} {
		b := d.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []any{map[string]any{"name": name}}})["breakpoints"].([]any)[0].(map[string]any)
		message, _ := b["message"].(string)
		same(t, fmt.Sprint(name, ": ", message, " ", b["verified"]), fmt.Sprint(name, ": ", want, " ", want == ""))
	}
	d.ask("disconnect", nil)
}
