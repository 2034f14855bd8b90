package lsp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// TestWillRenameFiles requests the edits for a file before it is moved. The server announces that
// it provides them.
func TestWillRenameFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"main.conc": "mod a;\nfn main() { a::f(); }\n", "a.conc": "pub fn f() { }\n", "Concerto.toml": "[project]\nname = \"x\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runInBubble(t, Options{}, func(e *editor) {
		response := string(jsonwrite.MustEncode(e.start(dir, map[string]any{"workspace": map[string]any{"workspaceEdit": map[string]any{"documentChanges": true}}})))
		if !strings.Contains(response, `"willRename":{"filters":[{"pattern":{"glob":"**/*.{conc,toml,json}"}`) {
			t.Errorf("capabilities = %s", response)
		}
		move := func(from, to string) string {
			file := map[string]any{"oldUri": fileURI(filepath.Join(dir, from)), "newUri": fileURI(filepath.Join(dir, to))}
			m := e.request(protocol.MethodWorkspaceWillRenameFiles, map[string]any{"files": []any{file}}, nil)
			if m.Error != nil {
				t.Fatal(m.Error)
			}
			return string(m.Result)
		}
		if got := move("a.conc", "b.conc"); strings.Count(got, `"newText":"b"`) != 2 || !strings.Contains(got, `"start":{"line":1,"character":12}`) {
			t.Errorf("edits = %s", got)
		}
		if got := move("main.conc", "start.conc"); !strings.Contains(got, `"newText":"entry = \"start.conc\"\n"`) || !strings.Contains(got, "Concerto.toml") {
			t.Errorf("edits for the moved entry = %s", got)
		}
		for _, odd := range [][2]string{{"none.conc", "b.conc"}, {"a.conc", "a.conc"}, {"", "/"}} {
			if got := move(odd[0], odd[1]); got != "null" {
				t.Errorf("edits for %v = %s", odd, got)
			}
		}
	})
}
