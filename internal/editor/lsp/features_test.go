package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/format"
	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// applyEdits returns a text after the client has applied edits. All ranges refer to the original
// text.
func applyEdits(t *testing.T, text string, edits []protocol.TextEdit) string {
	t.Helper()
	l := newLines([]byte(text), protocol.PositionEncodingKindUTF16)
	slices.SortStableFunc(edits, func(a, b protocol.TextEdit) int { return l.offset(a.Range.Start) - l.offset(b.Range.Start) })
	var all []diag.Edit
	for i, e := range edits {
		if i > 0 && l.offset(e.Range.Start) < l.offset(edits[i-1].Range.End) {
			t.Errorf("edits overlap: %v", edits)
		}
		all = append(all, diag.Replace(l.span(e.Range), e.NewText))
	}
	return string(repair.Apply(source.NewFile("a", []byte(text)), all))
}

var styles = map[string]any{"tabSize": 8, "insertSpaces": false}

func TestFormatting(t *testing.T) {
	const ugly = "fn   f( ) {\r\n  let xs=[1,2 , 3,] ; // é\n println( xs)\n}\n\n\n\nfn g() { let s = \"a  b\"; println(s);\n}"
	styled, _ := format.Source(source.NewFile("a.conc", []byte(ugly)), 0)
	runInBubble(t, Options{}, func(e *editor) {
		e.start(t.TempDir(), struct{}{})
		at := map[string]any{"uri": "untitled:a"}
		e.open("untitled:a", ugly)
		var edits []protocol.TextEdit
		e.request(protocol.MethodTextDocumentFormatting, map[string]any{"textDocument": at, "options": styles}, &edits)
		if got := applyEdits(t, ugly, edits); got != string(styled) {
			t.Errorf("formatted text = %q, want %q", got, styled)
		}
		for _, x := range edits {
			if len(x.NewText) > 10 {
				t.Errorf("edit = %+v, want a minimal edit", x)
			}
		}
		line := func(n int) map[string]any {
			return map[string]any{"start": map[string]int{"line": n, "character": 0}, "end": map[string]int{"line": n, "character": 99}}
		}
		e.request(protocol.MethodTextDocumentRangeFormatting, map[string]any{"textDocument": at, "range": line(1), "options": styles}, &edits)
		if got := applyEdits(t, ugly, edits); !strings.Contains(got, "fn   f( ) {\n    let xs = [1, 2, 3]; // é\n    println( xs)") {
			t.Errorf("text after formatting one line = %q", got)
		}
		// in a text with an error, only the correct parts are formatted
		broken := ugly + "\n\nfn h( {\n"
		e.edit("untitled:a", 2, broken)
		if m := e.request(protocol.MethodTextDocumentFormatting, map[string]any{"textDocument": at, "options": styles}, nil); string(m.Result) != "[]" {
			t.Errorf("result of formatting a broken range = %s", m.Result)
		}
		e.request(protocol.MethodTextDocumentRangeFormatting, map[string]any{"textDocument": at, "range": line(7), "options": styles}, &edits)
		if got := applyEdits(t, broken, edits); !strings.Contains(got, "fn g() {\n    let s = \"a  b\";") && !strings.Contains(got, "fn g() {\n    let s") {
			t.Errorf("text after formatting a broken part = %q", got)
		}
		e.request(protocol.MethodTextDocumentOnTypeFormatting, map[string]any{"textDocument": at, "position": map[string]int{"line": 3, "character": 1}, "ch": "}", "options": styles}, &edits)
		if got := applyEdits(t, broken, edits); !strings.HasPrefix(got, string(styled[:bytes.Index(styled, []byte("fn g"))-1])) {
			t.Errorf("text after formatting at a closing brace = %q", got)
		}
		const lines = "fn main( ) { let x = ; }\nfn  g( ) { }\nfn  h( ) { }\n"
		e.edit("untitled:a", 3, lines)
		e.request(protocol.MethodTextDocumentRangeFormatting, map[string]any{"textDocument": at, "range": line(1), "options": styles}, &edits)
		if got, want := applyEdits(t, lines, edits), "fn main( ) { let x = ; }\nfn g() {}\nfn  h( ) { }\n"; got != want {
			t.Errorf("text after formatting a one-line declaration next to broken code = %q, want %q", got, want)
		}
		for _, r := range []int{5, 99} {
			if m := e.request(protocol.MethodTextDocumentRangeFormatting, map[string]any{"textDocument": at, "range": line(r), "options": styles}, nil); m.Error != nil || m.Result[0] != '[' {
				t.Errorf("formatting line %d: result %s, error %v", r, m.Result, m.Error)
			}
		}
	})
}

func TestActions(t *testing.T) {
	const text = "use std::math;\n\nfn main() {\n    let x = 1\n    println(x)\n    let y = 2;\n    println(y);\n}\n"
	dir := t.TempDir()
	runInBubble(t, Options{}, func(e *editor) {
		e.start(dir, map[string]any{"workspace": map[string]any{"workspaceEdit": map[string]any{"documentChanges": true}}})
		uri := fileURI(filepath.Join(dir, "a.conc"))
		e.open(uri, text)
		ask := func(r any, only ...string) (all []protocol.CodeAction) {
			context := map[string]any{"diagnostics": []any{}}
			if only != nil {
				context["only"] = only
			}
			e.request(protocol.MethodTextDocumentCodeAction, map[string]any{"textDocument": map[string]any{"uri": uri}, "range": r, "context": context}, &all)
			return all
		}
		place := func(a, b, c, d int) any {
			return map[string]any{"start": map[string]int{"line": a, "character": b}, "end": map[string]int{"line": c, "character": d}}
		}
		titles := func(all []protocol.CodeAction) string {
			var out []string
			for _, a := range all {
				out = append(out, fmt.Sprint(a.Title, " ", a.IsPreferred))
			}
			return strings.Join(out, ", ")
		}
		all := ask(place(3, 13, 3, 13))
		if got := titles(all); !strings.HasPrefix(got, "Insert `;` true") {
			t.Fatalf("text of the title after its first line = %s", got)
		}
		if v := all[0].Edit.DocumentChanges[0].TextDocument.Version; v == nil || *v != 1 {
			t.Errorf("version of the edited document = %v", v)
		}
		for _, odd := range []any{place(9, 0, 0, 0), place(0, 0, 99, 99), place(99, 0, 99, 0)} {
			ask(odd)
		}
		all = ask(place(0, 0, 0, 0), "source.fixAll")
		if titles(all) != "Apply all safe fixes false" {
			t.Fatalf("titles of all actions = %s", titles(all))
		}
		var edits []protocol.TextEdit
		for _, x := range all[0].Edit.DocumentChanges[0].Edits {
			edits = append(edits, protocol.TextEdit{Range: x.Range, NewText: x.NewText})
		}
		if got, want := applyEdits(t, text, edits), "fn main() {\n    let x = 1;\n    println(x);\n    let y = 2;\n    println(y);\n}\n"; got != want {
			t.Errorf("text after all safe fixes = %q", got)
		}
	})
}

// TestFixesPreserveSecrets applies the fixes of a manifest. They do not change its secrets or the
// text next to the secrets.
func TestFixesPreserveSecrets(t *testing.T) {
	const key = "pässwörd-😀-of-mine"
	text := "[connections.main]\nprovider = \"open-ai\"\napi_key = \"" + key + "\"\n\n[connections]\nother = { api_key = \"" + key + "\", provider = \"anthropc\" }\n"
	dir := t.TempDir()
	runInBubble(t, Options{}, func(e *editor) {
		e.start(dir, map[string]any{"workspace": map[string]any{"workspaceEdit": map[string]any{"documentChanges": true}}})
		e.open(fileURI(filepath.Join(dir, "main.conc")), "agent A uses main {}\n\nfn main() {}\n")
		uri := fileURI(filepath.Join(dir, "Concerto.toml"))
		e.open(uri, text)
		var all []protocol.CodeAction
		whole := map[string]any{"start": map[string]int{"line": 0, "character": 0}, "end": map[string]int{"line": 9, "character": 0}}
		e.request(protocol.MethodTextDocumentCodeAction, map[string]any{"textDocument": map[string]any{"uri": uri}, "range": whole, "context": map[string]any{"diagnostics": []any{}}}, &all)
		want := strings.NewReplacer("open-ai", "openai", "anthropc", "anthropic")
		for _, a := range all {
			var edits []protocol.TextEdit
			for _, x := range a.Edit.DocumentChanges[0].Edits {
				edits = append(edits, protocol.TextEdit{Range: x.Range, NewText: x.NewText})
			}
			got := applyEdits(t, text, edits)
			switch {
			case want.Replace(got) != want.Replace(text):
				t.Errorf("text after %q = %s", a.Title, got)
			case a.Kind == "source.fixAll" && (got != want.Replace(text) || len(edits) != 2):
				t.Errorf("edits of all safe fixes = %v, text = %s", edits, got)
			}
		}
		if len(all) != 3 {
			t.Errorf("number of actions = %d", len(all))
		}
	})
}

// TestRefactorings requests refactorings by kind. A requested kind includes its subkinds.
func TestRefactorings(t *testing.T) {
	const text = "fn main() {\n    let n = \"1\".len() + 2;\n    println(n);\n}\n"
	runInBubble(t, Options{}, func(e *editor) {
		kinds := dig(e.start(t.TempDir(), struct{}{}), "capabilities", "codeActionProvider", "codeActionKinds")
		if got, want := fmt.Sprint(kinds), "[quickfix source.fixAll.concerto refactor.extract refactor.inline refactor.rewrite]"; got != want {
			t.Errorf("advertised kinds = %s", got)
		}
		e.open("untitled:a", text)
		for _, c := range []struct {
			from, to int // character offsets in line 1
			only     []string
			want     string
		}{
			{12, 21, nil, "Extract variable refactor.extract, Extract function refactor.extract"},
			{8, 8, nil, "Inline variable refactor.inline"},
			{8, 8, []string{"refactor.rewrite"}, ""},
			{8, 8, []string{"refactor"}, "Inline variable refactor.inline"},
			{8, 8, []string{"source", "refactor.inline"}, "Inline variable refactor.inline"},
			{8, 8, []string{"refactor.inlined"}, ""},
		} {
			context := map[string]any{"diagnostics": []any{}}
			if c.only != nil {
				context["only"] = c.only
			}
			var all []protocol.CodeAction
			e.request(protocol.MethodTextDocumentCodeAction, map[string]any{"textDocument": map[string]any{"uri": "untitled:a"}, "context": context,
				"range": map[string]any{"start": map[string]int{"line": 1, "character": c.from}, "end": map[string]int{"line": 1, "character": c.to}}}, &all)
			var got []string
			for _, a := range all {
				got = append(got, fmt.Sprint(a.Title, " ", a.Kind))
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("titles at character %d for kinds %v = %v", c.from, c.only, got)
			}
			if len(all) > 0 && all[0].Title == "Inline variable" {
				if got, want := applyEdits(t, text, all[0].Edit.Changes["untitled:a"]), "fn main() {\n    println(\"1\".len() + 2);\n}\n"; got != want {
					t.Errorf("text after the refactoring = %q", got)
				}
			}
		}
	})
}

// TestCreateFile checks that the action which creates the file of a missing module is offered only
// to clients that can create files.
func TestCreateFile(t *testing.T) {
	for name, can := range map[string]map[string]any{
		"all":     {"documentChanges": true, "resourceOperations": []string{"create", "rename"}},
		"no new":  {"documentChanges": true, "resourceOperations": []string{"rename"}},
		"changes": {},
	} {
		dir := t.TempDir()
		runInBubble(t, Options{}, func(e *editor) {
			e.start(dir, map[string]any{"workspace": map[string]any{"workspaceEdit": can}})
			uri := fileURI(filepath.Join(dir, "main.conc"))
			e.open(uri, "mod shapes;\n\nfn main() {}\n")
			var all []map[string]any
			e.request(protocol.MethodTextDocumentCodeAction, map[string]any{"textDocument": map[string]any{"uri": uri}, "context": map[string]any{"diagnostics": []any{}, "only": []string{"quickfix"}},
				"range": map[string]any{"start": map[string]int{"line": 0, "character": 5}, "end": map[string]int{"line": 0, "character": 5}}}, &all)
			if name != "all" {
				if len(all) > 0 {
					t.Errorf("%s: actions = %v", name, all)
				}
				return
			}
			if len(all) != 1 || all[0]["title"] != "Create shapes.conc" {
				t.Fatalf("actions = %v", all)
			}
			want := fmt.Sprintf(`[{"kind":"create","options":{"ignoreIfExists":true},"uri":%q}]`, fileURI(filepath.Join(dir, "shapes.conc")))
			if got, _ := json.Marshal(dig(all[0], "edit", "documentChanges")); string(got) != want {
				t.Errorf("edit = %s, want %s", got, want)
			}
		})
	}
}

// dig returns the value at a path of keys in nested objects.
func dig(v any, names ...string) any {
	for _, n := range names {
		m, _ := v.(map[string]any)
		v = m[n]
	}
	return v
}

// FuzzSplices checks that splices change any text into any other text.
func FuzzSplices(f *testing.F) {
	f.Add("f( a,b )", "f(a, b,)")
	f.Add("é x", "x é")
	f.Fuzz(func(t *testing.T, was, is string) {
		all := repair.Splices([]byte(was), []byte(is))
		if got := string(repair.Apply(source.NewFile("a", []byte(was)), all)); got != is {
			t.Fatalf("splices of %q produce %q, want %q: %v", was, got, is, all)
		}
	})
}

// TestListsAreNotNull checks that no result encodes an empty list as null.
func TestListsAreNotNull(t *testing.T) {
	initMethods()
	for name, m := range requests {
		result := reflect.TypeOf(m.answer)
		if result == nil {
			t.Errorf("method %s has no answer type", name)
			continue
		}
		for result.Kind() == reflect.Pointer {
			result = result.Elem()
		}
		if text, err := json.Marshal(reflect.Zero(result).Interface()); err != nil {
			t.Error(err)
		} else if what := nullList(text, result); what != "" {
			t.Errorf("%s: %s is null in %s", name, what, text)
		}
	}
}

// nullList returns the path of a list that is encoded as null, or "".
func nullList(text json.RawMessage, t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Slice && string(text) == "null":
		return t.String()
	case t.Kind() != reflect.Struct:
		return ""
	}
	var has map[string]json.RawMessage
	_ = json.Unmarshal(text, &has) // the text is an object
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if v, ok := has[name]; ok {
			if what := nullList(v, t.Field(i).Type); what != "" {
				return name + "." + what
			}
		}
	}
	return ""
}

const navigationProgram = `/// Adds.
fn add(a: Int, b: Int) -> Int { a + b }

struct Point { x: Int }

@test
fn adds() { assert_eq(add(1, 2), 3); }

fn main() {
    let p = Point { x: 1 };
    println(add(p.x, 2));
}
`

// TestNavigation checks hovers, definitions, references and symbols.
func TestNavigation(t *testing.T) {
	dir := t.TempDir()
	runInBubble(t, Options{Cache: t.TempDir()}, func(e *editor) {
		e.start(dir, map[string]any{"textDocument": map[string]any{"documentSymbol": map[string]any{"hierarchicalDocumentSymbolSupport": true}}})
		uri := fileURI(filepath.Join(dir, "a.conc"))
		e.open(uri, navigationProgram)
		at := func(line, character int) map[string]any {
			return map[string]any{"textDocument": map[string]any{"uri": uri}, "position": map[string]int{"line": line, "character": character}, "context": map[string]any{"includeDeclaration": true}}
		}
		var h protocol.Hover
		e.request(protocol.MethodTextDocumentHover, at(10, 13), &h)
		if h.Contents.Kind != "markdown" || !strings.Contains(h.Contents.Value, "fn add(a: Int, b: Int) -> Int") || !strings.Contains(h.Contents.Value, "Adds.") {
			t.Errorf("hover = %+v", h)
		}
		for method, want := range map[string]string{
			protocol.MethodTextDocumentDefinition:     "1:3-6",
			protocol.MethodTextDocumentReferences:     "1:3-6 6:22-25 10:12-15",
			protocol.MethodTextDocumentTypeDefinition: "",
		} {
			var all []protocol.Location
			e.request(method, at(10, 13), &all)
			if got := formatLocations(all); got != want {
				t.Errorf("%s = %s, want %s", method, got, want)
			}
		}
		var all []protocol.Location
		e.request(protocol.MethodTextDocumentTypeDefinition, at(10, 16), &all)
		if got := formatLocations(all); got != "3:7-12" {
			t.Errorf("type definition of p = %s", got)
		}
		e.request(protocol.MethodTextDocumentDefinition, at(10, 5), &all)
		if len(all) != 1 || !strings.Contains(string(all[0].URI), "/std/") {
			t.Errorf("definition of println = %v", all)
		}
		var tree []protocol.DocumentSymbol
		e.request(protocol.MethodTextDocumentDocumentSymbol, at(0, 0), &tree)
		if len(tree) != 4 || tree[1].Kind != protocol.SymbolKindStruct || len(tree[1].Children) != 1 {
			t.Errorf("document symbols = %+v", tree)
		}
		var found []protocol.WorkspaceSymbol
		e.request(protocol.MethodWorkspaceSymbol, map[string]any{"query": "adds"}, &found)
		if len(found) != 1 || found[0].ContainerName != "test" {
			t.Errorf("workspace symbols = %+v", found)
		}
		for method := range requests { // requests at an invalid position and in a missing document succeed
			for _, odd := range []protocol.DocumentURI{uri, "file:///nowhere.conc", "untitled:x"} {
				p := at(99, 99)
				p["textDocument"] = map[string]any{"uri": odd}
				if m := e.request(method, p, nil); m.Error != nil && m.Error.Code == codeInternal {
					t.Errorf("%s for %s: %v", method, odd, m.Error)
				}
			}
		}
	})
}

// formatLocations formats locations as line:character-character.
func formatLocations(all []protocol.Location) string {
	var out []string
	for _, l := range all {
		out = append(out, fmt.Sprintf("%d:%d-%d", l.Range.Start.Line, l.Range.Start.Character, l.Range.End.Character))
	}
	return strings.Join(out, " ")
}
