package world

import (
	"net/url"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// connections returns the connections to models. Scripted connections stay as they are. In a run
// with --mock the others become scripted, and without a provider the user answers.
func (o *Options) connections(p *ir.Program) ([]llm.Connection, error) {
	var all []llm.Connection
	declared := map[string]bool{}
	for _, x := range p.Connections {
		c, err := llm.ParseConnection(x.Name, x.Config)
		if err != nil {
			return nil, err
		}
		declared[c.Name] = true
		if c.Provider != scriptedProvider && (o.Mock || o.ByHand != nil) {
			c = llm.Connection{Name: c.Name, Provider: scriptedProvider, DefaultModel: c.DefaultModel, Models: c.Models, Origin: c.Origin, Function: o.ByHand}
		}
		all = append(all, c)
	}
	for i := range p.Agents {
		if name := p.Agents[i].Connection; !declared[name] && name != llm.Builtin {
			declared[name] = true
			all = append(all, llm.Connection{Name: name, Provider: scriptedProvider, Function: o.ByHand})
		}
	}
	return all, nil
}

const scriptedProvider = "scripted"

// providers are those whose servers answer pages, with the host of the server and the prefix of
// keys. The content security policy of the page has the same list.
var providers = []struct{ name, host, prefix string }{
	{"anthropic", "api.anthropic.com", "sk-ant-"},
	{"gemini", "generativelanguage.googleapis.com", "AIza"},
	{"openai", "api.openai.com", ""},
}

// keys returns the user's key by the variables of the connections that receive it: those of the
// provider that the key belongs to. If all connections have one provider, the key belongs to it.
func (o *Options) keys(connections []llm.Connection) map[string]string {
	if o.Key == "" {
		return nil
	}
	var used []string
	for i := range connections {
		if c := &connections[i]; c.Provider != scriptedProvider && !slices.Contains(used, c.Provider) {
			used = append(used, c.Provider)
		}
	}
	owner := ""
	if len(used) == 1 {
		owner = used[0]
	}
	for _, p := range providers {
		if owner == "" && strings.HasPrefix(o.Key, p.prefix) {
			owner = p.name
		}
	}
	out := map[string]string{}
	for i := range connections {
		if c := &connections[i]; c.Provider == owner && c.APIKeyEnv != "" {
			out[c.APIKeyEnv] = o.Key
		}
	}
	return out
}

// otherServer is the reason why a connection to another server is refused.
const otherServer = noNetwork + ", except to OpenAI, Anthropic, Gemini and servers on this machine"

// refuseConnection returns the function that returns the reason why a connection must not be used,
// or "".
func (o *Options) refuseConnection(policy *permit.Policy, connections []llm.Connection) func(name string) string {
	return func(name string) string {
		if why := policy.RefuseConnection(name); why != "" {
			return why
		}
		i := slices.IndexFunc(connections, func(c llm.Connection) bool { return c.Name == name })
		if i < 0 || connections[i].Address() == "" || isReachable(connections[i].Address()) {
			return ""
		}
		o.Notice(noNetwork)
		return otherServer
	}
}

// isReachable reports whether a page may send requests to an address.
func isReachable(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if host := u.Hostname(); u.Scheme == "http" && (host == "localhost" || host == "127.0.0.1") {
		return true
	}
	for _, p := range providers {
		if u.Scheme == "https" && u.Host == p.host {
			return true
		}
	}
	return false
}
