package runtime

import (
	"regexp"

	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/mcp"
)

// Parties are those that a program talks to.
type Parties struct {
	Hosts []host.Config
	// Process names this process among those that go on with a durable run one after the other; "" in another run.
	Process     string
	Keeper      *keeper.Client // that keeps their processes, in a durable run; nil: they end with this one
	Connections []llm.Connection
	Servers     []mcp.Config
	Secrets     []string         // variables that the program's manifest calls secret
	Redact      []*regexp.Regexp // what else no tape holds
	Played      bool             // all models are played
	Test        bool             // the run is a test, which calls no tool of the application's that reaches outside
	Reach       bool             // the test is recorded, and calls them all the same

	all map[string]bool // the variables that hold keys
}

// price is what a connection's model costs; nil when that is not known.
func (c *Parties) price(connection, model string) *llm.Price {
	for i := range c.Connections {
		if x := &c.Connections[i]; x.Name == connection {
			return x.Price(model)
		}
	}
	return nil
}

// Cost is what a call of a connection's model has cost, in US dollars; 0 without a price.
func (c *Parties) Cost(connection, model string, in, out int64) float64 {
	p := c.price(connection, model)
	if p == nil {
		return 0
	}
	return budget.Cost(p.Input, p.Output, in, out).USD()
}

// charge counts calls of a model that earlier processes of the run have made. in and out are
// tokens: those reported, or, when answered is false, an estimate and a bound.
func (c *Parties) charge(b *budget.Budget, connection, model string, calls, in, out int64, answered bool) {
	call := budget.Call{Connection: connection, Model: model, In: in, Out: out}
	if p := c.price(connection, model); p != nil {
		call.Priced, call.Input, call.Output = true, p.Input, p.Output
	}
	b.Charge(call, calls, in, out, answered)
}

// The variables that hold keys are those that the configuration names as such.
// Their values are the run's secrets, and no process inherits the key of another.

// owner is who names a variable that holds a key.
type owner struct {
	section, name string // as in the manifest: "hosts", "coder"
}

const (
	connections = "connections"
	hosts       = "hosts"
	servers     = "mcp"
)

// keys calls each with every variable that holds a key, and whose it is.
func (c *Parties) keys(each func(by owner, variable string)) {
	for i := range c.Connections {
		for _, variable := range c.Connections[i].KeyVariables() {
			each(owner{connections, c.Connections[i].Name}, variable)
		}
	}
	for i := range c.Hosts {
		for _, p := range c.Hosts[i].ParamsEnv {
			each(owner{hosts, c.Hosts[i].Connector}, p.Env)
		}
	}
	for i := range c.Servers {
		for _, variable := range c.Servers[i].HeadersEnv {
			each(owner{servers, c.Servers[i].Name}, variable)
		}
	}
}

// KeepKeys tells each host and server which variables hold keys of others, and keeps
// all for the rest. A mocked run's connections have none, so it is called before they
// are replaced.
func (c *Parties) KeepKeys() {
	c.all = c.keysBut(owner{})
	for i := range c.Servers {
		s := &c.Servers[i]
		s.Keys = c.keysBut(owner{servers, s.Name})
	}
	for i := range c.Hosts {
		h := &c.Hosts[i]
		h.Keys = c.keysBut(owner{hosts, h.Connector})
	}
}

// keysBut are the variables that hold keys of others than one.
func (c *Parties) keysBut(one owner) map[string]bool {
	var out map[string]bool
	c.keys(func(by owner, variable string) {
		if by == one {
			return
		}
		if out == nil {
			out = map[string]bool{}
		}
		out[variable] = true
	})
	return out
}

// secrets are the values of the variables that hold keys. Package env adds those
// that the program reads under names that suggest a secret.
func (c *Parties) secrets(lookup func(string) (string, bool)) *secret.Set {
	known := &secret.Set{}
	for _, name := range c.Secrets {
		value, _ := lookup(name)
		known.Add(name, value)
	}
	c.keys(func(by owner, variable string) {
		value, _ := lookup(variable)
		if by.section == servers {
			known.AddHeader(variable, value)
		} else {
			known.Add(variable, value)
		}
	})
	return known
}
