package lsp

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// TestLinkedFolder opens a folder by a path with a symbolic link. The URIs of open and of closed
// files in the folder use that path.
func TestLinkedFolder(t *testing.T) {
	dir := writeProject(t, map[string]string{"real/main.conc": "mod part;\nfn main() { part::f(); }\n", "real/part.conc": "pub fn f() { let n: Int = \"x\"; println(n); }\n"})
	linked := filepath.Join(dir, "given")
	if err := os.Symlink(filepath.Join(dir, "real"), linked); err != nil {
		t.Skip(err)
	}
	runInBubble(t, Options{}, func(e *editor) {
		e.start(linked, struct{}{})
		part, main := fileURI(filepath.Join(linked, "part.conc")), fileURI(filepath.Join(linked, "main.conc"))
		real, err := filepath.EvalSymlinks(filepath.Join(linked, "part.conc"))
		if err != nil {
			t.Fatal(err)
		}
		if all := e.published(part); len(all) != 1 || len(all[0].Diagnostics) != 1 {
			t.Errorf("diagnostics by the client's path = %v", all)
		}
		if all := e.published(fileURI(real)); len(all) > 0 {
			t.Errorf("diagnostics by the real path = %v", all)
		}
		e.open(main, "mod part;\nfn main() { part::f(); }\n")
		var to []protocol.Location
		e.request(protocol.MethodTextDocumentDefinition, map[string]any{"textDocument": map[string]any{"uri": main}, "position": map[string]int{"line": 1, "character": 18}}, &to)
		if len(to) != 1 || to[0].URI != part {
			t.Errorf("definition = %v", to)
		}
	})
}
