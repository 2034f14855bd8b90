package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/concerto-lang/concerto/internal/compile/graph"
	"github.com/concerto-lang/concerto/internal/compile/graph/graphtest"
)

// TestLayout draws random graphs with cycles, loops, parallel edges and any names.
func TestLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &graph.Graph{Program: "random"}
		for i := range rapid.IntRange(0, 30).Draw(t, "nodes") {
			k := rapid.SampledFrom(graph.NodeKinds).Draw(t, "kind")
			name := rapid.StringMatching(`[A-Za-z_/.:]{0,80}|.{0,40}`).Draw(t, "name")
			g.Nodes = append(g.Nodes, graph.Node{ID: fmt.Sprintf("%s:%s%d", k.Name, name, i), Kind: k.Name, Name: name})
		}
		for range rapid.IntRange(0, 3*len(g.Nodes)).Draw(t, "edges") {
			k := rapid.SampledFrom(graph.EdgeKinds).Draw(t, "kind")
			e := graph.Edge{
				From: rapid.SampledFrom(g.Nodes).Draw(t, "from").ID, To: rapid.SampledFrom(g.Nodes).Draw(t, "to").ID, Kind: k.Name,
				Type: rapid.StringMatching(`[a-z_]{0,12}`).Draw(t, "type"),
			}
			if k.Name == "unhandled" {
				e.By = rapid.SampledFrom([]string{"none", "tools", "default"}).Draw(t, "by")
			}
			g.Edges = append(g.Edges, e)
		}
		check(t, g)
	})
}

// check runs graphtest.Check with rapid's T.
func check(t *rapid.T, g *graph.Graph) {
	t.Helper()
	graphtest.Check(reporter{TB: nil, t: t}, g)
	if first, second := g.SVG(), g.SVG(); first != second {
		t.Error("two drawings of a graph differ")
	}
}

// reporter passes the reports of a check to rapid.
type reporter struct {
	testing.TB
	t *rapid.T
}

func (r reporter) Helper()                           { r.t.Helper() }
func (r reporter) Errorf(format string, args ...any) { r.t.Errorf(format, args...) }
func (r reporter) Fatal(args ...any)                 { r.t.Fatal(args...) }
func (r reporter) Fatalf(format string, args ...any) { r.t.Fatalf(format, args...) }

// large returns a graph of functions that call others.
func large(nodes, edges int) *graph.Graph {
	g := &graph.Graph{Program: "large"}
	for i := range nodes {
		name := fmt.Sprintf("f%d", i)
		g.Nodes = append(g.Nodes, graph.Node{ID: "function:" + name, Kind: "function", Name: name, At: fmt.Sprintf("main.conc:%d:4", i+1)})
	}
	seed := uint32(1)
	next := func(n int) int {
		seed = seed*1664525 + 1013904223
		return int(seed>>8) % n
	}
	for range edges {
		from := next(nodes)
		g.Edges = append(g.Edges, graph.Edge{From: g.Nodes[from].ID, To: g.Nodes[min(nodes-1, from+1+next(40))].ID, Kind: "calls"})
	}
	return g
}

// TestLargeGraphs draws graphs of shapes in which long edges would need many slots.
func TestLargeGraphs(t *testing.T) {
	shapes := map[string]*graph.Graph{"random": large(500, 1000)}
	chain := large(1000, 0)
	for i := range chain.Nodes[1:] {
		chain.Edges = append(chain.Edges,
			graph.Edge{From: chain.Nodes[i].ID, To: chain.Nodes[i+1].ID, Kind: "calls"},
			graph.Edge{From: chain.Nodes[i].ID, To: chain.Nodes[999].ID, Kind: "asks"},
			graph.Edge{From: chain.Nodes[0].ID, To: chain.Nodes[i].ID, Kind: "runs"},
			graph.Edge{From: chain.Nodes[i+1].ID, To: chain.Nodes[0].ID, Kind: "message"})
	}
	shapes["chain"] = chain
	star := large(800, 0)
	for i := range star.Nodes[1:] {
		star.Edges = append(star.Edges, graph.Edge{From: star.Nodes[0].ID, To: star.Nodes[i+1].ID, Kind: "calls"})
	}
	shapes["star"] = star
	for name, g := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "random" {
				graphtest.Check(t, g)
			}
			if svg := g.SVG(); strings.Count(svg, `<g class="node `) != len(g.Nodes) || strings.Count(svg, `<g class="edge `) != len(g.Edges) || len(svg) > 4<<20 {
				t.Errorf("the drawing has %d bytes", len(svg))
			}
		})
	}
}

func BenchmarkLayout(b *testing.B) {
	for _, size := range []int{500, 5000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			g := large(size, 2*size)
			for b.Loop() {
				g.SVG()
			}
		})
	}
}

// TestPlaced checks that a graph for the relay has the place of each node, unless it is too large.
func TestPlaced(t *testing.T) {
	for _, x := range []struct{ nodes, boxes int }{{10, 10}, {5000, 0}} {
		var got struct {
			Nodes   []graph.Node
			Drawing graph.Drawing
		}
		out := large(x.nodes, x.nodes).Placed()
		if err := json.Unmarshal(out, &got); err != nil || len(got.Nodes) != x.nodes || len(got.Drawing.Boxes) != x.boxes {
			t.Errorf("graph of %d nodes: %d nodes with %d boxes in %d bytes, error %v", x.nodes, len(got.Nodes), len(got.Drawing.Boxes), len(out), err)
		}
	}
}
