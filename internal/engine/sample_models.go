package engine

import (
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/llm"
)

// Samples call models by full names, which change whenever another model would be called, so that
// tapes and judges of the previous model are not used. The full name of an alias is that of its
// model. With fallbacks, or if it is an alias, too, it is a new alias such as `fast (m1, backup:
// m2)` that selects the same models.

// withFullNames returns a copy of connections in which all full names can be called.
func withFullNames(connections []llm.Connection) []llm.Connection {
	out := slices.Clone(connections)
	for i := range out {
		out[i].Models = maps.Clone(out[i].Models)
	}
	for i := range connections {
		c := &connections[i]
		for alias := range c.Models {
			name := fullModel(connections, c.Name, alias)
			if name == c.Models[alias] {
				continue
			}
			out[i].Models[name] = c.Models[alias]
			for j := range connections {
				if model, selects := selected(&connections[j], alias); selects && slices.Contains(c.Fallback, connections[j].Name) {
					if out[j].Models == nil {
						out[j].Models = map[string]string{}
					}
					out[j].Models[name] = model
				}
			}
		}
	}
	return out
}

// selected returns the model that a fallback uses for an alias of another connection. selects is
// false if it uses its default model.
func selected(fallback *llm.Connection, alias string) (model string, selects bool) {
	model, selects = fallback.Models[alias]
	if !selects && fallback.DefaultModel == "" {
		return alias, true
	}
	return model, selects
}

// connectionOf returns the connection with a name, or nil.
func connectionOf(connections []llm.Connection, name string) *llm.Connection {
	i := slices.IndexFunc(connections, func(c llm.Connection) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &connections[i]
}

// fullModel returns the full name of a model of a connection; "" means the connection's default.
func fullModel(connections []llm.Connection, connection, model string) string {
	c := connectionOf(connections, connection)
	if c == nil {
		return model
	}
	if model == "" {
		model = c.DefaultModel
	}
	full, isAlias := c.Models[model]
	if !isAlias {
		return model
	}
	if _, again := c.Models[full]; !again && len(c.Fallback) == 0 {
		return full
	}
	name := model + " (" + full
	for _, f := range c.Fallback {
		if to := connectionOf(connections, f); to != nil {
			if other, selects := selected(to, model); selects {
				name += ", " + f + ": " + other
			}
		}
	}
	return name + ")"
}

// withModels returns a copy of a program whose agents have the full names of their models.
func withModels(p *ir.Program, connections []llm.Connection) *ir.Program {
	out := *p
	out.Agents = slices.Clone(p.Agents)
	for i := range out.Agents {
		a := &out.Agents[i]
		a.Model = fullModel(connections, a.Connection, a.Model)
	}
	return &out
}

// HasCalled reports whether a sample has called an agent, other than as a judge.
func (s *Sampler) HasCalled(agent string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.called[agent]
}

// changeModel replaces the model of a call that no judge makes.
func (s *Sampler) changeModel(r effect.Request, changes []ModelChange) {
	q, ok := r.(*effect.AgentCall)
	if open, isStream := r.(*effect.StreamOpen); isStream {
		q, ok = &open.AgentCall, true
	}
	if !ok || q.Judge != "" {
		return
	}
	s.mu.Lock()
	s.called[q.Agent] = true
	s.mu.Unlock()
	for _, c := range changes {
		if c.Agent == "" || c.Agent == q.Agent {
			if c.Connection != "" {
				q.Connection = c.Connection
			}
			q.Model = fullModel(s.config.Connections, q.Connection, c.Model)
		}
	}
}
