package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/hostbudget"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/mock"
	"github.com/concerto-lang/concerto/runtime/world/clock"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/runtime/world/env"
	"github.com/concerto-lang/concerto/runtime/world/files"
	"github.com/concerto-lang/concerto/runtime/world/logs"
	"github.com/concerto-lang/concerto/runtime/world/permit"
	"github.com/concerto-lang/concerto/runtime/world/random"
)

// world performs the effects of one run.
type world struct {
	effect.Performer
	id      string
	secrets *secret.Set
	sink    *emit.Sink
	models  *llm.Client
	hosts   *host.Hosts
	files   *files.Files
}

// newWorld returns the performers of a run.
func (o *Options) newWorld(p *ir.Program) (*world, error) {
	w := &world{id: procgroup.NewID(), secrets: &secret.Set{}}
	environment := env.New(o.Environ, o.Args)
	environment.Secrets = w.secrets
	environment.Session = env.Session{ID: w.id, Cwd: o.Dir, Inputs: o.Inputs}
	connections, err := o.connections(p)
	if err != nil {
		return nil, err
	}
	keys := o.keys(connections)
	lookup := func(name string) (string, bool) {
		if key, ok := keys[name]; ok {
			return key, true
		}
		return environment.Lookup(name)
	}
	w.secrets.Add("the provider's key", o.Key)
	hosts, err := o.hostConfigs(p)
	if err != nil {
		return nil, err
	}
	log := logs.New(o.Err, "info", w.secrets)
	policy := o.policy(p, connections, hosts)
	spending := budget.NewBudget(p.Limits.MaxTokens, p.Limits.MaxCostUSD)
	for i := range hosts {
		hostbudget.AddHost(spending, &hosts[i])
	}
	spending.Crossed = func(message string) { log.Remark("warn", message) }
	event := o.Event
	if event == nil {
		event = func(line string) { fmt.Fprintln(o.Err, line) }
	}
	w.sink = emit.New(emit.Options{Mode: o.Mode, Out: o.Out, Events: func(_, line string) { event(line) }, Answers: o.Answers, Prompter: o.Prompter, Stdin: o.Stdin})
	w.models = llm.New(llm.Config{Connections: connections, Getenv: lookup, Secrets: w.secrets, Refused: o.refuseConnection(policy, connections),
		Meter: func(ctx context.Context, m llm.Metered) (int64, func(models.Spent), error) {
			return spending.Reserve(ctx, budget.Call(m))
		},
		Output: func(context.Context, []string) (string, error) {
			o.Notice(noCommands)
			return "", errors.New(noCommands)
		}})
	w.hosts = host.New(host.Options{Configs: hosts, Environ: o.Environ, Stderr: log.Host, Log: log.Remark, MaxMemory: int(p.Limits.MaxMemoryMB) << 20,
		Transports: o.transports(), Budget: hostbudget.Budget{Budget: spending, Cost: costOf(hosts)}, Trace: func(hosttrace.Line) {}})
	w.files = files.New(files.Options{Dir: o.Dir, Read: policy.Roots(permit.Read), Write: policy.Roots(permit.Write), Refused: func(write bool, path string) string {
		if write {
			return policy.Refuse(permit.Write, path, false)
		}
		return policy.Refuse(permit.Read, path, false)
	}})
	areas := [effect.Areas]effect.Performer{
		effect.ObserversOnly: effect.Nothing, effect.Output: observed{w.sink, o.OnEmit}, effect.Logs: log, effect.Models: w.models, effect.Hosts: w.hosts,
		effect.Servers: refuse(o.Notice, noServer), effect.Environment: environment, effect.Clocks: clock.New(nil), effect.Timers: clock.NewSleeper(nil),
		effect.Chance: random.New(nil), effect.Files: w.files, effect.Stores: newCaches(), effect.Web: refuse(o.Notice, noRequest),
		effect.Tests: mock.Outside, effect.Applications: &declaredTools{tools: p.AppTools, notice: o.Notice}, effect.Merges: refuse(o.Notice, noWorkspace),
		effect.Workspaces: refuse(o.Notice, noWorkspace), effect.Commands: refuse(o.Notice, noCommand),
	}
	performers := effect.Router{}
	for _, row := range effect.Table() {
		performers[row.Kind] = areas[row.By]
		if !slices.Contains(refusedAreas, row.By) {
			performers[row.Kind] = policy.Guard(row.Kind, areas[row.By])
		}
	}
	w.Performer = performers
	return w, nil
}

// refusedAreas are the areas that a page does not have, whatever the permissions are.
var refusedAreas = []effect.Area{effect.Servers, effect.Web, effect.Merges, effect.Workspaces, effect.Commands}

// close ends the hosts and writes the remaining output.
func (w *world) close(ctx context.Context) error {
	err := w.hosts.Close(ctx)
	err = errors.Join(w.sink.Close(ctx), err)
	w.models.Close()
	return errors.Join(err, w.files.Close())
}

// transports returns the table of transports, in which all hosts are played.
func (o *Options) transports() map[string]host.Transport {
	s := &stage{actor: o.Actor, trace: o.Trace, started: map[string]int{}, script: func(connector string) (string, bool) {
		text, err := os.ReadFile(filepath.Join(o.Dir, connector+ScriptExt))
		return string(text), err == nil
	}}
	return map[string]host.Transport{"stdio": s}
}

// hostConfigs returns the configurations of the hosts. Vendors' agents are played with the
// protocol of Concerto.
func (o *Options) hostConfigs(p *ir.Program) ([]host.Config, error) {
	var all []host.Config
	for _, x := range p.Hosts {
		c, err := host.ParseConfig(x.Name, x.Connector, x.Params, x.Config, o.Dir)
		if err != nil {
			return nil, err
		}
		c.Transport, c.Access.Sandbox = "", nil
		all = append(all, c)
	}
	return all, nil
}

// costOf returns the function that computes the cost of an exchange from the prices of its host.
func costOf(hosts []host.Config) func(name string, used *effect.HostUsage) int64 {
	return func(name string, used *effect.HostUsage) int64 {
		var prices *effect.Prices
		if i := slices.IndexFunc(hosts, func(h host.Config) bool { return h.Name == name }); i >= 0 {
			prices = hosts[i].Bounds.Prices
		}
		return used.Picodollars(prices)
	}
}

// policy returns the policy that decides which resources the run may use.
func (o *Options) policy(p *ir.Program, connections []llm.Connection, hosts []host.Config) *permit.Policy {
	c := permit.Config{Dir: o.Dir, Root: o.Dir, StoresInMemory: true, Hosts: map[string]string{}, Connections: map[string]permit.Reach{}, Servers: map[string]permit.Reach{}}
	if granted := p.Permissions; granted != nil {
		c.Manifest = &permit.Manifest{FS: granted.FS, Env: granted.Env, Net: granted.Net, Run: granted.Run, Open: granted.Open}
	}
	for _, h := range hosts {
		c.Hosts[h.Name] = h.Connector
	}
	for _, x := range connections {
		reach := permit.Reach{Address: x.Address()}
		if reach.Address != "" {
			reach.Env = x.KeyVariables()
		}
		c.Connections[x.Name] = reach
	}
	for _, s := range p.Servers {
		c.Servers[s.Name] = permit.Reach{}
	}
	c.Workspaces.OfMerge = func(*effect.MergeOpen) []string { return nil }
	return permit.New(c)
}
