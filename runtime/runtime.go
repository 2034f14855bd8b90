// Package runtime combines the performers of a run into one effect.Performer, which the VM uses:
// hosts, models, output, files, stores, HTTP, commands, clock, random numbers, environment and log.
// Each performer performs certain kinds of requests. Layers around the performers apply to all
// kinds.
//
// Config is plain data: the package imports neither the VM nor the IR, so callers translate their
// data. Performers do not import each other. Close ends every subprocess and goroutine that a run
// has started, however the run ended.
package runtime

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/budget/spent"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/hostsandbox"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
	"github.com/concerto-lang/concerto/runtime/merge"
	"github.com/concerto-lang/concerto/runtime/mock"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/workspace"
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

// Config contains the configuration of a run and its permissions.
type Config struct {
	Parties
	// Executable is the path of the concerto program, which guards the processes of the run; ""
	// means that they are not guarded.
	Executable string
	// Emit configures the output and the answers to awaited emits. New sets its Environ and Log.
	Emit emit.Options
	// Environ is the environment of the run, as "NAME=value".
	Environ []string
	// Log receives the log lines. LogLevel is one of logs.Levels; "" means "info".
	Log      io.Writer
	LogLevel string
	Bounds   Bounds
	// Dir is the directory for the program's relative paths; "" means the working directory.
	Dir string
	// Stores configures the files of stores.
	Stores sqlitestore.Options
	// Allowed contains the permissions of the run. Relative paths in those of the manifest start at
	// Root.
	Allowed Allowed
	Root    string
	// Seed makes the run's random numbers reproducible; nil means a random seed.
	Seed       *int64
	Workspaces Workspaces
	// Args are the program's arguments.
	Args []string
	// Session contains the data of the application for the run. New sets the ID.
	Session env.Session
	// Audit records calls of tools; nil records nothing.
	Audit *audit.Log
	// Clock is used for the program's times and sleeps and for all time limits; nil means the
	// system's clock.
	Clock     *clock.PausableClock
	Listeners Listeners
	// Layers are wrapped around all performers. The first layer is the outermost.
	Layers []effect.Layer
	// Shared is shared with other runtimes; nil means that nothing is shared.
	Shared *Shared
}

// PausingDebugger is implemented by a debugger that can pause the run together with the run's
// clock.
type PausingDebugger interface{ Clock() *clock.PausableClock }

// Allowed contains the permissions that the caller and the worker of a run grant, and the section
// [permissions] of the manifest, or nil without that section.
type Allowed struct {
	Caller, Worker permit.Grants
	Manifest       *permit.Manifest
}

// Workspaces contains the settings of [workspace], or nil without that section, those of merges,
// and the directory of the run if it is stored.
type Workspaces struct {
	Config  *workspace.Config
	Merges  merge.Options // without Store and Log
	Journal string
	// IsPending reports whether a stored run may not have ended; see workspace.Place.
	IsPending func(run, journal string) bool
}

// Bounds contains limits on the resources of a run; 0 means no limit.
type Bounds struct {
	// MaxTokens and MaxCost (in US dollars) limit the sum over all models.
	MaxTokens int64
	MaxCost   float64
	// CostLimit is the name of MaxCost in messages; "" means [limits] max_cost_usd.
	CostLimit string
	// Day limits all runs of a day.
	Day DayLimits
	// MaxMemory limits the memory of the program's values, in bytes.
	MaxMemory int
}

// Listeners observe the messages between the run and its models and hosts. Many goroutines call
// them. Each listener may be nil.
type Listeners struct {
	Hosts map[string]host.Function // the hosts that are functions, by the names of their declarations
	// OnModelEvent is called for each event of a model call.
	OnModelEvent func(llm.Event)
	// Wire is called for each line that a host sends or receives, with secrets removed.
	Wire func(hosttrace.Line)
	// Logged is called for each log line, with secrets removed.
	Logged func(level, message string)
	// OnOutside is called for each decision on a request that an agent made outside an exchange.
	// Its error denies the request.
	OnOutside func(*host.OutsideDecision) error
	// OnHostStart is called before the process of a host starts. It returns the variables with
	// which the host exports its own telemetry.
	OnHostStart func(host, transport string) []string
}

// Runtime performs the effects of one run. It is safe for concurrent use.
type Runtime struct {
	effect.Performer

	hosts *host.Hosts
	llm   *llm.Client
	sink  *emit.Sink
	log   *logs.Log
	files *files.Files
	web   *httpclient.Client
	store *sqlitestore.Stores
	mcp   mcpport.Servers
	tools tool.Performer
	// workspaces are those that the program and its hosts use.
	workspaces *workspace.Store
	merges     *merge.Performer
	audit      *audit.Log
	// served counts the tool calls that come from outside the program.
	served atomic.Int64
	world  tool.World // environment of the tools' handlers

	run     *procgroup.Run
	clock   *clock.PausableClock
	budget  *budget.Budget
	day     *spent.File // nil if the run stores nothing
	chance  *random.Source
	parties Parties
	hidden
	growing growing
	endsRun bool // see EndRun
}

// hidden contains the secrets and patterns that are removed from everything that leaves the run.
type hidden struct {
	secrets *secret.Set
	redact  []*regexp.Regexp
}

// growing contains the data that is needed when the program declares more hosts while it runs.
type growing struct {
	policy *permit.Policy
	lookup func(string) (string, bool) // looks up a variable of the environment
}

// Clock returns the clock of the run; nil means the system's clock.
func (r *Runtime) Clock() *clock.PausableClock { return r.clock }

// Hosts returns the run's hosts.
func (r *Runtime) Hosts() *host.Hosts { return r.hosts }

// Servers returns the run's MCP servers.
func (r *Runtime) Servers() mcpport.Servers { return r.mcp }

// New returns a Runtime. It neither starts a process nor opens a connection.
func New(c Config) *Runtime {
	environment := env.New(c.Environ, c.Args)
	c.Connections = llm.WithRegion(c.Connections, environment.Lookup)
	policy := c.policy()
	r := &Runtime{hidden: hidden{c.secrets(environment.Lookup), c.Redact}, run: &procgroup.Run{ID: c.Session.ID, Executable: c.Executable, KeeperName: c.Process}, audit: c.Audit, clock: c.Clock}
	if r.run.ID == "" {
		r.run.ID = procgroup.NewID()
	}
	r.growing = growing{policy, environment.Lookup}
	environment.Secrets = r.secrets
	environment.Session = c.Session
	environment.Session.ID = r.run.ID
	r.tools.Own = func() (*tool.Session, error) { return r.ownTools(c.Session) }
	r.log = logs.New(c.Log, c.LogLevel, r.secrets)
	r.log.OnLine = c.Listeners.Logged
	if !c.Emit.Detail.IsZero() {
		r.log.Records(c.Emit.Detail)
	}
	r.workspaces = c.openWorkspaces(r)
	merges := c.Workspaces.Merges
	merges.Store, merges.Log = r.workspaces, func(line string) { r.log.Remark("info", line) }
	r.merges = &merge.Performer{Merges: merge.New(merges)}
	r.parties = c.Parties
	if r.budget = c.makeBudget(); c.Shared != nil {
		r.budget = c.Shared.Budget
	}
	r.day = c.Bounds.Day.File
	transports := host.WithFunctions(c.Listeners.Hosts)
	r.hosts = host.New(host.Options{Secrets: r.secrets, Configs: c.Hosts, Environ: c.Environ, Run: r.run, Stderr: r.log.Host, Log: r.log.Remark, MaxMemory: c.Bounds.MaxMemory, Keeper: c.Keeper, Clock: c.Clock, Trace: c.wire(environment.Lookup), Exports: c.Listeners.OnHostStart, Outside: c.Listeners.OnOutside, Ask: r.askApplication, Directories: workspace.Directories{Store: r.workspaces}, Budget: r.hostBudget(), Sandboxes: hostsandbox.Sandboxes{}, Transports: transports})
	r.workspaces.OnRemove(r.hosts.LeaveWorkspace)
	r.chance = random.New(c.Seed)
	if c.Shared == nil {
		r.budget.Crossed = func(message string) { r.log.Remark("warn", message) }
	}
	forTokens := command.New(command.Options{Environ: c.Environ, Run: r.run, Pass: policy.Environment(), Keys: c.all, Dir: c.Root, Clock: c.Clock})
	r.llm = llm.New(llm.Config{Connections: c.Connections, Output: printed(forTokens), Clock: c.Clock, Getenv: environment.Lookup, Meter: r.meter, Secrets: r.secrets, Log: r.log.Remark, OnEvent: c.Listeners.OnModelEvent, Refused: policy.RefuseConnection, Pool: c.Shared.models()})
	c.Emit.Environ, _ = procgroup.Inherit{Pass: c.Emit.PassEnv, Keys: c.all}.Of(c.Environ)
	c.Emit.Run = r.run
	c.Emit.Log = func(line string) { r.log.Host("emit-handler", line) }
	c.Emit.Remark = func(line string) { r.log.Remark("debug", line) }
	r.sink = emit.New(c.Emit)
	r.files = files.New(files.Options{Dir: c.Dir, Read: policy.Roots(permit.Read), Write: policy.Roots(permit.Write), Refused: func(write bool, path string) string {
		if write {
			return policy.Refuse(permit.Write, path, false)
		}
		return policy.Refuse(permit.Read, path, false)
	}})
	r.web = httpclient.New(func(address string) string { return policy.Refuse(permit.Net, address, false) }, c.Clock)
	c.Stores.Clock = c.Clock
	r.store = sqlitestore.New(c.Stores)
	r.mcp = mcpport.New(mcpport.Options{Configs: c.Servers, Environ: c.Environ, Run: r.run, Stderr: r.log.Host, Log: r.log.Remark, Played: c.Played, Clock: c.Clock,
		Refused: func(address string) string { return policy.Refuse(permit.Net, address, true) }, Secret: r.secrets.Add})
	r.world = r.handlerWorld(&c, policy)
	areas := r.areas(&c, policy, environment)
	performers := effect.Router{}
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

// workspaceConfig returns the settings of workspaces.
func (c *Config) workspaceConfig() *workspace.Config {
	if c.Workspaces.Config == nil {
		return &workspace.Config{}
	}
	return c.Workspaces.Config
}

// openWorkspaces returns the workspaces of the run. Git is started when the first one is used.
func (c *Config) openWorkspaces(r *Runtime) *workspace.Store {
	config := c.workspaceConfig()
	at := workspace.Place{Root: c.Root, From: config.FromOf(c.Root), Environ: c.Environ, Worktrees: config.Worktrees, Processes: r.run, Run: r.run.ID, Journal: c.Workspaces.Journal, IsPending: c.Workspaces.IsPending,
		Log: func(line string) { r.log.Remark("info", line) }}
	at.CommandEnviron, _ = procgroup.Inherit{Keys: c.all}.Of(c.Environ)
	return workspace.NewStore(at)
}

// areas returns the performers by area. A row in the table of effects selects the area of a kind.
func (r *Runtime) areas(c *Config, policy *permit.Policy, environment *env.Environment) [effect.Areas]effect.Performer {
	return [effect.Areas]effect.Performer{
		effect.ObserversOnly: effect.Nothing, effect.Output: r.sink, effect.Logs: r.log, effect.Models: contain(r.llm), effect.Hosts: contain(&toolLister{r.hosts, &r.tools}), effect.Servers: contain(r.mcp),
		effect.Environment: environment, effect.Clocks: clock.New(c.Clock), effect.Timers: clock.NewSleeper(c.Clock), effect.Chance: r.chance,
		effect.Files: r.files, effect.Stores: r.store, effect.Web: r.web, effect.Tests: mock.Outside,
		effect.Applications: contain(&r.tools), effect.Merges: r.merges,
		effect.Workspaces: &workspace.Performer{Store: r.workspaces, Clock: c.Clock},
		effect.Commands:   command.New(command.Options{Environ: c.Environ, Run: r.run, Pass: policy.Environment(), Keys: c.all, Dir: c.Dir, Clock: c.Clock}),
	}
}

// policy returns the policy that decides which resources the run may use.
func (c *Config) policy() *permit.Policy {
	p := permit.Config{Caller: c.Allowed.Caller, Bounds: c.Allowed.Worker, Manifest: c.Allowed.Manifest, Dir: c.Dir, Root: c.Root, StoresInMemory: c.Stores.InMemory,
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
	p.Workspaces.Declared = c.Workspaces.Config != nil || len(c.Workspaces.Merges.Queues) > 0 || c.Allowed.Manifest == nil
	p.Workspaces.OfMerge = func(r *effect.MergeOpen) (names []string) {
		for _, command := range c.Workspaces.Merges.Commands(r.Queue, r.Into, !r.Gate) {
			names = append(names, command[0])
		}
		return names
	}
	for _, command := range c.workspaceConfig().Commands() {
		p.Workspaces.Commands = append(p.Workspaces.Commands, command[0])
	}
	return permit.New(p)
}

// reachOf returns the resources that an MCP server uses.
func reachOf(s *mcpport.Config) permit.Reach {
	if s.Transport != "http" {
		return permit.Reach{Command: s.Command}
	}
	return permit.Reach{Address: s.URL, Env: s.Variables()}
}

// meter applies the budget of the run to a model call.
func (r *Runtime) meter(ctx context.Context, m llm.Metered) (granted int64, settle func(models.Spent), err error) {
	return r.budget.Reserve(ctx, budget.Call(m))
}

// askApplication asks the application about a request of a host for which no task of the program
// waits. It prints no event, because a replay of the run's tape would not print it.
func (r *Runtime) askApplication(ctx context.Context, q *effect.AwaitEmit, done func(*effect.Answer, error)) {
	r.sink.Start(effect.WithSent(ctx), q, func(result effect.Result, err error) {
		answer, _ := result.(*effect.Answer) // nil after an error
		done(answer, err)
	})
}

// Remark writes a line to the log of the run.
func (r *Runtime) Remark(level, line string) { r.log.Remark(level, line) }

// Unkeyed returns the error text for the first missing key of a model, or "".
func (r *Runtime) Unkeyed() string { return r.llm.Unkeyed() }

// Lost counts a model call that an earlier process of the run made, if it is unknown whether the
// call was answered: with the maximum that it may have used.
func (r *Runtime) Lost(q *effect.AgentCall) {
	call := budget.Call{Connection: q.Connection, Model: q.Model, In: llm.PromptTokens(q), Out: budget.OpenReply}
	if q.MaxTokens != nil && *q.MaxTokens > 0 {
		call.Out = *q.MaxTokens
	}
	c := r.parties.connection(q.Connection)
	if model, err := c.Model(q); err == nil {
		call.Model, call.Price, call.Hour = model, c.Price(model, r.clock.Now()), c.StoresForHour()
	}
	r.budget.Lose(call)
}

// Usage returns the usage of each model in the run so far, and the sum.
func (r *Runtime) Usage() (each []budget.Usage, all budget.Usage) { return r.budget.Usage() }

// Start begins q if the performer of q and all layers support that; see effect.Starter.
func (r *Runtime) Start(ctx context.Context, q effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	if s, can := r.Performer.(effect.Starter); can {
		return s.Start(ctx, q, done)
	}
	return nil, false
}

// FlushOutput returns when all output is written or ctx ends.
func (r *Runtime) FlushOutput(ctx context.Context) error { return r.sink.Flush(ctx) }

// OutputProgress returns the number of bytes of output so far, and the number of those that are
// written.
func (r *Runtime) OutputProgress() (added, written int64) { return r.sink.Progress() }

// Kill ends the hosts immediately. Running requests to hosts fail. Close must still be called.
func (r *Runtime) Kill() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	// an error only means that the hosts had no time to exit
	_ = r.hosts.Close(ctx)
}

// EndRun makes Close also end what earlier processes of the run have left in the project: the
// directories of their exchanges, and their locks.
func (r *Runtime) EndRun() { r.endsRun = true }

// Close ends hosts and handlers, writes the remaining output, removes the temporary directory, and
// closes connections. When ctx ends, it kills the processes that are still running. It returns the
// error of the output, or an error that names the parts that could not be closed. Even then, no
// process or goroutine of the run is left.
func (r *Runtime) Close(ctx context.Context) error {
	r.mcp.Close(ctx)
	err := errors.Join(r.hosts.Close(ctx), r.tools.Close())
	err = errors.Join(r.sink.Close(ctx), err)
	r.run.End()
	r.merges.Close()
	if r.endsRun {
		err = errors.Join(err, r.workspaces.EndRun(context.WithoutCancel(ctx), r.run.ID))
	}
	r.workspaces.Close()
	r.llm.Close()
	r.web.Close()
	if r.day != nil {
		err = errors.Join(err, r.day.Close())
	}
	return errors.Join(err, r.store.Close(), r.files.Close())
}
