package lsp

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

const typed = `struct Point { x: Int, y: Int }

/// The area.
fn area(p: Point, by: Int = 2) -> Int { p.x * by }

fn main() {
    let p = Point { x: 1, y: 2 };
    let n = area(p, 3);
    let s = sqrt
    p.
}
`

func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		can     any
		snippet bool
	}{
		"plain": {struct{}{}, false},
		"able":  {map[string]any{"completionItem": map[string]any{"snippetSupport": true, "insertReplaceSupport": true}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			runInBubble(t, Options{}, func(e *editor) {
				e.start(dir, map[string]any{"textDocument": map[string]any{"completion": c.can}})
				uri := fileURI(filepath.Join(dir, "a.conc"))
				e.open(uri, typed)
				at := func(line, character int) map[string]any {
					return map[string]any{"textDocument": map[string]any{"uri": uri}, "position": map[string]int{"line": line, "character": character}}
				}
				var list protocol.CompletionList
				e.request(protocol.MethodTextDocumentCompletion, at(9, 6), &list)
				if len(list.Items) < 2 || list.Items[0].Label != "x" || list.Items[0].Kind != protocol.CompletionItemKindField || list.Items[0].LabelDetails.Detail != ": Int" {
					t.Errorf("member items = %+v", list.Items)
				}
				if !slices.IsSortedFunc(list.Items, func(a, b protocol.CompletionItem) int { return strings.Compare(a.SortText, b.SortText) }) {
					t.Error("sort texts of the items are not in order")
				}
				e.request(protocol.MethodTextDocumentCompletion, at(8, 14), &list)
				i := slices.IndexFunc(list.Items, func(x protocol.CompletionItem) bool { return x.Label == "sqrt" })
				j := slices.IndexFunc(list.Items, func(x protocol.CompletionItem) bool { return x.Label == "area" })
				if i < 0 || j < 0 {
					t.Fatalf("index of sqrt = %d, index of area = %d, number of items = %d", i, j, len(list.Items))
				}
				edit := list.Items[j].TextEdit.(map[string]any)
				if got := edit["newText"] == "area($0)"; got != c.snippet {
					t.Errorf("text edit of the item = %v", edit)
				}
				if _, both := edit["insert"]; both != c.snippet {
					t.Errorf("additional edit = %v", edit)
				}
				var sqrt protocol.CompletionItem
				e.request(protocol.MethodCompletionItemResolve, list.Items[i], &sqrt)
				if sqrt.Documentation == nil || !strings.Contains(sqrt.Documentation.Value, "square root") || len(sqrt.AdditionalTextEdits) != 1 || sqrt.AdditionalTextEdits[0].NewText != "use std::math::sqrt;\n" {
					t.Errorf("resolved item = %+v", sqrt)
				}
				e.request(protocol.MethodCompletionItemResolve, map[string]any{"label": "x", "data": 5}, &sqrt)
				var help protocol.SignatureHelp
				e.request(protocol.MethodTextDocumentSignatureHelp, at(7, 20), &help)
				if len(help.Signatures) != 1 || *help.ActiveParameter != 1 {
					t.Fatalf("signature help = %+v", help)
				}
				s := help.Signatures[0]
				if p := s.Parameters[1].Label; s.Label[p[0]:p[1]] != "by: Int = 2" {
					t.Errorf("label of the second parameter = %q", s.Label[p[0]:p[1]])
				}
				if m := e.request(protocol.MethodTextDocumentSignatureHelp, at(0, 0), nil); string(m.Result) != "null" {
					t.Errorf("signature help outside of a call = %s, want null", m.Result)
				}
			})
		})
	}
}
