// Package graph builds the graph of a program from its IR: the agents, hosts, tools and other parts
// of the program, and how they use each other (spec/38-graph.md). It writes the graph as text,
// JSON, Mermaid, dot or SVG. It performs no IO, and equal programs result in equal bytes.
package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// Graph is the graph of a program. Nodes are sorted by kind, in the order of NodeKinds, and then by
// name. Edges are sorted by From, To, Kind, Type and At. The comparisons are by bytes.
type Graph struct {
	Program string
	Nodes   []Node
	Edges   []Edge
}

// Node is a part of a program.
type Node struct {
	ID     string   `json:"id"` // KIND:NAME
	Kind   string   `json:"kind"`
	Name   string   `json:"name"`
	At     string   `json:"at,omitempty"`     // FILE:LINE:COLUMN of the declaration; "" if it is not in a source file
	Unused bool     `json:"unused,omitempty"` // no edge leads to the node
	Detail *Details `json:"detail,omitempty"`
	Run    *Numbers `json:"run,omitempty"` // what a run did here; nil without a run
}

// Details contains the members of a node that depend on its kind.
type Details struct {
	Model     string   `json:"model,omitempty"`
	Provider  string   `json:"provider,omitempty"`
	Connector string   `json:"connector,omitempty"`
	Functions []string `json:"functions,omitempty"`
	From      string   `json:"from,omitempty"` // of a tool: "program" or "manifest"
	Transport string   `json:"transport,omitempty"`
	Kind      string   `json:"kind,omitempty"` // of a store
	Awaited   bool     `json:"awaited,omitempty"`
}

// Edge states that one part uses another. From and To are ids of nodes.
type Edge struct {
	From string   `json:"from"`
	To   string   `json:"to"`
	Kind string   `json:"kind"`
	Type string   `json:"type,omitempty"` // message type, for the kinds message and unhandled
	By   string   `json:"by,omitempty"`   // what answers an unhandled message: "default", "tools" or "none"
	At   string   `json:"at,omitempty"`   // position in the code; "" if the edge is not in a source file
	Run  *Numbers `json:"run,omitempty"`
}

// Kinds of nodes. NodeKinds describes them.
const (
	function    = "function"
	pipeline    = "pipeline"
	stage       = "stage"
	agent       = "agent"
	connection  = "connection"
	host        = "host"
	tool        = "tool"
	mcp         = "mcp"
	store       = "store"
	channel     = "channel"
	application = "application"
)

// NodeKind is a kind of nodes and its form in each format.
type NodeKind struct {
	Name    string
	Mermaid [2]string // brackets around the label
	Dot     string    // attributes
	shape   shape     // form in a drawing
}

// NodeKinds lists the kinds of nodes in the order of the formats.
var NodeKinds = []NodeKind{
	{function, [2]string{"[", "]"}, "shape=box", shape{}},
	{pipeline, [2]string{"[/", "/]"}, "shape=parallelogram", shape{outline: parallelogram}},
	{stage, [2]string{"(", ")"}, "shape=box, style=rounded", shape{radius: 10}},
	{agent, [2]string{"([", "])"}, "shape=ellipse", shape{radius: 100}},
	{connection, [2]string{">", "]"}, "shape=cds", shape{outline: tag}},
	{host, [2]string{"[[", "]]"}, "shape=box, peripheries=2", shape{inner: bars}},
	{tool, [2]string{"{{", "}}"}, "shape=hexagon", shape{outline: hexagon}},
	{mcp, [2]string{`[\`, `\]`}, "shape=octagon", shape{outline: octagon}},
	{store, [2]string{"[(", ")]"}, "shape=cylinder", shape{outline: cylinder}},
	{channel, [2]string{"((", "))"}, "shape=rarrow", shape{outline: arrow}},
	{application, [2]string{"(((", ")))"}, "shape=tab", shape{outline: folder}},
}

// Kinds of edges. EdgeKinds describes them.
const (
	calls     = "calls"
	runs      = "runs"
	starts    = "starts"
	then      = "then"
	asks      = "asks"
	connects  = "connects"
	executes  = "executes"
	listens   = "listens"
	message   = "message"
	unhandled = "unhandled"
	offers    = "offers"
	reads     = "reads"
	writes    = "writes"
	uses      = "uses"
	emits     = "emits"
	awaits    = "awaits"
	reaches   = "reaches"
)

// EdgeKind is a kind of edges with the kinds of nodes that it may connect, separated by spaces. A
// program has an edge of most kinds only once between two nodes, at the first place in the text;
// Each means that it has one for each place.
type EdgeKind struct {
	Name, From, To string
	Each           bool
}

// EdgeKinds lists the kinds of edges. Edges from the functions of a tool start at the tool, and
// calls of them lead to it.
var EdgeKinds = []EdgeKind{
	{Name: calls, From: "function stage tool", To: "function tool mcp"},
	{Name: runs, From: "function stage tool", To: "pipeline"},
	{Name: starts, From: "pipeline", To: "stage"},
	{Name: then, From: "stage", To: "stage"},
	{Name: asks, From: "function stage tool", To: "agent"},
	{Name: connects, From: "agent", To: "connection"},
	{Name: executes, From: "function stage tool", To: "host"},
	{Name: listens, From: "function stage tool", To: "host", Each: true},
	{Name: message, From: "host", To: "function stage tool", Each: true},
	{Name: unhandled, From: "host", To: "function stage tool", Each: true},
	{Name: offers, From: "agent host application", To: "tool mcp"},
	{Name: reads, From: "function stage tool", To: "store"},
	{Name: writes, From: "function stage tool", To: "store"},
	{Name: uses, From: "agent", To: "store"},
	{Name: emits, From: "function stage tool", To: "channel"},
	{Name: awaits, From: "function stage tool host", To: "channel"},
	{Name: reaches, From: "channel", To: "application"},
}

func isKind(name string) bool {
	return slices.ContainsFunc(NodeKinds, func(k NodeKind) bool { return k.Name == name })
}

// kindOf returns the row of a kind of nodes.
func kindOf(name string) *NodeKind {
	return &NodeKinds[slices.IndexFunc(NodeKinds, func(k NodeKind) bool { return k.Name == name })]
}

// sort sorts the nodes and edges.
func (g *Graph) sort() {
	rank := map[string]int{}
	for i, k := range NodeKinds {
		rank[k.Name] = i
	}
	slices.SortFunc(g.Nodes, func(a, b Node) int {
		return cmp.Or(cmp.Compare(rank[a.Kind], rank[b.Kind]), strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	slices.SortFunc(g.Edges, func(a, b Edge) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Type, b.Type), strings.Compare(a.At, b.At))
	})
}

// FocusError reports a name that does not select one node.
type FocusError struct {
	Name string
	IDs  []string // the nodes with this name, if there are several
	Near string   // the most similar name, or ""
}

func (e *FocusError) Error() string {
	switch {
	case len(e.IDs) > 0:
		return fmt.Sprintf("several nodes are named %q: %s", e.Name, strings.Join(e.IDs, ", "))
	case e.Near != "":
		return fmt.Sprintf("no node named %q; did you mean %q?", e.Name, e.Near)
	}
	return fmt.Sprintf("no node named %q", e.Name)
}

// Focus returns the part of the graph that is at most depth edges away from a node, in either
// direction. name is the id or the name of the node. The error is a *FocusError.
func (g *Graph) Focus(name string, depth int) (*Graph, error) {
	id, err := g.find(name)
	if err != nil {
		return nil, err
	}
	near := map[string][]string{}
	for _, e := range g.Edges {
		near[e.From] = append(near[e.From], e.To)
		near[e.To] = append(near[e.To], e.From)
	}
	kept := map[string]bool{id: true}
	last := []string{id}
	for ; depth > 0 && len(last) > 0; depth-- {
		var next []string
		for _, from := range last {
			for _, to := range near[from] {
				if !kept[to] {
					kept[to] = true
					next = append(next, to)
				}
			}
		}
		last = next
	}
	out := &Graph{Program: g.Program}
	for _, n := range g.Nodes {
		if kept[n.ID] {
			out.Nodes = append(out.Nodes, n)
		}
	}
	for _, e := range g.Edges {
		if kept[e.From] && kept[e.To] {
			out.Edges = append(out.Edges, e)
		}
	}
	return out, nil
}

// find returns the id of the node with an id or a name.
func (g *Graph) find(name string) (string, error) {
	var found, names []string
	for _, n := range g.Nodes {
		if n.ID == name {
			return n.ID, nil
		}
		if n.Name == name {
			found = append(found, n.ID)
		}
		names = append(names, n.Name)
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return "", &FocusError{name, found, suggest.Nearest(name, names)}
}
