package analysis

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

const textProgram = `-- Concerto.toml --
[connections.rules]
provider = "scripted"
default_model = "m"
replies = [{ text = "x" }]

[connections.rules.models]
big = "m"

[hosts.worker]
command = "./w"
message_types = ["question", "ping"]
-- main.conc --
agent Judge uses rules { model: "big" }
host Worker { connector: worker, question_default: "yes" }
tool Db { description: "d", fn add(self, n: Int) -> Int { n } }
fn main() {
    let a = dispatch_tool("Db_add", { n: 1 });
    let b = listen Worker.execute("x") { "ping" => |p| nil };
    println(a, b, Judge, "Db_none");
}
`

// TestTextReferences checks the definitions and the references of strings that name something.
func TestTextReferences(t *testing.T) {
	dir := writeTree(t, textProgram)
	s := New(Options{Folders: []string{dir}}).Snapshot()
	for _, c := range []struct{ file, at, def, refs string }{
		{"main.conc", "big", "Concerto.toml:7", "Concerto.toml:7 main.conc:1"},
		{"main.conc", "ping", "Concerto.toml:11", "Concerto.toml:11 main.conc:6"},
		{"main.conc", "Db_add", "main.conc:3", "main.conc:3 main.conc:5"},
		{"main.conc", "add(self", "main.conc:3", "main.conc:3 main.conc:5"},
		{"Concerto.toml", "big", "main.conc:1", "Concerto.toml:7 main.conc:1"},
		{"Concerto.toml", "ping", "main.conc:6", "Concerto.toml:11 main.conc:6"},
		{"main.conc", "Db_none", "", ""},
	} {
		path := filepath.Join(dir, c.file)
		at := source.Pos(strings.Index(s.File(path).String(), c.at)) + 1
		show := func(all []Location) string {
			var out []string
			for _, l := range all {
				out = append(out, fmt.Sprint(filepath.Base(l.File.Name), ":", l.File.LineOf(l.Span.Start)))
			}
			return strings.Join(out, " ")
		}
		if got := show(s.Definition(context.Background(), path, at)); got != c.def {
			t.Errorf("definition of %s in %s = %s", c.at, c.file, got)
		}
		if got := show(s.References(context.Background(), path, at, true)); got != c.refs {
			t.Errorf("references of %s in %s = %s", c.at, c.file, got)
		}
	}
	path := filepath.Join(dir, "main.conc")
	for at, want := range map[string]string{"add(self": "Db_sum", "Db {": "Store_add"} {
		pos := source.Pos(strings.Index(s.File(path).String(), at)) + 1
		name, _, _ := strings.Cut(strings.Replace(want, "Db_", "", 1), "_")
		r, err := s.Rename(context.Background(), path, pos, name)
		if err != nil {
			t.Fatal(err)
		}
		if text := s.withEdits(r.Edits).File(path).String(); !strings.Contains(text, `dispatch_tool("`+want+`"`) {
			t.Errorf("text after the rename:\n%s", text)
		}
	}
}
