package lsp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// TestAnyRequestIsAnswered sends requests at random positions of random texts. Each request is
// answered without a crash, and the server's texts stay equal to the client's.
func TestAnyRequestIsAnswered(t *testing.T) {
	programs, err := filepath.Glob("../../../examples/*/main.conc")
	if err != nil || len(programs) < 5 {
		t.Fatal(programs, err)
	}
	bits := []string{"", ".", "(", "{", "}", "\"", "let x = ", "if ", "match x {", "::", "\n", "é", "use std::", "@", "x", "\"question\" => ", "${", "/*", "fn f(a: "}
	dir := t.TempDir()
	runInBubble(t, Options{}, func(e *editor) {
		random := rand.New(rand.NewPCG(3, 5))
		e.start(dir, map[string]any{"textDocument": map[string]any{"documentSymbol": map[string]any{"hierarchicalDocumentSymbolSupport": true}}})
		methods := slices.DeleteFunc(sortedKeys(requests), func(m string) bool { return m == protocol.MethodWorkspaceExecuteCommand })
		for i, program := range programs[:5] {
			b, err := os.ReadFile(program)
			if err != nil {
				t.Fatal(err)
			}
			m := &model{string(b), protocol.PositionEncodingKindUTF16}
			uri := fileURI(filepath.Join(dir, fmt.Sprintf("f%d.conc", i)))
			e.open(uri, m.text)
			for version := 2; version < 40; version++ {
				line, character := random.IntN(strings.Count(m.text, "\n")+1), random.IntN(40)
				start, bit := m.at(line, character), bits[random.IntN(len(bits))]
				end := max(start, m.at(line, character+random.IntN(6)))
				at, after := newLines([]byte(m.text), m.enc).position(start), newLines([]byte(m.text), m.enc).position(end)
				m.text = m.text[:start] + bit + m.text[end:]
				e.notify(protocol.MethodTextDocumentDidChange, map[string]any{"textDocument": map[string]any{"uri": uri, "version": version},
					"contentChanges": []any{map[string]any{"range": protocol.Range{Start: at, End: after}, "text": bit}}})
				p := newLines([]byte(m.text), m.enc).position(start + len(bit))
				for range 4 {
					method := methods[random.IntN(len(methods))]
					got := e.request(method, map[string]any{"textDocument": map[string]any{"uri": uri}, "uri": uri, "position": p, "positions": []any{p}, "range": protocol.Range{End: p}, "query": "a", "newName": "zzz", "ch": "}",
						"context": map[string]any{"diagnostics": []any{}, "includeDeclaration": true}, "previousResultIds": []any{}, "previousResultId": "", "label": "x", "files": []any{map[string]any{"oldUri": uri, "newUri": uri + "x.conc"}},
						"item": map[string]any{"name": "x", "kind": 12, "uri": uri, "range": protocol.Range{End: p}, "selectionRange": protocol.Range{Start: p, End: p}}}, nil)
					if got.Error != nil && got.Error.Code != codeRequestFailed {
						t.Fatalf("program %s, %s in the text %q: %v", program, method, m.text, got.Error)
					}
				}
			}
			var got textResult
			e.request(methodText, map[string]any{"uri": uri}, &got)
			if sum := sha256.Sum256([]byte(m.text)); got.SHA256 != hex.EncodeToString(sum[:]) {
				t.Errorf("the server's text of %s differs from the client's", program)
			}
		}
	})
}
