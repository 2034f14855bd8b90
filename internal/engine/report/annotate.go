package report

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/graph"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
)

// Annotate sets the numbers of the run in a graph of its program.
func (r *Report) Annotate(g *graph.Graph) {
	nodes, messages := map[string]*graph.Numbers{}, map[string]*graph.Numbers{}
	known := map[string]bool{}
	for _, n := range g.Nodes {
		known[n.ID] = true
	}
	for _, x := range r.Items {
		if id := nodeOf(x, known); known[id] {
			count(nodes, id, x)
		}
		switch event.Kind(x.Kind) {
		case event.Model:
			if n := nodes["agent:"+x.Name]; n != nil {
				addUsage(n, x)
			}
		case event.Message, event.Question, event.Approval:
			if x.Details.Actor != effect.ByRules { // the host's rules have answered it
				count(messages, "host:"+x.Details.Host+" "+x.Details.Type, x)
			}
		}
	}
	g.SetNumbers(nodes, messages)
}

// nodeOf returns the id of the node of a graph that an item belongs to, or "".
func nodeOf(x *Item, known map[string]bool) string {
	switch event.Kind(x.Kind) {
	case event.Run, event.Task:
		return "function:" + x.Name
	case event.Pipeline, event.Stage, event.Agent:
		return x.Kind + ":" + x.Name
	case event.Model:
		return "connection:" + x.Details.Connection
	case event.Exchange:
		return "host:" + x.Name
	case event.Tool:
		if known["tool:"+x.Name] {
			return "tool:" + x.Name
		}
		tool, _, _ := strings.Cut(x.Name, "_") // a function of a tool
		return "tool:" + tool
	case event.MCP:
		var q struct {
			Server string `json:"server"`
		}
		if json.Unmarshal(x.Texts.Args, &q) == nil {
			return "mcp:" + q.Server
		}
	case event.Store:
		return "store:" + x.Name
	case event.Emit, event.Await:
		if id := "channel:" + x.Name; known[id] {
			return id
		}
		if !strings.HasPrefix(x.Name, "pipeline:") && !strings.HasPrefix(x.Name, "listen:") {
			return "channel:*"
		}
	}
	return ""
}

// count adds an item to numbers.
func count(numbers map[string]*graph.Numbers, id string, x *Item) {
	n := numbers[id]
	if n == nil {
		n = &graph.Numbers{}
		numbers[id] = n
	}
	n.Calls++
	if x.Status == Failed || x.Status == Unknown {
		n.Failed++
	}
	if took := x.wait(); took != nil {
		n.Took(*took)
	}
	addUsage(n, x)
}

func addUsage(n *graph.Numbers, x *Item) {
	if x.Details.TokensIn != nil {
		n.TokensIn += *x.Details.TokensIn
	}
	if x.Details.TokensOut != nil {
		n.TokensOut += *x.Details.TokensOut
	}
	var usd float64
	if json.Unmarshal(x.Details.Cost, &usd) == nil {
		n.CostUSD = math.Round((n.CostUSD+usd)*1e9) / 1e9
	}
}
