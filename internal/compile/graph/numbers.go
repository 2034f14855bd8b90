package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Numbers contains what a run did at a node or over an edge.
type Numbers struct {
	Calls     int64   `json:"calls"`
	Failed    int64   `json:"failed,omitempty"`
	Seconds   float64 `json:"seconds,omitempty"`
	P50       float64 `json:"p50,omitempty"` // median of the durations in seconds
	P95       float64 `json:"p95,omitempty"` // 95th percentile of the durations in seconds
	TokensIn  int64   `json:"tokens_in,omitempty"`
	TokensOut int64   `json:"tokens_out,omitempty"`
	CostUSD   float64 `json:"cost_usd,omitempty"`

	took []float64 // the durations in seconds
}

// Took adds a duration in seconds.
func (n *Numbers) Took(seconds float64) { n.took = append(n.took, seconds) }

// setDurations sets the sum and the percentiles of the durations.
func (n *Numbers) setDurations() {
	if len(n.took) == 0 {
		return
	}
	slices.Sort(n.took)
	for _, s := range n.took {
		n.Seconds += s
	}
	n.Seconds = math.Round(n.Seconds*1e6) / 1e6
	n.P50, n.P95 = n.percentile(50), n.percentile(95)
}

// percentile returns the smallest duration that is not exceeded by p percent of the durations.
func (n *Numbers) percentile(p int) float64 { return n.took[(len(n.took)*p+99)/100-1] }

// text returns the numbers in the form of a drawing, or "" for none.
func (n *Numbers) text() string {
	if n == nil {
		return ""
	}
	parts := []string{fmt.Sprintf("%d×", n.Calls)}
	if n.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", n.Failed))
	}
	if n.Seconds > 0 {
		parts = append(parts, fmt.Sprintf("%.3f s", n.Seconds))
	}
	if n.Seconds > 0 && n.Calls > 1 {
		parts = append(parts, fmt.Sprintf("p50 %.3f s, p95 %.3f s", n.P50, n.P95))
	}
	if sum := n.TokensIn + n.TokensOut; sum > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", sum))
	}
	if n.CostUSD > 0 {
		parts = append(parts, "$"+strconv.FormatFloat(n.CostUSD, 'f', -1, 64))
	}
	return strings.Join(parts, ", ")
}

// SetNumbers sets the numbers of a run: those of nodes by their ids, and those of messages by the
// id of the host and the type, separated by a space. An edge gets the numbers of its node or of its
// messages if it is the only one that leads there: otherwise, a run does not tell them apart.
func (g *Graph) SetNumbers(nodes, messages map[string]*Numbers) {
	for _, numbers := range []map[string]*Numbers{nodes, messages} {
		for _, n := range numbers {
			n.setDurations()
		}
	}
	ways := map[string]int{}
	for i := range g.Edges {
		ways[g.Edges[i].way()]++
	}
	for i := range g.Nodes {
		g.Nodes[i].Run = nodes[g.Nodes[i].ID]
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		way := e.way()
		switch {
		case ways[way] > 1:
		case e.Type != "":
			e.Run = messages[way]
		default:
			e.Run = nodes[way]
		}
	}
}

// way returns what the edge leads to, as a key of the maps of SetNumbers.
func (e *Edge) way() string {
	if e.Type != "" {
		return e.From + " " + e.Type
	}
	return e.To
}

// ErrNoGraph means that a text is not the JSON form of a graph.
var ErrNoGraph = errors.New("not a graph")

// Read reads a graph from its JSON form. The error is ErrNoGraph.
func Read(text []byte) (*Graph, error) {
	var g struct {
		Version int    `json:"concerto_graph"`
		Program string `json:"program"`
		Nodes   []Node `json:"nodes"`
		Edges   []Edge `json:"edges"`
	}
	if json.Unmarshal(text, &g) != nil || g.Version != 1 {
		return nil, ErrNoGraph
	}
	ids := map[string]bool{}
	for _, n := range g.Nodes {
		if ids[n.ID] || !isKind(n.Kind) {
			return nil, ErrNoGraph
		}
		ids[n.ID] = true
	}
	for _, e := range g.Edges {
		if !ids[e.From] || !ids[e.To] {
			return nil, ErrNoGraph
		}
	}
	return &Graph{g.Program, g.Nodes, g.Edges}, nil
}

// Equal reports whether two graphs are equal.
func (g *Graph) Equal(o *Graph) bool {
	a, err := g.MarshalJSON()
	b, other := o.MarshalJSON()
	return err == nil && other == nil && bytes.Equal(a, b)
}
