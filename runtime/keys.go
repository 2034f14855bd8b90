package runtime

import (
	"regexp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// Parties are the services that a program uses.
type Parties struct {
	Hosts []host.Config
	// Process is the name of this process among those that have executed a run with the same ID: a
	// durable run, a sample or a test; "" in other runs.
	Process string
	// runs the hosts' processes of a durable run; nil means that they end with this process
	Keeper      *keeper.Client
	Connections []llm.Connection
	Servers     []mcpport.Config
	Secrets     []string         // names of variables that the manifest declares as secret
	Redact      []*regexp.Regexp // additional patterns that recordings must not contain
	Played      bool             // all models are replayed
	Test        bool             // the run is a test, in which tools of the application with effects outside the process are not called
	Reach       bool             // the test is being recorded, so that such tools are called

	all map[string]bool // names of all variables that contain keys
}

// connection returns a connection. One that the manifest does not contain has only its name.
func (c *Parties) connection(name string) *llm.Connection {
	for i := range c.Connections {
		if x := &c.Connections[i]; x.Name == name {
			return x
		}
	}
	if name == llm.Builtin {
		return &llm.Connection{Name: name, Provider: models.Scripted}
	}
	return &llm.Connection{Name: name}
}

// Cost returns the cost of a recorded reply in units of 10⁻¹² US dollars. ok is false if it is
// unknown.
func (c *Parties) Cost(r *effect.AgentReply) (cost int64, ok bool) {
	return c.connection(r.Provider).CostOf(r)
}

// The configuration declares which variables contain keys. Their values are secrets of the run, and
// no process inherits the key of another service.

// owner is the section of the manifest that names a variable with a key.
type owner struct {
	section, name string // section and name in the manifest, like "hosts" and "coder"
}

const (
	connections = "connections"
	hosts       = "hosts"
	servers     = "mcp"
)

// keys calls each with every variable that contains a key and with the owner of the variable.
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
		for _, variable := range c.Servers[i].Variables() {
			each(owner{servers, c.Servers[i].Name}, variable)
		}
	}
}

// GuardKeys sets, for each host and server, the variables that contain the keys of others. It must
// be called before connections are replaced by mocks, because mocks name no keys.
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

// keysBut returns the variables that contain the keys of all owners except one.
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

// secrets returns the values of the variables that contain keys. Package env later adds variables
// that the program reads and whose names suggest a secret.
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
