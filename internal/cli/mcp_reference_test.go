package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// TestMCPReference checks the MCP client with the protocol's reference server. `mcp add` declares
// the server's tools. A program then calls the tools and reads the server's resources and prompts.
func TestMCPReference(t *testing.T) {
	server, err := filepath.Abs(filepath.Join("..", "..", "bin", "npm", "node_modules", ".bin", "mcp-server-everything"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(server); err != nil {
		t.Skip("the reference server is not installed: run `make mcp-reference`")
	}
	dir := t.TempDir()
	const program = `
mod everything;

use everything::Everything;
use std::crypto;

fn main() {
    println(Everything.echo("hello"));
    println(Everything.get_sum(2, 3.5));
    println(Everything.get_structured_content("New York").temperature > 0.0);
    println(Everything.trigger_long_running_operation(0.1, 2));
    println(Everything.trigger_elicitation_request().contains("declined"));
    println(Everything.resources()?.any(|r| r.mime_type == "text/markdown"));
    println(Everything.resource_templates()?.map(|t| t.uri_template).sort());
    let blob = Everything.read_resource("demo://resource/dynamic/blob/2")?[0].blob ?? "";
    println(crypto::base64_decode(blob)?.starts_with("Resource 2: "));
    println(Everything.prompts()?.filter(|p| p.name == "args-prompt")[0].arguments.map(|a| (a.name, a.required)));
    println(Everything.get_prompt("args-prompt", { city: "Paris" })?);
}`
	for name, text := range map[string]string{"main.conc": program, "Concerto.toml": "[project]\nname = \"x\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	command := func(args ...string) string {
		var out, errs bytes.Buffer
		if code := run(args, &console.Console{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: dir}); code != 0 {
			t.Fatalf("concerto %s: exit code %d\n%s%s", strings.Join(args, " "), code, out.String(), errs.String())
		}
		return out.String()
	}
	command("mcp", "add", "Everything", "--", server, "stdio")
	got := command("run", "--answer", "mcp:elicitation=no", "main.conc")
	for _, want := range []string{"Echo: hello\n", "The sum of 2 and 3.5 is 5.5.\n", "5.5.\ntrue\n",
		`[mcp:progress] {"progress":1,`, `[mcp:progress] {"progress":2,`, "Duration: 0.1 seconds, Steps: 2.\n", "[mcp:elicitation] {", "\ntrue\ntrue\n",
		`["demo://resource/dynamic/blob/{resourceId}","demo://resource/dynamic/text/{resourceId}"]` + "\ntrue\n", `[["city",true],["state",false]]`,
		`[{"role":"user","content":"What's weather in Paris?"}]`} {
		if !strings.Contains(got, want) {
			t.Errorf("the output does not contain %q:\n%s", want, got)
		}
	}
}
