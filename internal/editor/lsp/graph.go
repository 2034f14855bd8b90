package lsp

import "github.com/concerto-lang/concerto/internal/editor/lsp/protocol"

// graphResult is the graph of a program in the form for clients.
type graphResult struct {
	Nodes   protocol.List[graphNode] `json:"nodes"`
	Edges   protocol.List[graphEdge] `json:"edges"`
	Mermaid string                   `json:"mermaid"`
}

type graphNode struct {
	ID       string            `json:"id"`
	Kind     string            `json:"kind"`
	Name     string            `json:"name"`
	Location protocol.Location `json:"location"`
}

type graphEdge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Label string `json:"label,omitempty"`
}

// graph returns the graph of a document's program.
func (c *call) graph(p *fileParams) (any, error) {
	program, err := c.programOf(p.URI)
	if err != nil {
		return nil, err
	}
	path := program.Entry
	if p.URI != "" {
		path = c.path(p.URI)
	}
	g, t := c.snapshot.Graph(c, path), c.translation()
	out := &graphResult{Mermaid: g.Mermaid()}
	for _, n := range g.Nodes {
		at, _ := t.location(n.At.File, n.At.Span)
		out.Nodes = append(out.Nodes, graphNode{n.ID, n.Kind, n.Name, at})
	}
	for _, e := range g.Edges {
		out.Edges = append(out.Edges, graphEdge(e))
	}
	return out, c.Err()
}
