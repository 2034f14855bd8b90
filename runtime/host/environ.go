package host

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// Inherited selects the variables of the run's environment that a host receives in addition to the
// variables that every process receives.
type Inherited struct {
	PassEnv []string `json:"pass_env"` // names, in which * matches any characters
	// Keys holds the names of variables that contain API keys of models, servers and other hosts.
	// Such a variable is passed on only if PassEnv contains its full name.
	Keys map[string]bool `json:"-"`
}

// buildEnviron returns the environment of the host's process number n. It consists of variables
// inherited from base, those of the vendor's protocol, the host's configured variables, and the
// process number. kept lists the
// names of variables in base that are not passed on.
func (c *Config) buildEnviron(base []string, n int) (env, kept []string) {
	env, kept = procgroup.Inherit{Pass: c.PassEnv, Keys: c.Keys}.Of(base)
	var own []string
	if f := c.protocol().Environ; f != nil {
		own = f(&c.Vendor)
	}
	for _, v := range own {
		if name, _, _ := strings.Cut(v, "="); c.Env[name] == "" {
			env = append(env, v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		env = append(env, name+"="+c.Env[name])
	}
	return append(env, procgroup.NumberVariable+"="+strconv.Itoa(n)), kept
}

// processEnviron returns the environment of process number n. For the host's first process it logs
// the variables that are not passed on.
func (h *Hosts) processEnviron(c *Config, n int) []string {
	env, inherited := c.buildEnviron(h.opts.Environ, n)
	if n == 1 && len(inherited) > 0 {
		h.logf("debug", c, "does not receive %s: to pass a variable on, list it in pass_env of [hosts.%s]", strings.Join(inherited, ", "), c.Connector)
	}
	if n == 1 && c.Bounds.process().Any() {
		h.logf("debug", c, "has its limits enforced by %s", procgroup.Means())
	}
	return env
}

// exportEnviron adds the variables with which a host exports its own telemetry, unless the manifest
// sets them.
func (h *Hosts) exportEnviron(c *Config, env []string) []string {
	wants := c.protocol().New != nil
	if c.Telemetry != nil {
		wants = *c.Telemetry
	}
	if h.opts.Exports == nil || !wants {
		return env
	}
	for _, v := range h.opts.Exports(c.Name, c.Transport) {
		if name, _, _ := strings.Cut(v, "="); c.Env[name] == "" {
			env = append(env, v)
		}
	}
	return env
}

// warnUnguarded logs, once in a run, that no guard process ends the hosts' child processes if this
// process is killed.
func (h *Hosts) warnUnguarded() {
	h.unguardedOnce.Do(func() {
		if why := h.opts.Run.Unguarded(); why != "" {
			h.opts.Log("debug", "if this process is killed, processes started by hosts may continue: "+why)
		}
	})
}
