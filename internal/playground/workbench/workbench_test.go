package workbench

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func bench(t *testing.T, files map[string]string) *Workbench {
	t.Helper()
	w := New(t.TempDir())
	if err := w.Put(files); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestDiagnosticsFollowEdits(t *testing.T) {
	w := bench(t, map[string]string{"main.conc": "mod a;\nfn main() { /* 😀 */ println(cunt); let count = 1; }\n", "a.conc": "pub fn f() {}\n"})
	found := w.Diagnostics()
	if len(found) == 0 || found[0].File != "main.conc" || found[0].Line != 2 {
		t.Fatalf("diagnostics = %+v", found)
	}
	if d := found[0]; d.End-d.Start != len("cunt") || d.Start != 36 {
		t.Errorf("the name is at %d to %d, want 36 to 40", d.Start, d.End)
	}
	if err := w.Put(map[string]string{"main.conc": "fn main() {}\n"}); err != nil {
		t.Fatal(err)
	}
	if found := w.Diagnostics(); len(found) != 0 {
		t.Errorf("diagnostics after an edit = %+v", found)
	}
	if err := w.Change("Concerto.toml", "[dependencies]\n"); err != nil {
		t.Fatal(err)
	}
	if found := w.Diagnostics(); len(found) == 0 || found[0].Message != "packages are not available in the playground" {
		t.Errorf("diagnostics with dependencies = %+v", found)
	}
	if got := w.Check("main.conc"); !strings.Contains(string(got), "packages are not available") {
		t.Errorf("check with dependencies = %s", got)
	}
}

func TestQueries(t *testing.T) {
	const program = "struct P { wide: Int }\n\nfn main() {\n    let p = P { wide: 1 };\n    println(\"${p.wide}\") ;\n}\n"
	w := bench(t, map[string]string{"main.conc": program})
	at := strings.Index(program, "wide}")
	items := w.Complete("main.conc", at)
	if !slices.ContainsFunc(items, func(i Item) bool { return i.Label == "wide" && i.Edits[0].Start == at && i.Edits[0].End == at+4 }) {
		t.Errorf("completions = %+v", items)
	}
	if got := w.Hover("main.conc", at); !strings.Contains(got, "wide: Int") {
		t.Errorf("hover = %q", got)
	}
	if got, ok := w.Format("main.conc"); !ok || !strings.Contains(got, "\");\n") {
		t.Errorf("format = %q, %v", got, ok)
	}
	text, err := w.Graph("main.conc")
	var g struct {
		Nodes   []any
		Edges   []any
		Drawing struct{ Boxes []any }
	}
	if err != nil || json.Unmarshal(text, &g) != nil || g.Nodes == nil || g.Edges == nil || len(g.Drawing.Boxes) != len(g.Nodes) {
		t.Errorf("graph = %s, %v", text, err)
	}
	if got, err := w.IR("main.conc"); err != nil || !strings.Contains(got, "main") {
		t.Errorf("IR = %q, %v", got, err)
	}
	if got := w.Check("main.conc"); string(got) != "[]\n" {
		t.Errorf("check = %s", got)
	}
	w.Warm(1)
	for _, name := range []string{"none.conc", "../x"} {
		if items := w.Complete(name, 0); len(items) != 0 || w.Hover(name, 0) != "" {
			t.Errorf("a query about %s has a result", name)
		}
	}
}

func TestEntry(t *testing.T) {
	for _, c := range []struct {
		files, open, want string
	}{
		{"main.conc Concerto.toml", "a.conc", "main.conc"}, {"Concerto.toml src/x.conc", "src/x.conc", ""}, {"a.conc b.conc", "b.conc", "b.conc"},
		{"b.conc a.conc notes", "notes", "a.conc"}, {"notes", "notes", "main.conc"},
	} {
		files := map[string]string{}
		for name := range strings.FieldsSeq(c.files) {
			files[name] = ""
		}
		if got := Entry(files, c.open); got != c.want {
			t.Errorf("Entry(%s, %s) = %q, want %q", c.files, c.open, got, c.want)
		}
	}
}
