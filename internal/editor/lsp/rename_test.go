package lsp

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

const named = `schema Topic { title: String }

trait Shown { fn show(self) -> String; }

struct Point { x: Int }

impl Shown for Point { fn show(self) -> String { "${self.x}" } }

fn main() {
    let n = 1;
    let p = Point { x: n };
    let t = Topic { title: "a" };
    println(p.show(), n, t.title);
}
`

func TestRename(t *testing.T) {
	dir := t.TempDir()
	runInBubble(t, Options{}, func(e *editor) {
		e.start(dir, map[string]any{"workspace": map[string]any{"workspaceEdit": map[string]any{"documentChanges": true, "changeAnnotationSupport": struct{}{}}}})
		uri := fileURI(filepath.Join(dir, "a.conc"))
		e.open(uri, named)
		at := func(line, character int, name string) map[string]any {
			return map[string]any{"textDocument": map[string]any{"uri": uri}, "position": map[string]int{"line": line, "character": character}, "newName": name}
		}
		var prepared protocol.PrepareRenamePlaceholder
		e.request(protocol.MethodTextDocumentPrepareRename, at(9, 8, ""), &prepared)
		if prepared.Placeholder != "n" || prepared.Range.Start.Line != 9 {
			t.Errorf("result of prepareRename = %+v", prepared)
		}
		e.expectError(e.request(protocol.MethodTextDocumentPrepareRename, at(12, 6, ""), nil), codeRequestFailed) // println belongs to the library
		var edit protocol.WorkspaceEdit
		e.request(protocol.MethodTextDocumentRename, at(9, 8, "count"), &edit)
		if got := renamedText(t, edit); !strings.Contains(got, "let count = 1;\n    let p = Point { x: count };") || !strings.Contains(got, "p.show(), count,") || edit.ChangeAnnotations != nil {
			t.Errorf("text after the rename = %s", got)
		}
		for _, name := range []string{"p", "let", "a b"} {
			e.expectError(e.request(protocol.MethodTextDocumentRename, at(9, 8, name), nil), codeRequestFailed)
		}
		e.request(protocol.MethodTextDocumentRename, at(0, 15, "name"), &edit)
		if got := renamedText(t, edit); !strings.Contains(got, "schema Topic { name: String }") || len(edit.ChangeAnnotations) != 1 || edit.DocumentChanges[0].Edits[0].AnnotationID == "" {
			t.Errorf("edit of a field with a JSON name = %+v", edit)
		}
		var all []protocol.Location
		e.request(protocol.MethodTextDocumentImplementation, at(2, 7, ""), &all)
		if got := formatLocations(all); got != "4:7-12" {
			t.Errorf("implementations of the trait = %s", got)
		}
	})
}

func renamedText(t *testing.T, edit protocol.WorkspaceEdit) string {
	t.Helper()
	if len(edit.DocumentChanges) != 1 {
		t.Fatalf("edit = %+v", edit)
	}
	var edits []protocol.TextEdit
	for _, x := range edit.DocumentChanges[0].Edits {
		edits = append(edits, protocol.TextEdit{Range: x.Range, NewText: x.NewText})
	}
	return applyEdits(t, named, edits)
}

func TestInlays(t *testing.T) {
	dir := t.TempDir()
	runInBubble(t, Options{}, func(e *editor) {
		e.start(dir, struct{}{})
		uri := fileURI(filepath.Join(dir, "a.conc"))
		e.open(uri, named)
		everywhere := map[string]any{"textDocument": map[string]any{"uri": uri}, "range": map[string]any{"start": map[string]int{"line": 0, "character": 0}, "end": map[string]int{"line": 99, "character": 0}}}
		var all []protocol.InlayHint
		e.request(protocol.MethodTextDocumentInlayHint, everywhere, &all)
		if len(all) != 3 || all[0].Label != ": Int" || all[0].Kind != protocol.InlayHintKindType {
			t.Fatalf("inlay hints = %+v", all)
		}
		var one protocol.InlayHint
		e.request(protocol.MethodInlayHintResolve, all[0], &one)
		if got := applyEdits(t, named, one.TextEdits); !strings.Contains(got, "let n: Int = 1;") {
			t.Errorf("resolved hint = %+v", one)
		}
		e.notify(protocol.MethodWorkspaceDidChangeConfiguration, map[string]any{"settings": map[string]any{"concerto": map[string]any{"inlayHints": map[string]any{"types": false}}}})
		e.request(protocol.MethodTextDocumentInlayHint, everywhere, &all)
		if len(all) != 0 {
			t.Errorf("hints with types off = %+v", all)
		}
	})
}

// TestRenameSection renames a section of the manifest, once at its header and once at a reference
// in a program.
func TestRenameSection(t *testing.T) {
	dir := writeProject(t, map[string]string{
		"Concerto.toml": "[hosts.worker]\ncommand = \"w\"\n\n[hosts.idle]\ncommand = \"i\"\n",
		"main.conc":     "host W { connector: worker }\nfn main() { println(W.execute(\"x\")?); }\n",
	})
	runInBubble(t, Options{}, func(e *editor) {
		e.start(dir, struct{}{})
		manifest, main := fileURI(filepath.Join(dir, "Concerto.toml")), fileURI(filepath.Join(dir, "main.conc"))
		at := func(line, character int, name string) map[string]any {
			return map[string]any{"textDocument": map[string]any{"uri": manifest}, "position": map[string]int{"line": line, "character": character}, "newName": name}
		}
		var prepared protocol.PrepareRenamePlaceholder
		e.request(protocol.MethodTextDocumentPrepareRename, at(0, 9, ""), &prepared)
		if prepared.Placeholder != "worker" || prepared.Range.Start.Character != 7 || prepared.Range.End.Character != 13 {
			t.Errorf("result of prepareRename = %+v", prepared)
		}
		var edit protocol.WorkspaceEdit
		e.request(protocol.MethodTextDocumentRename, at(0, 9, "drone"), &edit)
		if to := edit.Changes; len(to) != 2 || len(to[manifest]) != 1 || len(to[main]) != 1 || to[manifest][0].NewText != "drone" || to[main][0].Range.Start.Character != 20 {
			t.Errorf("edit of a section that programs use = %+v", edit)
		}
		edit = protocol.WorkspaceEdit{}
		e.request(protocol.MethodTextDocumentRename, at(3, 9, "busy"), &edit)
		if to := edit.Changes; len(to) != 1 || len(to[manifest]) != 1 || to[manifest][0].Range.Start.Line != 3 {
			t.Errorf("edit of an unused section = %+v", edit)
		}
		e.expectError(e.request(protocol.MethodTextDocumentRename, at(3, 9, "worker"), nil), codeRequestFailed)
		e.expectError(e.request(protocol.MethodTextDocumentRename, at(1, 2, "x"), nil), codeRequestFailed)
	})
}
