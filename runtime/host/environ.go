package host

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// Inherited says what a host gets of the run's environment beyond what every
// process gets.
type Inherited struct {
	PassEnv []string `json:"pass_env"` // names; * in one stands for any characters
	// Keys are variables that hold keys of others: models, servers and other hosts.
	// Only a PassEnv that names one in full passes it.
	Keys map[string]bool `json:"-"`
}

// procNumber is the variable that tells a process the how-manieth of its host it is.
const procNumber = "CONCERTO_PROC"

// environ is the environment of a host's process number n: what it inherits of
// base, the host's own, and its number. kept are the names of base that it does not
// get.
func (c *Config) environ(base []string, n int) (env, kept []string) {
	env, kept = procgroup.Inherit{Pass: c.PassEnv, Keys: c.Keys}.Of(base)
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		env = append(env, name+"="+c.Env[name])
	}
	return append(env, procNumber+"="+strconv.Itoa(n)), kept
}

// environ is Config's of a process that is started in the run, which says for the
// first of a host what is kept back.
func (h *Hosts) environ(c *Config, n int) []string {
	env, kept := c.environ(h.opts.Environ, n)
	if n == 1 && len(kept) > 0 {
		h.remark("debug", c, "does not get %s: pass_env in [hosts.%s] passes a variable on", strings.Join(kept, ", "), c.Connector)
	}
	if n == 1 && c.Limits.Any() {
		h.remark("debug", c, "is held to its limits by %s", procgroup.Means())
	}
	return env
}

// guarded says, once in a run, when nobody ends what hosts have started should this
// process be killed.
func (h *Hosts) guarded() {
	h.unguarded.Do(func() {
		if why := h.opts.Run.Unguarded(); why != "" {
			h.opts.Remark("debug", "when this process is killed, what hosts have started may go on: "+why)
		}
	})
}
