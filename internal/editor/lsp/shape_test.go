package lsp

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

const shaped = `use std::math;
use std::time;

// one
// two
host Worker { connector: "worker" }

mod part;

@allow(W0409)
fn main() {
    let mut n = 1;
    let add = |a: Int| a + n;
    n = add(math::max(1,
        2));
    let done = listen Worker.execute("${n}") {
        "question" => |q| "é",
    };
    part::f();
}
`

func TestShape(t *testing.T) {
	dir := writeProject(t, map[string]string{"Concerto.toml": "[project]\nname = \"x\"\n[hosts.Worker]\ncommand = \"./w\"\n", "part.conc": "pub fn f() {}\n", "main.conc": shaped})
	runInBubble(t, Options{Cache: t.TempDir(), Explain: func(code string) string { return "about " + code }}, func(e *editor) {
		e.start(dir, struct{}{})
		uri := fileURI(filepath.Join(dir, "main.conc"))
		e.open(uri, shaped)
		at := map[string]any{"textDocument": map[string]any{"uri": uri}, "positions": []any{map[string]int{"line": 12, "character": 25}}}
		var folds []protocol.FoldingRange
		e.request(protocol.MethodTextDocumentFoldingRange, at, &folds)
		var got []string
		for _, f := range folds {
			got = append(got, fmt.Sprintf("%d-%d%s", f.StartLine, f.EndLine, f.Kind))
		}
		if want := "0-1imports 3-4comment 10-19 13-14 15-17"; strings.Join(got, " ") != want {
			t.Errorf("folds = %v", got)
		}
		var around []protocol.SelectionRange
		e.request(protocol.MethodTextDocumentSelectionRange, at, &around)
		texts := []string{}
		l := newLines([]byte(shaped), protocol.PositionEncodingKindUTF16)
		for r := &around[0]; r != nil; r = r.Parent {
			s := l.span(r.Range)
			texts = append(texts, shaped[s.Start:s.End])
		}
		if len(texts) < 4 || texts[0] != "a + n" || texts[len(texts)-1] != shaped {
			t.Errorf("selections = %q", texts)
		}
		var links []protocol.DocumentLink
		e.request(protocol.MethodTextDocumentDocumentLink, at, &links)
		if len(links) != 2 || links[0].Target != fileURI(filepath.Join(dir, "part.conc")) {
			t.Fatalf("links = %+v", links)
		}
		if text, err := os.ReadFile(pathOf(links[1].Target)); err != nil || string(text) != "about W0409" {
			t.Errorf("explanation at the code's link = %q, error %v", text, err)
		}
	})
}

// describeTokens decodes token data and returns one word for each token.
func describeTokens(text string, data []uint32) (out []string) {
	l := newLines([]byte(text), protocol.PositionEncodingKindUTF16)
	var p protocol.Position
	for x := range slices.Chunk(data, 5) {
		if x[0] > 0 {
			p.Character = 0
		}
		p.Line, p.Character = p.Line+x[0], p.Character+x[1]
		start := l.offset(p)
		word := text[start:l.offset(protocol.Position{Line: p.Line, Character: p.Character + x[2]})] + ":" + analysis.TokenTypes[x[3]]
		for i, m := range analysis.TokenModifiers {
			if x[4]>>i&1 == 1 {
				word += "." + m
			}
		}
		out = append(out, word)
	}
	return out
}

func TestTokens(t *testing.T) {
	dir := t.TempDir()
	runInBubble(t, Options{}, func(e *editor) {
		result := e.start(dir, struct{}{})
		offered := result["capabilities"].(map[string]any)["semanticTokensProvider"].(map[string]any)
		if offered["range"] != true || offered["full"].(map[string]any)["delta"] != true || len(offered["legend"].(map[string]any)["tokenTypes"].([]any)) != 22 {
			t.Errorf("token legend = %v", offered)
		}
		uri := fileURI(filepath.Join(dir, "a.conc"))
		text := map[string]any{"uri": uri}
		e.open(uri, shaped)
		var full protocol.SemanticTokens
		e.request(protocol.MethodTextDocumentSemanticTokensFull, map[string]any{"textDocument": text}, &full)
		all := strings.Join(describeTokens(shaped, full.Data), " ")
		for _, want := range []string{"math:namespace.defaultLibrary", "Worker:host.declaration", "main:function.declaration", "n:variable.declaration.mutable add:variable.declaration.readonly a:parameter.declaration.readonly Int:type.defaultLibrary",
			"n:variable.mutable.captured", `"question":messageType q:parameter`} {
			if !strings.Contains(all, want) {
				t.Errorf("no token %s in %s", want, all)
			}
		}
		edited := strings.Replace(shaped, "let mut n = 1", "let mut number = 1", 1)
		e.edit(uri, 2, edited)
		var delta protocol.SemanticTokensDelta
		e.request(protocol.MethodTextDocumentSemanticTokensFullDelta, map[string]any{"textDocument": text, "previousResultId": full.ResultID}, &delta)
		data := slices.Clone(full.Data)
		for _, x := range delta.Edits {
			data = slices.Replace(data, int(x.Start), int(x.Start+x.DeleteCount), x.Data...)
		}
		e.request(protocol.MethodTextDocumentSemanticTokensFull, map[string]any{"textDocument": text}, &full)
		if len(delta.Edits) != 1 || !slices.Equal(data, full.Data) {
			t.Errorf("tokens after delta %+v = %v, want %v", delta, describeTokens(edited, data), describeTokens(edited, full.Data))
		}
		e.request(protocol.MethodTextDocumentSemanticTokensRange, map[string]any{"textDocument": text, "range": map[string]any{"start": map[string]int{"line": 10, "character": 0}, "end": map[string]int{"line": 10, "character": 99}}}, &full)
		if got := describeTokens(edited, full.Data); !slices.Equal(got, []string{"main:function.declaration"}) {
			t.Errorf("tokens of one line = %v", got)
		}
		m := e.request(protocol.MethodTextDocumentSemanticTokensFullDelta, map[string]any{"textDocument": text, "previousResultId": "other"}, nil)
		if !strings.Contains(string(m.Result), `"data"`) {
			t.Errorf("result for an unknown document: %s", m.Result)
		}
	})
}
