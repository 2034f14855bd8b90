package codegen

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// declarations fills the tables of all declarations except functions. Sema has already computed the
// values of their fields.
func (g *generator) declarations() {
	for i, s := range g.p.Stores {
		g.numbers.stores[s] = i
		out := ir.Store{Name: s.Name, Kind: s.Kind.String(), Window: int(s.Window), Trim: int(s.Trim), File: s.File}
		if h, ok := s.Type.(*types.HashMap); ok && s.File != "" {
			out.Key, out.Value = g.typeIndex(h.Key), g.typeIndex(h.Value)
		}
		if q, ok := s.Type.(*types.Queue); ok {
			out.Value, out.MaxAttempts, out.RetrySeconds = g.typeIndex(q.Elem), s.MaxAttempts, s.RetrySeconds
		}
		g.out.Stores = append(g.out.Stores, out)
	}
	for i, t := range g.p.Tools {
		g.numbers.tools[t] = i
	}
	for i, a := range g.p.Agents {
		g.numbers.agents[a] = i
		g.out.Agents = append(g.out.Agents, g.agent(a))
	}
	for i, h := range g.p.Hosts {
		g.numbers.hosts[h] = i
		g.out.Hosts = append(g.out.Hosts, g.host(h))
	}
	for _, p := range g.p.Pipelines {
		g.numbers.pipelines[p] = g.reserve()
	}
	for _, t := range g.p.Tools {
		g.out.Tools = append(g.out.Tools, g.tool(t))
	}
	g.callableFunctions()
	for _, p := range g.p.Pipelines {
		g.pipeline(g.numbers.pipelines[p], p)
		if p.Decl.Pub && !p.Info.Library {
			g.out.Pipelines = append(g.out.Pipelines, g.publicPipeline(p))
		}
	}
}

func (g *generator) agent(a *sema.Agent) ir.Agent {
	out := ir.Agent{Name: a.Name, Connection: a.Connection, Memory: -1,
		Model:  text(a.Fields["model"]),
		System: text(a.Fields["system_prompt"]),
		Sampling: ir.Sampling{
			Temperature: optFloat(a.Fields["temperature"]),
			TopP:        optFloat(a.Fields["top_p"]),
			MaxTokens:   optInt(a.Fields["max_tokens"]),
			Seed:        optInt(a.Fields["seed"]),
			Effort:      text(a.Fields["reasoning_effort"]),
		},
		Timeout:        float(a.Fields["timeout"]),
		MaxToolRounds:  integer(a.Fields["max_tool_rounds"]),
		MaxToolCalls:   integer(a.Fields["max_tool_calls"]),
		SchemaAttempts: integer(a.Fields["schema_attempts"]),
		Tools:          g.toolList(a.Fields["tools"]),
		AppTools:       appTools(a.Fields["app_tools"]),
	}
	for _, s := range list(a.Fields["stop_sequences"]) {
		out.Stop = append(out.Stop, text(s))
	}
	if s, ok := a.Fields["memory"].(*sema.Store); ok {
		out.Memory = g.numbers.stores[s]
	}
	for _, s := range a.Knowledge {
		out.Knowledge = append(out.Knowledge, g.numbers.stores[s])
	}
	at := a.Decl.Name.Sp.Start
	out.Decorator = g.decoratorsOf(a.Info, a.Name, at, a.Decorations, a.OnUnknown)
	if s := streamDecorations(a.Decorations); len(s) > 0 {
		out.Streamed = g.decoratorsOf(a.Info, a.Name, at, s, "")
	}
	if fn, ok := a.Fields["on_tool_error"].(*sema.Function); ok {
		n := g.adapter(fn)
		out.OnToolError = &n
	}
	if m, ok := a.Fields["retry_policy"].(*sema.ConstMap); ok {
		out.Retry = retryPolicy(m)
	}
	return out
}

// retryPolicy returns the retry policy in m. A key that m does not contain has its default.
func retryPolicy(m *sema.ConstMap) *ir.Retry {
	r := &ir.Retry{MaxAttempts: 3, Backoff: "exponential", InitialDelay: 1000, MaxDelay: 30000}
	for i, k := range m.Keys {
		switch v := m.Values[i]; strings.TrimSuffix(k, "_ms") {
		case "max_attempts":
			r.MaxAttempts = integer(v)
		case "backoff":
			r.Backoff = text(v)
		case "initial_delay":
			r.InitialDelay = integer(v)
		case "max_delay":
			r.MaxDelay = integer(v)
		}
	}
	return r
}

// decoratorsOf returns the index of the function that runs the calls of an agent or host inside its
// decorators, or nil without decorators. onUnknown is the policy for effects with an unknown
// outcome.
func (g *generator) decoratorsOf(info *sema.Info, name string, at source.Pos, ds []*sema.Decoration, onUnknown string) *int {
	if len(ds) == 0 && onUnknown == "" {
		return nil
	}
	n := g.decorators(info, name, at, ds, onUnknown)
	return &n
}

// streamDecorations returns the decorations that also apply to streams. It returns none if the
// program does not use streams.
func streamDecorations(ds []*sema.Decoration) []*sema.Decoration {
	var out []*sema.Decoration
	for _, d := range ds {
		if d.Stream != nil {
			out = append(out, &sema.Decoration{Name: d.Name, Fn: d.Stream, Args: d.Args, ModulePath: d.ModulePath, CachedType: d.CachedType})
		}
	}
	return out
}

func (g *generator) toolList(v any) []int {
	var out []int
	for _, x := range list(v) {
		if t, ok := x.(*sema.Tool); ok {
			out = append(out, g.numbers.tools[t])
		}
	}
	return out
}

// appTools returns the filters in the field `app_tools`, or nil if all tools are allowed.
func appTools(v any) *[]string {
	if v == nil || v == true {
		return nil
	}
	out := []string{}
	for _, x := range list(v) {
		out = append(out, text(x))
	}
	return &out
}

// These functions return the value of a constant field, or the zero value if the field is missing.

func list(v any) []any {
	xs, _ := v.([]any)
	return xs
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func integer(v any) int64 {
	n, _ := v.(int64)
	return n
}

func float(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	x, _ := v.(float64)
	return x
}

func optFloat(v any) *float64 {
	if v == nil {
		return nil
	}
	x := float(v)
	return &x
}

func optInt(v any) *int64 {
	if v == nil {
		return nil
	}
	n := integer(v)
	return &n
}
