package analysis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// Graph describes the agents, hosts, tools and other parts of a program, and which part uses which.
type Graph struct {
	Nodes []GraphNode
	Edges []GraphEdge
}

// GraphNode is a part of a program.
type GraphNode struct {
	ID   string // KIND:NAME
	Kind string // function, agent, host, tool, pipeline or store
	Name string
	At   Location
}

// GraphEdge states that one part uses another. Between a host and the functions that handle its
// messages, Label lists the message types.
type GraphEdge struct{ From, To, Label string }

// graphKinds maps the kinds of declarations that are parts of a graph to their names.
var graphKinds = map[sema.DefKind]string{
	sema.DefFunction: "function", sema.DefMethod: "function", sema.DefAgent: "agent", sema.DefHost: "host", sema.DefTool: "tool",
	sema.DefPipeline: "pipeline", sema.DefStore: "store",
}

// Graph returns the graph of the program of a document. It only contains functions that lead to
// other parts.
func (s *Snapshot) Graph(ctx context.Context, path string) *Graph {
	out := &Graph{Nodes: []GraphNode{}, Edges: []GraphEdge{}}
	r := s.rootOf(s.realPath(path))
	if r == nil {
		return out
	}
	res, err := s.check(ctx, r)
	if err != nil {
		return out
	}
	g := graph{nodes: map[string]GraphNode{}, uses: map[GraphEdge]bool{}}
	for _, i := range res.own {
		g.addFile(res, i)
	}
	g.prune()
	for _, id := range slices.Sorted(maps.Keys(g.nodes)) {
		out.Nodes = append(out.Nodes, g.nodes[id])
	}
	out.Edges = slices.AppendSeq(out.Edges, maps.Keys(g.uses))
	slices.SortFunc(out.Edges, func(a, b GraphEdge) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Label, b.Label))
	})
	return out
}

// graph is a graph under construction.
type graph struct {
	nodes map[string]GraphNode
	uses  map[GraphEdge]bool
}

// part is a declaration with its node in the graph.
type part struct {
	span source.Span
	id   string
}

func (g *graph) addFile(res *result, info *sema.Info) {
	refs := res.refs(info)
	var parts []part
	for _, r := range refs {
		if n := r.Def.Node; r.Decl && n != nil {
			if id := g.addNode(r.Def); id != "" {
				parts = append(parts, part{n.Span(), id})
			}
		}
	}
	in := func(at source.Span) string { // of nested parts, the outermost counts: a function in a tool belongs to the tool
		for _, p := range parts {
			if p.span.Contains(at) {
				return p.id
			}
		}
		return ""
	}
	for _, r := range refs {
		if from, to := in(r.At), nodeID(r.Def); !r.Decl && from != "" && to != "" && from != to {
			g.addNode(r.Def)
			g.uses[GraphEdge{From: from, To: to}] = true
		}
	}
	for _, l := range res.listens(info) {
		to := in(l.expr.Head)
		types := slices.Sorted(maps.Keys(l.handlerTypes()))
		if to != "" && len(types) > 0 {
			g.uses[GraphEdge{"host:" + l.host.Name, to, strings.Join(types, ", ")}] = true
		}
	}
}

// nodeID returns the node ID of a declaration, or "" if the declaration is not a part of the user's
// program.
func nodeID(d *sema.Def) string {
	kind := graphKinds[d.Kind]
	if kind == "" || d.Info == nil || d.Info.Library {
		return ""
	}
	if fn, ok := d.Node.(*ast.FnDecl); ok && isTest(fn) {
		return ""
	}
	if f, ok := d.Object.(*sema.Function); ok && f.Tool != nil {
		return "tool:" + f.Tool.Name
	}
	return kind + ":" + partName(d)
}

// partName returns the name of a declaration, qualified by its type for a method.
func partName(d *sema.Def) string {
	if d.Kind == sema.DefMethod && d.Owner != "" {
		return d.Owner + "." + d.Name
	}
	return d.Name
}

func (g *graph) addNode(d *sema.Def) string {
	id := nodeID(d)
	if _, exists := g.nodes[id]; exists || id == "" {
		return id
	}
	kind, name, _ := strings.Cut(id, ":")
	g.nodes[id] = GraphNode{id, kind, name, Location{d.Info.File.Source, d.At}}
	return id
}

// prune removes the functions that lead to no other part. `main` stays.
func (g *graph) prune() {
	leads := map[string]bool{"function:main": true}
	for id, n := range g.nodes {
		leads[id] = leads[id] || n.Kind != "function"
	}
	for more := true; more; {
		more = false
		for e := range g.uses {
			if leads[e.To] && !leads[e.From] {
				leads[e.From], more = true, true
			}
		}
	}
	maps.DeleteFunc(g.nodes, func(id string, _ GraphNode) bool { return !leads[id] })
	maps.DeleteFunc(g.uses, func(e GraphEdge, _ bool) bool { return !leads[e.From] || !leads[e.To] })
}

// graphShapes maps a kind to the brackets that Mermaid writes around a node of that kind.
var graphShapes = map[string][2]string{
	"function": {"[", "]"}, "agent": {"([", "])"}, "host": {"[[", "]]"}, "tool": {"{{", "}}"}, "pipeline": {"[/", "/]"}, "store": {"[(", ")]"},
}

// Mermaid returns the graph in the syntax of Mermaid.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	numbers := map[string]int{}
	for i, n := range g.Nodes {
		numbers[n.ID] = i
		fmt.Fprintf(&b, "  n%d%s\"%s %s\"%s\n", i, graphShapes[n.Kind][0], n.Kind, n.Name, graphShapes[n.Kind][1])
	}
	for _, e := range g.Edges {
		label := ""
		if e.Label != "" {
			label = "|" + e.Label + "|"
		}
		fmt.Fprintf(&b, "  n%d -->%s n%d\n", numbers[e.From], label, numbers[e.To])
	}
	return b.String()
}
