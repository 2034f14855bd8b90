package concerto_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto"
)

// TestMCPNotImported checks that a call of an MCP server ends the run of an application which does
// not import the implementation of MCP, with an error that contains the import.
func TestMCPNotImported(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Concerto.toml": "[mcp.Files]\ncommand = \"files-server\"\n",
		"main.conc": `mcp Files { fn find(path: String) -> Result<String, ToolError>; }
fn main() { emit("found", Files.find("a.txt").is_ok()); }`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := concerto.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Run(t.Context(), concerto.Options{})
	const want = `could not connect to MCP server Files: MCP is not part of this application: import _ "github.com/concerto-lang/concerto/mcp"`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %s", err, want)
	}
}
