package graph_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/graph"
	"github.com/concerto-lang/concerto/ir"
)

// TestNoOutline checks the error for IR of an earlier version.
func TestNoOutline(t *testing.T) {
	if g, err := graph.Build(&ir.Program{Version: "1.16"}); !errors.Is(err, graph.ErrNoOutline) {
		t.Errorf("graph %v, error %v", g, err)
	}
}

// line returns the graph of four functions that call each other in a row.
func line() *graph.Graph {
	g := large(4, 0)
	for i := range 3 {
		g.Edges = append(g.Edges, graph.Edge{From: g.Nodes[i].ID, To: g.Nodes[i+1].ID, Kind: "calls"})
	}
	return g
}

// TestFocus follows edges in both directions.
func TestFocus(t *testing.T) {
	for _, x := range []struct {
		name  string
		depth int
		want  string
	}{
		{"f1", 0, "f1"}, {"f1", 1, "f0 f1 f2"}, {"function:f3", 2, "f1 f2 f3"}, {"f0", 100, "f0 f1 f2 f3"},
	} {
		g, err := line().Focus(x.name, x.depth)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, n := range g.Nodes {
			names = append(names, n.Name)
		}
		if got := strings.Join(names, " "); got != x.want || len(g.Edges) != len(names)-1 {
			t.Errorf("focus on %s with depth %d: %s with %d edges, want %s", x.name, x.depth, got, len(g.Edges), x.want)
		}
	}
}

// FuzzQuoting writes a graph with any name of a channel. No name breaks the syntax of a format or
// creates an element.
func FuzzQuoting(f *testing.F) {
	for _, s := range []string{"a", "\"]\n<script>", "`x`", `\`, "a\x00b\x1b[2J", "]]>", "-->", "&lt;", "#quot;", "\u202e", "\xff", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		p := &ir.Program{Version: ir.Version, Name: name, Entry: -1, Files: []ir.File{{Name: "main.conc"}}, Functions: []ir.Function{{Name: "main"}},
			Outline: []ir.Declaration{{Kind: ir.DeclFunction, Name: "main", At: ir.Place{Line: 1, Column: 4}, Uses: []ir.Use{{Kind: ir.UseEmit, Target: -1, By: -1, Channel: &name, At: ir.Place{Line: 2, Column: 1}}}}}}
		g, err := graph.Build(p)
		if err != nil {
			t.Fatal(err)
		}
		const parts = 3 // main, the channel and the application; with two edges
		if n := strings.Count(g.Text(), "\n"); n != parts+2 {
			t.Errorf("text of %d lines:\n%s", n, g.Text())
		}
		if n := strings.Count(g.Mermaid(), "\n"); n != 1+parts+2 {
			t.Errorf("Mermaid of %d lines:\n%s", n, g.Mermaid())
		}
		for line := range strings.Lines(g.Mermaid()) {
			if _, quoted, ok := strings.Cut(strings.TrimSpace(line), `"`); ok && strings.ContainsAny(quoted[:strings.LastIndex(quoted, `"`)], "\"<>`") {
				t.Errorf("Mermaid line %q", line)
			}
		}
		for line := range strings.Lines(g.Dot()) {
			if quotes := strings.Count(strings.NewReplacer(`\\`, "", `\"`, "").Replace(line), `"`); quotes%2 != 0 {
				t.Errorf("dot line %q has %d quotes", line, quotes)
			}
		}
		out, err := g.MarshalJSON()
		var decoded struct{ Nodes []graph.Node }
		if err != nil || json.Unmarshal(out, &decoded) != nil || len(decoded.Nodes) != parts {
			t.Fatalf("JSON %s, error %v", out, err)
		}
		if want := strings.ToValidUTF8(name, "\uFFFD"); want != "*" && !slices.ContainsFunc(decoded.Nodes, func(n graph.Node) bool { return n.ID == "channel:"+want }) {
			t.Errorf("JSON has no channel %q: %s", want, out)
		}
		elements := map[string]int{}
		for d := xml.NewDecoder(strings.NewReader(g.SVG())); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("SVG: %v\n%s", err, g.SVG())
			}
			if e, ok := token.(xml.StartElement); ok {
				elements[e.Name.Local]++
			}
		}
		if elements["g"] != parts+2 || elements["script"] > 0 || elements["rect"] != parts {
			t.Errorf("SVG with the elements %v", elements)
		}
	})
}

// TestSetNumbers checks that an edge has numbers only if no other edge leads to the same.
func TestSetNumbers(t *testing.T) {
	g := line()
	g.Nodes = append(g.Nodes, graph.Node{ID: "host:H", Kind: "host", Name: "H"})
	g.Edges = append(g.Edges, graph.Edge{From: "function:f0", To: "function:f2", Kind: "calls"},
		graph.Edge{From: "host:H", To: "function:f0", Kind: "message", Type: "question"}, graph.Edge{From: "host:H", To: "function:f1", Kind: "message", Type: "log"},
		graph.Edge{From: "host:H", To: "function:f2", Kind: "message", Type: "log"})
	of := func(n int64) *graph.Numbers { return &graph.Numbers{Calls: n} }
	g.SetNumbers(map[string]*graph.Numbers{"function:f1": of(1), "function:f2": of(2), "host:H": of(3)}, map[string]*graph.Numbers{"host:H question": of(4), "host:H log": of(5)})
	want := []int64{1, 0, 0, 0, 4, 0, 0} // f1 is only called by f0, and f2 by two
	for i, e := range g.Edges {
		if got := e.Run; got == nil && want[i] != 0 || got != nil && got.Calls != want[i] {
			t.Errorf("edge %s %s %s %s has the numbers %+v, want %d calls", e.From, e.Kind, e.Type, e.To, got, want[i])
		}
	}
	if g.Nodes[1].Run.Calls != 1 || g.Nodes[4].Run.Calls != 3 || g.Nodes[3].Run != nil {
		t.Errorf("nodes %+v", g.Nodes)
	}
}

// TestRead reads the JSON form of a graph, and refuses what is none.
func TestRead(t *testing.T) {
	text, err := line().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if g, err := graph.Read(text); err != nil || g.Text() != line().Text() {
		t.Errorf("graph %v, error %v", g, err)
	}
	for _, text := range []string{``, `null`, `{}`, `{"concerto_graph":2}`, `{"concerto_graph":1,"nodes":[{"id":"x","kind":"y"}]}`, `{"concerto_graph":1,"edges":[{"from":"a","to":"b"}]}`} {
		if _, err := graph.Read([]byte(text)); !errors.Is(err, graph.ErrNoGraph) {
			t.Errorf("Read(%s): error %v", text, err)
		}
	}
}
