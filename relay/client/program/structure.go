// Package program describes a Concerto program for the relay: its parts, and which part uses which
// other part. It depends on the VM, which hostd must not import. The compatibility promise does not
// cover the API of this package.
package program

import (
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/relay/client"
)

// graph is a Structure that is being built.
type graph struct{ *client.Structure }

func id(kind, name string) string { return kind + ":" + name }

// StructureOf returns the structure of a program. It is computed from the program's declarations
// and code.
func StructureOf(p *ir.Program) *client.Structure {
	g := graph{&client.Structure{Nodes: []client.Node{}, Edges: []client.Edge{}}}
	pipelines := pipelinesOf(p)
	g.node("program", p.Name)
	for _, f := range slices.Sorted(maps.Keys(pipelines)) {
		g.node("pipeline", pipelines[f])
		for _, s := range stagesOf(p, f) {
			g.Nodes = append(g.Nodes, client.Node{ID: s.id(pipelines[f]), Kind: "stage", Name: s.name})
		}
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
		f := &p.Functions[p.Entry]
		g.addUses(p, pipelines, id("program", p.Name), f, f.Code)
	}
	for _, f := range slices.Sorted(maps.Keys(pipelines)) {
		before := id("pipeline", pipelines[f])
		for _, s := range stagesOf(p, f) {
			g.edge(before, s.id(pipelines[f]))
			before = s.id(pipelines[f])
			g.addUses(p, pipelines, before, &p.Functions[f], s.code)
		}
	}
	return g.Structure
}

// runSuffix is the end of the name of a pipeline's function, after the name of the pipeline.
const runSuffix = ".run"

// pipelinesOf returns the names of the pipelines by index of their function. A function belongs to
// a pipeline if it emits a start event.
func pipelinesOf(p *ir.Program) map[int]string {
	starts := map[int32]bool{}
	for i, c := range p.Constants {
		if c.String != nil && *c.String == "pipeline:start" {
			starts[int32(i)] = true
		}
	}
	out := map[int]string{}
	for i := range p.Functions {
		name, ok := strings.CutSuffix(p.Functions[i].Name, runSuffix)
		if ok && slices.ContainsFunc(p.Functions[i].Code, func(in ir.Instr) bool { return in.Op == ir.OpLoadConst && starts[in.Imm] }) {
			out[i] = name
		}
	}
	return out
}

func (g graph) node(kind, name string) {
	g.Nodes = append(g.Nodes, client.Node{ID: id(kind, name), Kind: kind, Name: name})
}

func (g graph) edge(from, to string) {
	if e := (client.Edge{From: from, To: to}); from != to && !slices.Contains(g.Edges, e) {
		g.Edges = append(g.Edges, e)
	}
}

func (g graph) tools(p *ir.Program, from string, tools []int) {
	for _, t := range tools {
		g.edge(from, id("tool", p.Tools[t].Name))
	}
}

// stage is a stage of a pipeline and its code.
type stage struct {
	name string
	code []ir.Instr
}

func (s stage) id(pipeline string) string { return id("stage", pipeline+"."+s.name) }

// stagesOf returns the stages of a pipeline's function, in order. The code of a stage begins at the
// emit of its start event. The instruction before loads the name of the stage.
func stagesOf(p *ir.Program, function int) (out []stage) {
	code := p.Functions[function].Code
	begin, before, name := -1, "", ""
	end := func(at int) {
		if begin >= 0 {
			out[len(out)-1].code = code[begin:at]
		}
		begin = -1
	}
	for at, in := range code {
		if in.Op != ir.OpLoadConst || p.Constants[in.Imm].String == nil {
			continue
		}
		text := *p.Constants[in.Imm].String
		switch {
		case before == "stage":
			name = text
		case text == "pipeline:stage_start":
			end(at)
			out, begin = append(out, stage{name: name}), at
		case text == "pipeline:complete":
			end(at)
		}
		before = text
	}
	return out
}

// addUses adds edges for everything that a function and its callees use. It does not follow calls
// of pipelines.
func (g graph) addUses(p *ir.Program, pipelines map[int]string, from string, f *ir.Function, code []ir.Instr) {
	seen := map[int]bool{}
	var next []int
	var follow func(f *ir.Function, code []ir.Instr)
	follow = func(f *ir.Function, code []ir.Instr) {
		for _, in := range code {
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
			case ir.OpListenBegin:
				for i := range f.Listens[at].Handlers {
					follow(f, f.Listens[at].Handlers[i].Code)
				}
			}
		}
	}
	for follow(f, code); len(next) > 0; next = next[1:] {
		called := &p.Functions[next[0]]
		follow(called, called.Code)
	}
}
