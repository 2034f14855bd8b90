package analysis

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

const graphProgram = `host Worker { connector: worker, question_default: "yes" }

fn main() {
    let r = listen Worker.execute("x") { "approval" => |a: HostApproval| "yes" };
    emit("done", r);
}
`

// TestGraph checks the graphs of a program with unsaved changes and of a document without a file,
// and the places of their nodes. A program with errors has no graph.
func TestGraph(t *testing.T) {
	dir := writeTree(t, "-- Concerto.toml --\n[hosts.worker]\ncommand = \"./w\"\noutput_format = \"json\"\n-- main.conc --\n"+graphProgram)
	ws := New(Options{Folders: []string{dir}})
	path := filepath.Join(dir, "main.conc")
	ws.Open(path, "\n\n"+graphProgram)
	ws.Open("untitled:x", "// a comment\nfn main() { emit(\"more\", 1); }\n")
	for _, x := range []struct{ path, node, has string }{
		{path, "host:Worker", "message approval  function main\n"},
		{"untitled:x", "function:main", "emits  channel more\n"},
	} {
		s := ws.Snapshot()
		g, err := s.Graph(context.Background(), x.path)
		if err != nil || g == nil {
			t.Fatal(x.path, g, err)
		}
		if text := g.Text(); !strings.Contains(text, x.has) {
			t.Errorf("%s: the graph lacks %q:\n%s", x.path, x.has, text)
		}
		for _, n := range g.Nodes {
			if n.ID != x.node {
				continue
			}
			l, ok := g.Location(n.At)
			if !ok || s.PathOf(l.File) != x.path || !strings.HasPrefix(l.File.String()[l.Span.Start:], n.Name) {
				t.Errorf("%s: %s is at %q: %+v %v", x.path, n.ID, n.At, l, ok)
			}
		}
		for _, at := range []string{"", "x", "main.conc:1", "main.conc:x:1"} {
			if l, ok := g.Location(at); ok {
				t.Errorf("position %q has the location %+v", at, l)
			}
		}
	}
	ws.Open(path, graphProgram+"fn broken() { nothing() }")
	for _, at := range []string{path, filepath.Join(dir, "Concerto.toml.bak")} {
		if g, err := ws.Snapshot().Graph(context.Background(), at); g != nil || err != nil {
			t.Errorf("%s: graph %v, error %v, want none", at, g, err)
		}
	}
}
