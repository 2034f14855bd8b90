package graph

import "encoding/json"

// maxPlaced is the maximum size of a graph with its drawing in bytes. The relay refuses events that
// are much larger.
const maxPlaced = 1 << 20

// Placed returns the graph as JSON for a program that draws it: {"nodes", "edges", "drawing"}.
// drawing is a Drawing, and is missing if it is too large for the relay.
func (g *Graph) Placed() json.RawMessage {
	s := struct {
		Nodes   []Node   `json:"nodes"`
		Edges   []Edge   `json:"edges"`
		Drawing *Drawing `json:"drawing,omitempty"`
	}{g.Nodes, g.Edges, g.Layout()}
	out, err := json.Marshal(s)
	if err == nil && len(out) > maxPlaced {
		s.Drawing = nil
		out, err = json.Marshal(s)
	}
	if err != nil {
		panic(err) // a graph contains only texts and numbers
	}
	return out
}
