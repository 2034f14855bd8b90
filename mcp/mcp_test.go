package mcp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto"
	"github.com/concerto-lang/concerto/internal/testkit/testmcp"
	_ "github.com/concerto-lang/concerto/mcp"
)

// TestImported checks that a program of an application which imports the package calls a server.
func TestImported(t *testing.T) {
	server := testmcp.Start()
	defer server.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Concerto.toml": fmt.Sprintf("[mcp.Test]\nurl = %q\n", server.URL),
		"main.conc":     `mcp Test { fn echo(text: String, times: Int?) -> String; } fn main() -> String { Test.echo("hello") }`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := concerto.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Run(t.Context(), concerto.Options{})
	if err != nil || string(r.Value) != `"hello"` {
		t.Errorf("result = %+v, %v", r, err)
	}
}
