package lsp

import "github.com/concerto-lang/concerto/internal/editor/lsp/protocol"

// graphResult is the graph of a program in the form for clients.
type graphResult struct {
	Nodes   protocol.List[graphNode] `json:"nodes"`
	Edges   protocol.List[graphEdge] `json:"edges"`
	Mermaid string                   `json:"mermaid"`
}

type graphNode struct {
	ID       string             `json:"id"`
	Kind     string             `json:"kind"`
	Name     string             `json:"name"`
	Location *protocol.Location `json:"location,omitempty"`
}

type graphEdge struct {
	From     string             `json:"from"`
	To       string             `json:"to"`
	Kind     string             `json:"kind"`
	Type     string             `json:"type,omitempty"`
	By       string             `json:"by,omitempty"`
	Location *protocol.Location `json:"location,omitempty"`
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
	g, err := c.snapshot.Graph(c, path)
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, newError(codeRequestFailed, "the program has errors; a graph needs a program that compiles")
	}
	t := c.translation()
	place := func(at string) *protocol.Location {
		if l, ok := g.Location(at); ok {
			if in, ok := t.location(l.File, l.Span); ok {
				return &in
			}
		}
		return nil
	}
	out := &graphResult{Mermaid: g.Mermaid()}
	for _, n := range g.Nodes {
		out.Nodes = append(out.Nodes, graphNode{n.ID, n.Kind, n.Name, place(n.At)})
	}
	for _, e := range g.Edges {
		out.Edges = append(out.Edges, graphEdge{e.From, e.To, e.Kind, e.Type, e.By, place(e.At)})
	}
	return out, c.Err()
}
