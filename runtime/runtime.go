// Package runtime joins the performers into the one effect.Performer that a VM
// runs on: hosts, models, output, files, stores, HTTP, commands, clock, random
// numbers, environment and log; its API promises nothing. Each performs its
// kinds of request, within layers that apply to all.
//
// Its Config is plain data: it knows neither the VM nor the IR, and whoever runs
// a program translates them. Performers do not know one another. Close ends
// every subprocess and goroutine that a run has started, however the run ended.
package runtime

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/mcp"
	"github.com/concerto-lang/concerto/runtime/mock"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/clock"
	"github.com/concerto-lang/concerto/runtime/world/command"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/runtime/world/env"
	"github.com/concerto-lang/concerto/runtime/world/files"
	"github.com/concerto-lang/concerto/runtime/world/httpclient"
	"github.com/concerto-lang/concerto/runtime/world/logs"
	"github.com/concerto-lang/concerto/runtime/world/permit"
	"github.com/concerto-lang/concerto/runtime/world/random"
	"github.com/concerto-lang/concerto/runtime/world/sqlitestore"
)

// Config is what a run needs of the world and is allowed in it.
type Config struct {
	Parties
	// Executable is the file of the command concerto, "" for none. It watches over
	// the run's processes.
	Executable string
	// Emit says where output goes and who answers awaited emits. New sets its
	// Environ and Log.
	Emit emit.Options
	// Environ is the environment, as "NAME=value".
	Environ []string
	// Log is where log lines go; LogLevel is one of logs.Levels, "" for "info".
	Log      io.Writer
	LogLevel string
	Bounds   Bounds
	// Dir is the directory at which the relative paths in the program start; ""
	// is the working directory.
	Dir string
	// Stores says where the files of stores are.
	Stores sqlitestore.Options
	// Allowed is what the run's caller grants. Permissions is the program's own
	// [permissions], nil without the section; its relative paths start at Root.
	Allowed     permit.Grants
	Permissions *permit.Manifest
	Root        string
	// Seed makes the run's random numbers the same each time; nil means a random
	// seed.
	Seed *int64
	// Args are the program's arguments.
	Args []string
	// Session is what the application gives the run. New sets its ID.
	Session env.Session
	// Audit is where calls of tools are recorded; nil: nowhere.
	Audit *audit.Log
	// Hand is what the program's clocks and sleeps go by, and all time limits; nil: the system's clock.
	Hand      *clock.Hand
	Listeners Listeners
	// Layers go around everything, the first outermost.
	Layers []effect.Layer
}

// Standing is who has a run stand still, its time included: a debugger.
type Standing interface{ Hand() *clock.Hand }

// Bounds are what a run may use; 0 means anything.
type Bounds struct {
	// MaxTokens and MaxCost (in US dollars) bound what all models together use.
	MaxTokens int64
	MaxCost   float64
	// MaxMemory is what the program's values may take, in bytes.
	MaxMemory int
}

// Listeners are told what passes between the run and its models and hosts, from many
// goroutines; each may be nil.
type Listeners struct {
	// Heard is called for each event of a call of a model.
	Heard func(llm.Event)
	// Wire is called for each line that passes to or from a host; without secrets.
	Wire func(hosttrace.Line)
	// Logged is called for each line of the log that is of its level; without secrets.
	Logged func(level, message string)
}

// Runtime performs the effects of one run. Safe for concurrent use.
type Runtime struct {
	effect.Performer

	hosts *host.Hosts
	llm   *llm.Client
	sink  *emit.Sink
	log   *logs.Log
	files *files.Files
	web   *httpclient.Client
	store *sqlitestore.Stores
	mcp   *mcp.Servers
	tools tool.Performer
	audit *audit.Log
	// served counts the calls that the program does not make.
	served atomic.Int64
	world  tool.World // of the tools' handlers

	run     *procgroup.Run
	hand    *clock.Hand
	budget  *budget.Budget
	chance  *random.Source
	parties Parties
	hidden
	growing growing
}

// hidden is what is taken out of all that leaves the run.
type hidden struct {
	secrets *secret.Set
	redact  []*regexp.Regexp
}

// growing is what is needed when the program declares more while it runs.
type growing struct {
	policy *permit.Policy
	lookup func(string) (string, bool) // of the environment
}

// Hand is what the run's time goes by; nil: the system's clock.
func (r *Runtime) Hand() *clock.Hand { return r.hand }

// Hosts are the run's hosts.
func (r *Runtime) Hosts() *host.Hosts { return r.hosts }

// Servers are the run's MCP servers.
func (r *Runtime) Servers() *mcp.Servers { return r.mcp }

// New makes a Runtime. It starts no process and opens no connection.
func New(c Config) *Runtime {
	environment := env.New(c.Environ, c.Args)
	c.Connections = llm.WithRegion(c.Connections, environment.Lookup)
	policy := c.policy()
	r := &Runtime{hidden: hidden{c.secrets(environment.Lookup), c.Redact}, run: &procgroup.Run{ID: c.Session.ID, Executable: c.Executable, Kept: c.Process}, audit: c.Audit, hand: c.Hand}
	if r.run.ID == "" {
		r.run.ID = procgroup.NewID()
	}
	r.growing = growing{policy, environment.Lookup}
	environment.Secrets = r.secrets
	environment.Session = c.Session
	environment.Session.ID = r.run.ID
	r.tools.Own = func() (*tool.Session, error) { return r.ownTools(c.Session) }
	r.log = logs.New(c.Log, c.LogLevel, r.secrets)
	r.log.Heard = c.Listeners.Logged
	if !c.Emit.Detail.IsZero() {
		r.log.Records(c.Emit.Detail)
	}
	r.hosts = host.New(host.Options{Configs: c.Hosts, Environ: c.Environ, Run: r.run, Log: r.log.Host, Logf: r.log.Remark, MaxMemory: c.Bounds.MaxMemory, Keeper: c.Keeper, Clock: c.Hand, Trace: c.wire(environment.Lookup)})
	r.parties = c.Parties
	r.chance = random.New(c.Seed)
	r.budget = budget.NewBudget(c.Bounds.MaxTokens, c.Bounds.MaxCost)
	r.budget.Crossed = func(message string) { r.log.Remark("warn", message) }
	forTokens := command.New(command.Options{Environ: c.Environ, Run: r.run, Keys: c.all, Dir: c.Root, Hand: c.Hand})
	r.llm = llm.New(llm.Config{Connections: c.Connections, Output: printed(forTokens), Hand: c.Hand, Getenv: environment.Lookup, Meter: r.meter, Secrets: r.secrets, Heard: c.Listeners.Heard, Refused: policy.RefuseConnection})
	c.Emit.Environ, _ = procgroup.Inherit{Pass: c.Emit.PassEnv, Keys: c.all}.Of(c.Environ)
	c.Emit.Run = r.run
	c.Emit.Log = func(line string) { r.log.Host("emit-handler", line) }
	r.sink = emit.New(c.Emit)
	r.files = files.New(files.Options{Dir: c.Dir, Read: policy.Roots(permit.Read), Write: policy.Roots(permit.Write), Refused: func(write bool, path string) string {
		if write {
			return policy.Refuse(permit.Write, path, false)
		}
		return policy.Refuse(permit.Read, path, false)
	}})
	r.web = httpclient.New(func(address string) string { return policy.Refuse(permit.Net, address, false) }, c.Hand)
	r.store = sqlitestore.New(c.Stores)
	r.mcp = mcp.New(mcp.Options{Configs: c.Servers, Environ: c.Environ, Run: r.run, Log: r.log.Host, Remark: r.log.Remark, Played: c.Played, Hand: c.Hand,
		Refused: func(address string) string { return policy.Refuse(permit.Net, address, true) }})
	r.world = r.around(&c, policy)
	areas := r.areas(&c, policy, environment)
	performers := router{}
	for _, row := range effect.Table() {
		performers[row.Kind] = policy.Guard(row.Kind, areas[row.By])
	}
	r.Performer = performers
	for i := len(c.Layers) - 1; i >= 0; i-- {
		r.Performer = c.Layers[i](r.Performer)
	}
	r.Performer = &clean{next: r.Performer, secrets: r.secrets, log: r.log}
	return r
}

// areas are those who perform: a row of the table of effects says which.
func (r *Runtime) areas(c *Config, policy *permit.Policy, environment *env.Environment) [effect.Areas]effect.Performer {
	return [effect.Areas]effect.Performer{
		effect.Unheard: nothing, effect.Output: r.sink, effect.Logs: r.log, effect.Models: contain(r.llm), effect.Hosts: contain(&telling{r.hosts, &r.tools}), effect.Servers: contain(r.mcp),
		effect.Environment: environment, effect.Clocks: clock.New(c.Hand), effect.Timers: clock.NewSleeper(c.Hand), effect.Chance: r.chance,
		effect.Files: r.files, effect.Stores: r.store, effect.Web: r.web, effect.Tests: mock.Outside,
		effect.Applications: contain(&r.tools),
		effect.Commands:     command.New(command.Options{Environ: c.Environ, Run: r.run, EnvAllowed: policy.Environment(), Keys: c.all, Dir: c.Dir, Hand: c.Hand}),
	}
}

// policy is what the run may touch.
func (c *Config) policy() *permit.Policy {
	p := permit.Config{Caller: c.Allowed, Manifest: c.Permissions, Dir: c.Dir, Root: c.Root, StoresInMemory: c.Stores.InMemory,
		Hosts: map[string]string{}, Connections: map[string]permit.Reach{}, Servers: map[string]permit.Reach{}}
	for _, h := range c.Hosts {
		p.Hosts[h.Name] = h.Connector
	}
	for _, x := range c.Connections {
		reach := permit.Reach{Address: x.Address()}
		if reach.Address != "" {
			reach.Env = x.KeyVariables()
		}
		for _, variable := range x.HeadersEnv {
			reach.Env = append(reach.Env, variable)
		}
		slices.Sort(reach.Env)
		p.Connections[x.Name] = reach
	}
	for _, s := range c.Servers {
		p.Servers[s.Name] = reachOf(&s)
	}
	return permit.New(p)
}

// reachOf is what an MCP server needs.
func reachOf(s *mcp.Config) permit.Reach {
	if s.Transport != "http" {
		return permit.Reach{Command: s.Command}
	}
	r := permit.Reach{Address: s.URL}
	for _, variable := range s.HeadersEnv {
		r.Env = append(r.Env, variable)
	}
	slices.Sort(r.Env)
	return r
}

// meter holds the models to the run's budget.
func (r *Runtime) meter(ctx context.Context, m llm.Metered) (granted int64, settle func(in, out int64, answered bool), err error) {
	call := budget.Call{Connection: m.Connection, Model: m.Model, In: m.In, Out: m.Out}
	if m.Price != nil {
		call.Priced, call.Input, call.Output = true, m.Price.Input, m.Price.Output
	}
	return r.budget.Reserve(ctx, call)
}

// Remark writes a line to the run's log.
func (r *Runtime) Remark(level, line string) { r.log.Remark(level, line) }

// Unkeyed is the error message for the first key that was missing when a model
// was asked; "" when none was missing.
func (r *Runtime) Unkeyed() string { return r.llm.Unkeyed() }

// Used counts calls of a model that earlier processes of the run have made, with their tokens: those
// reported, or, when nobody knows whether they were answered, those that they may have used at most.
func (r *Runtime) Used(connection, model string, calls, in, out int64, answered bool) {
	r.parties.charge(r.budget, connection, model, calls, in, out, answered)
}

// Most is how many tokens a call may use, at most.
func (r *Runtime) Most(q *effect.AgentCall) (in, out int64) {
	out = budget.OpenReply
	if q.MaxTokens != nil && *q.MaxTokens > 0 {
		out = *q.MaxTokens
	}
	return llm.PromptTokens(q), out
}

// RandomState is where the stream of the run's random numbers stands; SetRandomState goes on from
// there.
func (r *Runtime) RandomState() []byte { return r.chance.State() }

// SetRandomState has the run's random numbers go on from a RandomState.
func (r *Runtime) SetRandomState(b []byte) error { return r.chance.SetState(b) }

// Usage gives what the run's models have been used for so far, each and all.
func (r *Runtime) Usage() (each []budget.Usage, all budget.Usage) { return r.budget.Usage() }

// Start begins q when its performer can and all layers allow it; see
// effect.Starter.
func (r *Runtime) Start(ctx context.Context, q effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	if s, can := r.Performer.(effect.Starter); can {
		return s.Start(ctx, q, done)
	}
	return nil, false
}

// FlushOutput returns when all that was put out is written, or ctx ends.
func (r *Runtime) FlushOutput(ctx context.Context) error { return r.sink.Flush(ctx) }

// OutputProgress returns how many bytes were put out so far, and how many of them are written.
func (r *Runtime) OutputProgress() (added, written int64) { return r.sink.Progress() }

// Kill ends the hosts at once. Requests to them that are under way fail. Close
// must still be called.
func (r *Runtime) Kill() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	// What they leave undone is no error: they were not given the time.
	_ = r.hosts.Close(ctx)
}

// Close ends hosts and handlers, writes the rest of the output, removes the
// temporary directory, and closes connections. When ctx ends first, whatever
// still runs is killed. The error is that of the output, or says what could not
// be finished. In every case nothing runs afterwards.
func (r *Runtime) Close(ctx context.Context) error {
	r.mcp.Close(ctx)
	err := errors.Join(r.hosts.Close(ctx), r.tools.Close())
	err = errors.Join(r.sink.Close(ctx), err)
	r.run.End()
	r.llm.Close()
	r.web.Close()
	return errors.Join(err, r.store.Close(), r.files.Close())
}
