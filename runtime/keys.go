package runtime

import (
	"github.com/concerto-lang/concerto/internal/secret"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/mcp"
)

// Parties are those that a program talks to.
type Parties struct {
	Hosts       []host.Config
	Connections []llm.Connection
	Servers     []mcp.Config
	Played      bool // all models are played
	Test        bool // the run is a test, which calls no tool of the application's that reaches outside

	all map[string]bool // the variables that hold keys
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
		if x := &c.Connections[i]; x.APIKeyEnv != "" {
			each(owner{connections, x.Name}, x.APIKeyEnv)
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
