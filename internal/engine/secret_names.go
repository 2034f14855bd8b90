package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/runconf"
)

// OrphanTimeout returns the setting [run] orphan_timeout of the program.
func (p *Program) OrphanTimeout() (time.Duration, error) {
	conf, err := runconf.Read(p.ir.Run)
	return time.Duration(conf.OrphanTimeout * float64(time.Second)), err
}

// SecretNames returns the names of the environment variables that contain the secrets of the
// program, sorted. With mock, all models are replaced, so that their keys are not needed.
func (p *Program) SecretNames(mock bool) ([]string, error) {
	all, err := p.parties("")
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, name := range all.Secrets {
		names[name] = true
	}
	for i := range all.Connections {
		c := &all.Connections[i]
		if mock {
			break
		}
		if c.APIKeyEnv != "" {
			names[c.APIKeyEnv] = true
		}
		for _, name := range c.HeadersEnv {
			names[name] = true
		}
	}
	for i := range all.Hosts {
		for _, x := range all.Hosts[i].ParamsEnv {
			names[x.Env] = true
		}
	}
	for i := range all.Servers {
		for _, name := range all.Servers[i].Variables() {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}
