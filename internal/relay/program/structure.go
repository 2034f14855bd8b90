// Package program is what the relay is told of a program of Concerto: what it is made of, and what
// passes between it, its hosts and its agents. It knows the machine that runs programs, which
// hostd, whose runs are of any kind, is built without.
package program

import (
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/relay"
	"github.com/concerto-lang/concerto/ir"
)

// graph is a structure that is made.
type graph struct{ *relay.Structure }

func id(kind, name string) string { return kind + ":" + name }

// StructureOf reads the structure from a program's declarations and code.
func StructureOf(p *ir.Program) *relay.Structure {
	g := graph{&relay.Structure{Nodes: []relay.Node{}, Edges: []relay.Edge{}}}
	pipelines := pipelinesOf(p)
	g.node("program", p.Name)
	for _, f := range slices.Sorted(maps.Keys(pipelines)) {
		g.node("pipeline", pipelines[f])
	}
	for i := range p.Agents {
		g.node("agent", p.Agents[i].Name)
	}
	for i := range p.Hosts {
		g.node("host", p.Hosts[i].Name)
	}
	for i := range p.Tools {
		g.node("tool", p.Tools[i].Name)
	}
	for i := range p.Agents {
		g.tools(p, id("agent", p.Agents[i].Name), p.Agents[i].Tools)
	}
	for i := range p.Hosts {
		g.tools(p, id("host", p.Hosts[i].Name), p.Hosts[i].Tools)
	}
	if p.Entry >= 0 {
		g.uses(p, pipelines, id("program", p.Name), p.Entry)
	}
	for _, f := range slices.Sorted(maps.Keys(pipelines)) {
		g.uses(p, pipelines, id("pipeline", pipelines[f]), f)
	}
	return g.Structure
}

// runs is how the function of a pipeline is named behind the pipeline's name.
const runs = ".run"

// pipelinesOf are the names of pipelines by their functions: those that tell of their start.
func pipelinesOf(p *ir.Program) map[int]string {
	starts := map[int32]bool{}
	for i, c := range p.Constants {
		if c.String != nil && *c.String == "pipeline:start" {
			starts[int32(i)] = true
		}
	}
	out := map[int]string{}
	for i := range p.Functions {
		name, ok := strings.CutSuffix(p.Functions[i].Name, runs)
		if ok && slices.ContainsFunc(p.Functions[i].Code, func(in ir.Instr) bool { return in.Op == ir.OpLoadConst && starts[in.Imm] }) {
			out[i] = name
		}
	}
	return out
}

func (g graph) node(kind, name string) {
	g.Nodes = append(g.Nodes, relay.Node{ID: id(kind, name), Kind: kind, Name: name})
}

func (g graph) edge(from, to string) {
	if e := (relay.Edge{From: from, To: to}); from != to && !slices.Contains(g.Edges, e) {
		g.Edges = append(g.Edges, e)
	}
}

func (g graph) tools(p *ir.Program, from string, tools []int) {
	for _, t := range tools {
		g.edge(from, id("tool", p.Tools[t].Name))
	}
}

// uses adds what a function, and those that it calls, make use of. A pipeline that is called is
// one part, whose own parts are not looked at.
func (g graph) uses(p *ir.Program, pipelines map[int]string, from string, entry int) {
	seen := map[int]bool{entry: true}
	for next := []int{entry}; len(next) > 0; next = next[1:] {
		f := &p.Functions[next[0]]
		blocks := [][]ir.Instr{f.Code}
		for _, l := range f.Listens {
			for _, h := range l.Handlers {
				blocks = append(blocks, h.Code)
			}
		}
		for _, in := range slices.Concat(blocks...) {
			at := int(in.Imm)
			switch in.Op {
			case ir.OpLoadAgent:
				g.edge(from, id("agent", p.Agents[at].Name))
			case ir.OpLoadHost:
				g.edge(from, id("host", p.Hosts[at].Name))
			case ir.OpCall, ir.OpLoadFunction, ir.OpNewClosure, ir.OpSpawn:
				if seen[at] {
					continue
				}
				seen[at] = true
				if name := pipelines[at]; name != "" {
					g.edge(from, id("pipeline", name))
					continue
				}
				next = append(next, at)
			}
		}
	}
}
