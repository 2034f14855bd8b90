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

// Parties are the services that a program uses.
type Parties struct {
	Hosts []host.Config
	// Process is the name of this process among those that continue a durable run; "" in other
	// runs.
	Process string
	// runs the processes of a durable run; nil means that they end with this process
	Keeper      *keeper.Client
	Connections []llm.Connection
	Servers     []mcp.Config
	Secrets     []string         // variables that the manifest declares secret
	Redact      []*regexp.Regexp // further patterns that no tape may contain
	Played      bool             // all models are replayed
	Test        bool             // the run is a test, which calls no tool of the application that reaches outside
	Reach       bool             // the test is being recorded, and does call them

	all map[string]bool // variables that contain keys
}

// price returns the price of a connection's model, or nil if unknown.
func (c *Parties) price(connection, model string) *llm.Price {
	for i := range c.Connections {
		if x := &c.Connections[i]; x.Name == connection {
			return x.Price(model)
		}
	}
	return nil
}

// Cost returns the cost of a call in US dollars, or 0 without a price.
func (c *Parties) Cost(connection, model string, in, out int64) float64 {
	p := c.price(connection, model)
	if p == nil {
		return 0
	}
	return budget.Cost(p.Input, p.Output, in, out).USD()
}

// charge counts calls of a model by earlier processes of the run. in and out are the reported
// tokens or, if answered is false, an estimate and a limit.
func (c *Parties) charge(b *budget.Budget, connection, model string, calls, in, out int64, answered bool) {
	call := budget.Call{Connection: connection, Model: model, In: in, Out: out}
	if p := c.price(connection, model); p != nil {
		call.Priced, call.Input, call.Output = true, p.Input, p.Output
	}
	b.Charge(call, calls, in, out, answered)
}

// The variables that contain keys are those that the configuration declares as such. Their values
// are secrets of the run, and no process inherits another's key.

// owner is the part of the configuration that names a variable with a key.
type owner struct {
	section, name string // as in the manifest: "hosts", "coder"
}

const (
	connections = "connections"
	hosts       = "hosts"
	servers     = "mcp"
)

// keys calls each with every variable that contains a key, and its owner.
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

// GuardKeys passes to each host and server the variables that contain others' keys. A mocked run's
// connections have none, so it must be called before they are replaced.
func (c *Parties) GuardKeys() {
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

// keysBut returns the variables that contain the keys of all owners but one.
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

// secrets returns the values of the variables that contain keys. Package env adds variables that
// the program reads whose names suggest a secret.
func (c *Parties) secrets(lookup func(string) (string, bool)) *secret.Set {
	secrets := &secret.Set{}
	for _, name := range c.Secrets {
		value, _ := lookup(name)
		secrets.Add(name, value)
	}
	c.keys(func(by owner, variable string) {
		value, _ := lookup(variable)
		if by.section == servers {
			secrets.AddHeader(variable, value)
		} else {
			secrets.Add(variable, value)
		}
	})
	return secrets
}
