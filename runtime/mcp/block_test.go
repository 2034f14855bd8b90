package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/testkit/testmcp"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
)

// FuzzDeclaration checks the declaration of arbitrary tools. If it parses, it must consist of one
// function with the name and parameters of the tool, and of its schemas. A declaration that does
// not parse is omitted by `concerto mcp add`.
func FuzzDeclaration(f *testing.F) {
	for _, h := range testmcp.Hostile {
		f.Add(h.Name, h.Description, "x", h.Description, h.Name)
	}
	f.Add("f", "", "x: Int) -> Int; fn g(y", "", "")
	f.Add("f", "", "x", "", `" | fn() -> Int | "`)
	f.Fuzz(func(t *testing.T, name, description, param, about, choice string) {
		property := map[string]any{"type": "string", "description": about, "enum": []any{choice}}
		input := map[string]any{"type": "object", "properties": map[string]any{param: property,
			"within": map[string]any{"type": "object", "description": about, "properties": map[string]any{param: property}}}}
		raw, err := json.Marshal(input)
		if err != nil {
			t.Skip()
		}
		d := (&declarer{used: map[string]bool{}}).function(&sdk.Tool{Name: name, Description: description, InputSchema: json.RawMessage(raw), OutputSchema: json.RawMessage(raw)}, name)
		if d.Signature == "" {
			return
		}
		text := strings.Join(d.Schemas, "\n") + "\nmcp X {\n" + strings.Join(append(d.Head, d.Signature), "\n") + "\n}\n"
		for _, r := range text {
			if r != '\n' && !strings.ContainsRune(escaped(string(r)), r) {
				t.Fatalf("generated text %q contains the character %q", text, r)
			}
		}
		file, found := parser.Parse(source.NewFile("x.conc", []byte(text)))
		if found.HasErrors() {
			return // `concerto mcp add` omits this declaration
		}
		if len(file.Decls) != len(d.Schemas)+1 {
			t.Fatalf("got %d declarations, want the schemas and one block:\n%s", len(file.Decls), text)
		}
		for _, s := range file.Decls[:len(d.Schemas)] {
			if _, ok := s.(*ast.SchemaDecl); !ok {
				t.Fatalf("unexpected declaration of type %T in\n%s", s, text)
			}
		}
		block, ok := file.Decls[len(d.Schemas)].(*ast.McpDecl)
		if !ok || len(block.Methods) != 1 || block.Rest || block.Methods[0].Name.Name != word(name) {
			t.Fatalf("unexpected block in\n%s", text)
		}
		var got []string
		for _, p := range block.Methods[0].Params {
			got = append(got, p.Name.Name)
		}
		want := sortedNames(readShape(json.RawMessage(raw)).Properties)
		if !slices.Equal(got, want) {
			t.Fatalf("parameters = %q, want %q, in\n%s", got, want, text)
		}
	})
}
