// Package engine compiles, runs, resumes and tests programs. The public package concerto and the
// commands are built on it.
//
//	p, found, err := engine.Compile("triage.conc", ".")
//	if p == nil { … show found or err … }
//	err = p.Run(ctx, engine.Options{
//		Environ: os.Environ(),
//		OnEmit:  func(channel string, payload json.RawMessage) { … },
//	})
//
// Compiling prints nothing. A run writes only to the destinations in its Options.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/graph"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/runconf"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/driver/programcache"
	"github.com/concerto-lang/concerto/internal/engine/packages"
	"github.com/concerto-lang/concerto/internal/record/eventtext"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
	"github.com/concerto-lang/concerto/runtime/merge"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/workspace"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/runtime/world/env"
	"github.com/concerto-lang/concerto/runtime/world/permit"
	"github.com/concerto-lang/concerto/vm"
)

// Program is a compiled program. It may be run several times, also concurrently.
type Program struct {
	ir   *ir.Program
	root string // directory to which the manifest's paths are relative; "" for a loaded program
	// manifest is the manifest of the compiled project; nil if there is none, and for a loaded
	// program.
	manifest *manifest.Manifest
}

// Compile compiles the program at path, which is a .conc file or a directory with a manifest. If
// path is "", it compiles the project of the nearest manifest in dir or a directory above it. A
// relative path is relative to dir. The returned list contains the errors and warnings; if it
// contains errors, the program is nil. The error is a *PathError or an error of reading, and means
// that there was no program to compile.
func Compile(path, dir string) (*Program, diag.List, error) {
	return CompileSource(driver.Request{Path: path, Dir: dir})
}

// CompileSource is like Compile for other sources, such as a program in memory.
func CompileSource(s driver.Request) (*Program, diag.List, error) {
	if s.Packages.Fetch == nil {
		s.Packages.Fetch = fetchPackages
	}
	key, isCached := programcache.Key(s, programcache.Build)
	if isCached {
		if p, found, ok := loadCached(s, key); ok {
			return p, found, nil
		}
	}
	in, err := driver.Load(s)
	if err != nil {
		return nil, diag.List{}, err
	}
	p, found := driver.Build(in)
	if p == nil {
		return nil, found, nil
	}
	root := in.Root
	if s.Sources != nil {
		root = "" // its path is not where its files are
	}
	if isCached {
		storeCompiled(s, key, in, p, found)
	}
	return &Program{ir: p, root: root, manifest: in.Manifest}, found, nil
}

// loadCached returns the cached program with a key, if its sources have not changed.
func loadCached(s driver.Request, key string) (*Program, diag.List, bool) {
	cached, ok := programcache.Load(s.Programs, key)
	if !ok {
		return nil, diag.List{}, false
	}
	code, err := ir.Decode(cached.IR)
	if err != nil {
		return nil, diag.List{}, false
	}
	if code.Evals, code.Guard = cached.Evals, cached.Guard; ir.Verify(code) != nil {
		return nil, diag.List{}, false
	}
	p := &Program{ir: code, root: cached.Root}
	if cached.Manifest != "" {
		p.manifest, _ = manifest.Parse(source.NewFile(cached.Manifest, cached.ManifestText)) // its findings are in cached.Found
	}
	notifyCached(s, cached)
	return p, cached.Found.List, true
}

// notifyCached calls the functions of a request that loading the program would call.
func notifyCached(s driver.Request, cached *programcache.Program) {
	if s.Seen != nil {
		for _, r := range cached.Reads {
			if r.IsOfFile() {
				s.Seen(r.Path)
			}
		}
	}
	if s.Loaded != nil {
		s.Loaded(cached.Entry, cached.Manifest, true)
	}
}

// storeCompiled adds a compiled program to the cache. p is nil if it was only checked.
func storeCompiled(s driver.Request, key string, in *driver.Input, p *ir.Program, found diag.List) {
	cached := &programcache.Program{Reads: in.Reads(), Root: in.Root, Entry: in.Entry.Name, Found: programcache.Findings{List: found}}
	if p != nil {
		cached.IR, cached.Evals, cached.Guard = ir.Encode(p), p.Evals, p.Guard
	}
	if in.Manifest != nil {
		cached.Manifest, cached.ManifestPath = in.Manifest.File.Name, filepath.Join(in.Root, manifest.FileName)
	}
	programcache.Store(s.Programs, key, cached)
}

// fetchPackages stores packages of a lock file that are not in the cache.
func fetchPackages(missing []*pkg.Package) error {
	f := &packages.Fetcher{Environ: os.Environ(), Dir: ".", Offline: os.Getenv("CONCERTO_OFFLINE") == "1"}
	return f.Missing(context.Background(), missing)
}

// Load decodes and verifies a compiled program. The error wraps ErrNotIR, ErrVersion or ErrInvalid.
func Load(data []byte) (*Program, error) {
	p, err := ir.Decode(data)
	if err != nil {
		return nil, err
	}
	if err := ir.Verify(p); err != nil {
		return nil, err
	}
	return &Program{ir: p}, nil
}

// Encode returns the compiled program as bytes that Load decodes. The bytes depend only on the
// sources, not on their directory.
func (p *Program) Encode() []byte { return ir.Encode(p.ir) }

// Graph returns the graph of the program. The error is graph.ErrNoOutline.
func (p *Program) Graph() (*graph.Graph, error) { return graph.Build(p.ir) }

// IR returns the compiled program. The caller must not change it.
func (p *Program) IR() *ir.Program { return p.ir }

// Files returns the program's own source files. Those of the library have no text in the IR.
func (p *Program) Files() []ir.File {
	return slices.DeleteFunc(slices.Clone(p.ir.Files), func(f ir.File) bool { return f.Text == "" })
}

// MaxMemory returns the manifest's limit for the memory of the program's values in MiB. 0 means no
// limit.
func (p *Program) MaxMemory() int64 { return p.ir.Limits.MaxMemoryMB }

// Hosts returns the names of the hosts that the program declares.
func (p *Program) Hosts() []string {
	var names []string
	for i := range p.ir.Hosts {
		names = append(names, p.ir.Hosts[i].Name)
	}
	return names
}

// HasProgress reports whether the program contains pipelines with stages, calls of run::progress or
// merge queues.
func (p *Program) HasProgress() bool {
	return p.hasText("pipeline:stage_start") || p.hasText(eventtext.ProgressChannel) || p.asksFor(effect.KindMergeOpen)
}

// TaskOf reports whether the main of a program has a parameter for the task of a run, and whether
// it requires a task.
func TaskOf(p *Program) (takes, required bool) {
	required = p.hasText(ir.RequiredTask)
	return required || p.hasText(ir.OptionalTask), required
}

// asksFor reports whether the program's code may make requests of a kind.
func (p *Program) asksFor(k effect.Kind) bool { return p.hasText(string(k)) }

func (p *Program) hasText(text string) bool {
	return slices.ContainsFunc(p.ir.Constants, func(c ir.Const) bool { return c.String != nil && *c.String == text })
}

// HostConfigs returns the configurations of the hosts that the program declares. For a program
// compiled in this process, their relative paths are resolved in the project.
func (p *Program) HostConfigs() ([]host.Config, error) {
	all, err := p.parties(p.root)
	return all.Hosts, err
}

// Assembly returns the program's code as readable text.
func (p *Program) Assembly() string { return ir.Disassemble(p.ir) }

// Run runs the program's main. It stops when main returns, ctx ends, or the manifest's
// max_run_seconds have passed. When Run returns, all processes and goroutines of the run have
// ended. The error is an *Uncaught if the program failed, the cause of ctx's end, or the reason why
// the program could not run. The manifest's max_memory_mb limits the heap of the process, so the
// memory that the application allocates during the run counts too.
func (p *Program) Run(ctx context.Context, o Options) error {
	return continued(ctx, o, runOnce(ctx, p, o))
}

// openTools opens a session of the application's tools and of the tools in the program's manifest.
// end must be called after the session was closed.
func (p *Program) openTools(ctx context.Context, world *runtime.Runtime, o *Options) (end func() error, err error) {
	all, end, err := p.withOwn(ctx, world, o)
	if all == nil || err != nil {
		return end, err
	}
	return end, p.openSession(ctx, world, all, o)
}

// withOwn returns the application's tools and the tools of the program's manifest for one run, or
// nil if there are none. end releases the resources of the manifest's tools.
func (p *Program) withOwn(ctx context.Context, world *runtime.Runtime, o *Options) (all *tool.Registry, end func() error, err error) {
	nothing := func() error { return nil }
	if len(p.ir.AppTools) == 0 || o.own.plain {
		return o.Tools, nothing, nil
	}
	root, err := p.base(o)
	if err != nil {
		return nil, nothing, err
	}
	d := newDefiner(ctx, *o, false)
	d.tests = o.Models.Mock && world.Tests()
	d.session = true // the tools belong to this run, because other programs have other tools
	parties, err := p.parties(root)
	if err != nil {
		return nil, nothing, err
	}
	tools := d.tools(p.ownTools(), root, world, parties.Servers)
	if err := errors.Join(d.broken...); err != nil || d.found.HasErrors() {
		return nil, d.shared.Close, errors.Join(err, firstFound(d.found))
	}
	if all = o.Tools; all == nil {
		all = &tool.Registry{}
	}
	own := all.As(tool.OwnerManifest).In(world.ID())
	end = func() error {
		own.Clear()
		return d.shared.Close()
	}
	return all, end, own.Register(tools...)
}

// firstFound returns the first error of a list as a Go error, or nil.
func firstFound(found diag.List) error {
	for _, x := range found.Sorted() {
		if x.Severity() == diag.Error {
			return fmt.Errorf("%s:%s: %s", x.File.Name, x.File.Position(x.Span.Start), x.Message)
		}
	}
	return nil
}

// openSession opens a session of the tools for the run.
func (p *Program) openSession(ctx context.Context, world *runtime.Runtime, all *tool.Registry, o *Options) error {
	c := o.Session
	if c.Cwd == "" {
		var err error
		if c.Cwd, err = filepath.Abs(o.WorkDir); err != nil {
			return fmt.Errorf("could not find directory %s: %w", o.WorkDir, err)
		}
	}
	h := o.toolHooks()
	h.Permits = func(name string) bool { return p.ir.Permissions.AllowsCall(name, name) }
	if p.ir.Permissions != nil {
		h.MustApprove = p.ir.Permissions.Approve
	}
	return world.OpenTools(ctx, all, c, h)
}

// cleanError returns an error whose text does not contain the run's secrets.
func cleanError(world *runtime.Runtime, err error) error {
	if all, ok := err.(RunErrors); ok {
		cleaned := make(RunErrors, len(all))
		for i, e := range all {
			cleaned[i] = cleanError(world, e)
		}
		return cleaned
	}
	var failed *vm.Uncaught
	if errors.As(err, &failed) {
		cleanUncaught(world.Secrets(), failed)
	}
	return world.Secrets().Error(err)
}

func cleanUncaught(secrets *secret.Set, e *vm.Uncaught) {
	e.Message = secrets.Text(e.Message)
	for _, o := range e.Others {
		cleanUncaught(secrets, o)
	}
}

// runToEnd runs main and returns its result. An Int is the exit code of the run, except for an
// application, which receives it as the result. A code other than 0 is the error *vm.Exit.
func (o *Options) runToEnd(ctx context.Context, machine *vm.VM) (value.Slot, error) {
	outcome, err := machine.Run(ctx)
	if exit, ok := errors.AsType[*vm.Exit](err); ok && exit.Code == 0 {
		return value.Nil, nil
	}
	if err != nil {
		return value.Nil, err
	}
	if o.Service == nil {
		err = vm.ExitOf(machine, outcome.Value)
	}
	return outcome.Value, err
}

// unkeyed returns a hint for a failed run if a model was not called because its API key is missing.
// A program that continues without the reply often fails later with another error. unkeyed returns
// "" if no key was missing or the error already contains the hint.
func unkeyed(world *runtime.Runtime, failed *vm.Uncaught) string {
	message := world.Unkeyed()
	if message == "" || strings.Contains(failed.Message, message) {
		return ""
	}
	return "a model was not called: " + message
}

// firstError returns err, or next if err is nil.
func firstError(err, next error) error {
	if err != nil {
		return err
	}
	return next
}

// runtimeConfig returns the configuration of the runtime for a run with these options.
func (p *Program) runtimeConfig(o *Options) (runtime.Config, error) {
	root, err := p.base(o)
	if err != nil {
		return runtime.Config{}, err
	}
	if o.Inputs != nil {
		if err := CheckInputs(o.Inputs); err != nil {
			return runtime.Config{}, fmt.Errorf("could not read the inputs of the run: %w", err)
		}
	}
	cwd, err := filepath.Abs(o.WorkDir)
	if err != nil {
		return runtime.Config{}, fmt.Errorf("could not find directory %s: %w", o.WorkDir, err)
	}
	if o.Session.Cwd != "" {
		cwd = o.Session.Cwd
	}
	var metadata json.RawMessage
	if o.Session.Metadata != nil {
		if metadata, err = json.Marshal(o.Session.Metadata); err != nil {
			return runtime.Config{}, fmt.Errorf("could not write the metadata of the session: %w", err)
		}
	}
	c := runtime.Config{
		Emit: emit.Options{Mode: o.Output.Mode, Out: o.Output.To, Terminal: o.Output.Terminal, Viewed: o.Output.Viewed, Listed: o.Output.Listed, Events: o.Output.Events, Synchronous: o.Output.Synchronous, Detail: o.Output.Detail,
			Answers: o.Answers.Fixed, Handler: o.Answers.Handler, HandlerDir: o.Answers.HandlerDir, PassEnv: o.Answers.PassEnv, Prompter: o.Answers.Prompter, Stdin: o.Answers.Stdin},
		Environ: o.Environ, Log: o.Log, LogLevel: o.LogLevel, Args: o.Args, Session: env.Session{ID: o.Session.SessionID, Cwd: cwd, Inputs: o.Inputs, Metadata: metadata, Render: o.Session.Render},
		Dir: o.WorkDir, Root: root, Allowed: o.allowed(p.ir.Permissions),
		Bounds: runtime.Bounds{MaxTokens: narrower(p.ir.Limits.MaxTokens, o.budget().Tokens), MaxCost: narrower(p.ir.Limits.MaxCostUSD, o.budget().CostUSD), MaxMemory: int(min(p.ir.Limits.MaxMemoryMB, 1<<40)) << 20},
	}
	if d, ok := o.Records.Debugger.(runtime.PausingDebugger); ok {
		c.Clock = d.Clock()
	}
	c.Seed = o.own.seed
	c.Stores.Dir = root
	c.Executable = o.Executable
	if d := o.Records.Durable; d != nil {
		if c.Workspaces.Journal, err = filepath.Abs(d.Dir); err != nil {
			return runtime.Config{}, fmt.Errorf("could not find directory %s: %w", d.Dir, err)
		}
	}
	if c.Workspaces.Config, c.Workspaces.Merges, err = workspacesOf(p.ir); err != nil {
		return runtime.Config{}, err
	}
	journals, err := p.JournalRoot(o)
	if err != nil {
		return runtime.Config{}, err
	}
	c.Workspaces.IsPending = func(run, dir string) bool { return rundir.IsPending(journals, run, dir) }
	if r := o.Answers.Relay; r != nil {
		c.Emit.Elsewhere = r
	}
	if o.Output.To == nil {
		c.Emit.Out, c.Emit.Mode = io.Discard, emit.None
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	c.Listeners.Logged = o.OnLog
	o.addLayers(&c)
	if c.Parties, err = p.parties(root); err != nil {
		return c, err
	}
	o.replaceHosts(&c)
	if o.Models.Mock || o.Models.Function != nil {
		c.Connections, c.Played = p.mocked(c.Connections, o.Models.Function), o.Models.Mock
	}
	return c, nil
}

// addLayers adds the layers that the options require.
func (o *Options) addLayers(c *runtime.Config) {
	switch {
	case o.hasListener():
		c.Layers = append(c.Layers, o.Service.layer)
		o.connectService(c)
	case o.OnEmit != nil || o.OnAwait != nil || o.Answers.OnAskHost != nil:
		c.Layers = append(c.Layers, o.application)
	}
	if o.own.layer != nil {
		c.Layers = append(c.Layers, o.own.layer)
	}
	if s := o.own.seams; s != nil {
		c.Stores.Disk, c.Stores.VFS = s.Disk, s.VFS
		if s.Layer != nil {
			c.Layers = append(c.Layers, s.Layer)
		}
	}
}

// replaceHosts replaces the hosts that are functions.
func (o *Options) replaceHosts(c *runtime.Config) {
	c.Listeners.Hosts = o.Hosts
	for i, h := range c.Hosts {
		if o.Hosts[h.Name] != nil {
			c.Hosts[i] = h.InProcess()
		}
	}
}

// allowed returns the permissions of a run of a program with these [permissions], or nil.
func (o *Options) allowed(granted *ir.Permissions) runtime.Allowed {
	a := runtime.Allowed{Caller: o.Allow, Worker: o.Bounds}
	a.Caller.Sandbox = a.Caller.Sandbox || o.Limit == Nothing
	switch {
	case granted != nil:
		a.Manifest = &permit.Manifest{FS: granted.FS, Env: granted.Env, Net: granted.Net, Run: granted.Run, Open: granted.Open}
	case o.Limit == Unlimited:
	case o.Limit == Configured:
		a.Manifest = &permit.Manifest{}
	default:
		a.Manifest = &permit.Manifest{Open: permit.Keys()}
	}
	return a
}

// base returns the directory to which the manifest's paths are relative.
func (p *Program) base(o *Options) (string, error) {
	if p.root != "" {
		return p.root, nil
	}
	root, err := filepath.Abs(o.Dir)
	if err != nil {
		return "", fmt.Errorf("could not find directory %s: %w", o.Dir, err)
	}
	return root, nil
}

// CheckInputs returns an error if a text is not a JSON object and so cannot be Options.Inputs.
func CheckInputs(text json.RawMessage) error {
	v, err := value.Parse(text)
	if err == nil && v.Map() == nil {
		err = errors.New("expected a JSON object, such as {\"id\": 7}")
	}
	return err
}

// mocked returns the connections of a run that calls no provider. Each connection to a provider
// becomes scripted. Connections that agents name and the manifest lacks are added. model, if not
// nil, answers the requests on all connections.
func (p *Program) mocked(conns []llm.Connection, model llm.Function) []llm.Connection {
	used := map[string]bool{}
	for i, c := range conns {
		used[c.Name] = true
		if c.Provider != "scripted" || model != nil {
			conns[i] = llm.Connection{Name: c.Name, Provider: "scripted", DefaultModel: c.DefaultModel, Models: c.Models, Origin: c.Origin, Function: model}
		}
	}
	for i := range p.ir.Agents {
		if name := p.ir.Agents[i].Connection; !used[name] {
			used[name] = true
			conns = append(conns, llm.Connection{Name: name, Provider: "scripted", Function: model})
		}
	}
	return conns
}

// parties returns the configurations of the hosts, servers, connections and tools that the program
// uses. Paths of the manifest are relative to root.
func (p *Program) parties(root string) (all runtime.Parties, err error) {
	for _, x := range p.ir.Hosts {
		h, err := host.ParseConfig(x.Name, x.Connector, x.Params, x.Config, root)
		if err != nil {
			return all, err
		}
		all.Hosts = append(all.Hosts, h)
	}
	for _, x := range p.ir.Servers {
		server, err := mcpport.ParseConfig(x.Name, x.Config, root)
		if err != nil {
			return all, err
		}
		server.Lists = slices.ContainsFunc(p.ir.Tools, func(t ir.Tool) bool { return t.Server == x.Name && t.List != nil })
		all.Servers = append(all.Servers, server)
	}
	for _, x := range p.ir.Connections {
		conn, err := llm.ParseConnection(x.Name, x.Config)
		if err != nil {
			return all, err
		}
		all.Connections = append(all.Connections, conn)
	}
	conf, err := runconf.Read(p.ir.Run)
	if err != nil {
		return all, err
	}
	all.Secrets, all.Redact = conf.Secrets, conf.Redact
	all.GuardKeys()
	return all, nil
}

// workspacesOf returns the settings of [workspace], or nil without that section, and those of
// merges.
func workspacesOf(p *ir.Program) (config *workspace.Config, merges merge.Options, err error) {
	if p.Workspace != nil {
		if config, err = workspace.ParseConfig(p.Workspace); err != nil {
			return nil, merges, err
		}
		merges.Gate, merges.GateTimeout = config.Gate, config.GateTimeout
	}
	for _, q := range p.Merges {
		if err := merges.AddQueue(q.Name, q.Config); err != nil {
			return nil, merges, err
		}
	}
	return config, merges, nil
}
