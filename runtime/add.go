package runtime

import (
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/hostbudget"
)

// AddHost registers a host that was declared after the run began. It replaces a host with the same
// name. No task of the program may be running.
func (r *Runtime) AddHost(c host.Config) {
	for i := range r.parties.Hosts {
		if r.parties.Hosts[i].Name == c.Name {
			r.parties.Hosts = append(r.parties.Hosts[:i:i], r.parties.Hosts[i+1:]...)
			break
		}
	}
	r.parties.Hosts = append(r.parties.Hosts, c)
	r.parties.GuardKeys()
	c = r.parties.Hosts[len(r.parties.Hosts)-1]
	for _, p := range c.ParamsEnv {
		value, _ := r.growing.lookup(p.Env)
		r.secrets.Add(p.Env, value)
	}
	r.growing.policy.AddHost(c.Name, c.Connector)
	hostbudget.AddHost(r.budget, &c)
	r.hosts.Add(c)
}
