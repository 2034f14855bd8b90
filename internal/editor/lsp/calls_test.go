package lsp

import (
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

func TestCallHierarchy(t *testing.T) {
	dir := t.TempDir()
	runInBubble(t, Options{}, func(e *editor) {
		e.start(dir, struct{}{})
		uri := fileURI(filepath.Join(dir, "a.conc"))
		e.open(uri, navigationProgram)
		var items []protocol.CallHierarchyItem
		e.request(protocol.MethodTextDocumentPrepareCallHierarchy, map[string]any{"textDocument": map[string]any{"uri": uri}, "position": map[string]int{"line": 1, "character": 4}}, &items)
		if len(items) != 1 || items[0].Name != "add" {
			t.Fatalf("call hierarchy items = %+v", items)
		}
		var in []protocol.CallHierarchyIncomingCall
		e.request(protocol.MethodCallHierarchyIncomingCalls, map[string]any{"item": items[0]}, &in)
		if len(in) != 2 || in[0].From.Name != "adds" || in[1].From.Name != "main" || len(in[1].FromRanges) != 1 || in[1].FromRanges[0].Start.Line != 10 {
			t.Errorf("incoming calls = %+v", in)
		}
		var out []protocol.CallHierarchyOutgoingCall
		e.request(protocol.MethodCallHierarchyOutgoingCalls, map[string]any{"item": in[1].From}, &out)
		names := map[string]bool{}
		for _, x := range out {
			names[x.To.Name] = true
		}
		if !names["add"] {
			t.Errorf("outgoing calls of main = %+v", out)
		}
	})
}
