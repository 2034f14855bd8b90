// Package concerto embeds Concerto: it compiles programs, loads compiled ones,
// and runs them with the application on the other side of their emits. The
// command `concerto` is built on it.
//
//	p, found, err := concerto.Compile("triage.conc", ".")
//	if p == nil { … show found or err … }
//	err = p.Run(ctx, concerto.Options{
//		Environ: os.Environ(),
//		OnEmit:  func(channel string, payload json.RawMessage) { … },
//	})
//
// Compiling prints nothing and running writes only where its Options say.
package concerto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/driver"
	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/profile"
	"github.com/concerto-lang/concerto/internal/secret"
	"github.com/concerto-lang/concerto/internal/trace"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/emit"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/limit"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/mcp"
	"github.com/concerto-lang/concerto/runtime/permit"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// Program is a compiled program. It can be run any number of times, also at
// once.
type Program struct {
	ir   *ir.Program
	root string // where the manifest's relative paths start; "" for a loaded program
}

// ModelUsage is what a run has used of one model, or of all: the tokens are
// exactly those that providers reported.
type ModelUsage = limit.Usage

// Grants are what a run's caller allows the program.
type Grants = permit.Grants

// Uncaught is how Run reports an error that the program did not catch, or a
// panic: what it was, where, and by which calls.
type Uncaught = vm.Uncaught

// PathError is how Compile reports a path that leads to no program.
type PathError = driver.PathError

// Compile compiles the program that path leads to: a .conc file, a directory
// with a manifest, or "" for the manifest in dir or above. path is seen from
// dir. The list holds errors and warnings; with errors the program is nil. The
// Go error, a *PathError or one of reading, says that there was nothing to
// compile.
func Compile(path, dir string) (*Program, diag.List, error) {
	in, err := driver.Load(driver.Request{Path: path, Dir: dir})
	if err != nil {
		return nil, diag.List{}, err
	}
	p, found := driver.Build(in)
	if p == nil {
		return nil, found, nil
	}
	return New(p, in.Root), found, nil
}

// New makes a Program of IR that has passed ir.Verify. root is the directory
// where the relative paths of its manifest start; "" leaves that to
// Options.Dir.
func New(p *ir.Program, root string) *Program { return &Program{ir: p, root: root} }

// Load reads a compiled program and verifies it. Errors wrap ir.ErrNotIR,
// ir.ErrVersion or ir.ErrInvalid.
func Load(data []byte) (*Program, error) {
	p, err := ir.Decode(data)
	if err != nil {
		return nil, err
	}
	if err := ir.Verify(p); err != nil {
		return nil, err
	}
	return New(p, ""), nil
}

// Encode gives the program as Load reads it: the same bytes for the same
// sources, wherever they lie.
func (p *Program) Encode() []byte { return ir.Encode(p.ir) }

// MaxMemory is what the manifest allows the program's values, in MiB; 0 is no
// limit.
func (p *Program) MaxMemory() int64 { return p.ir.Limits.MaxMemoryMB }

// Hosts names the hosts that the program declares.
func (p *Program) Hosts() []string {
	var names []string
	for i := range p.ir.Hosts {
		names = append(names, p.ir.Hosts[i].Name)
	}
	return names
}

// Assembly gives the program's code as text.
func (p *Program) Assembly() string { return ir.Disassemble(p.ir) }

// Options say what a run gets of the world. The zero Options give it nothing:
// no environment, no output, nobody who answers. Files, the network, commands
// and hosts are the process's own, as far as Allow and the program's
// [permissions] grant them.
type Options struct {
	// WorkDir is where the relative paths that the program itself uses start; ""
	// is the process's working directory.
	WorkDir string
	// Dir is where the relative paths of a loaded program's manifest start; a
	// compiled one starts at its project's root.
	Dir string
	// Allow narrows what the program may touch besides its own [permissions]; the
	// zero Grants allow everything (spec/19-permissions.md). What is refused is an
	// error of the program, which names the command's flag.
	Allow Grants
	// Args are what std::env::args gives.
	Args []string
	// Environ is the environment as "NAME=value": of the program, of its hosts,
	// and where the keys of models are.
	Environ []string

	// Stdout takes emits and printed text in the form of Mode; nil drops them.
	Stdout io.Writer
	Mode   emit.Mode
	// Terminal says that Stdout is one: characters that steer a terminal are shown
	// escaped, so that others' texts cannot.
	Terminal bool
	// Detail, when it is not zero, is when the run began. Then events and the lines
	// of NDJSON say in seconds since then when they came, from which task and in
	// which exchange with a host, and the log is a JSON object a line
	// (spec/11-emit.md).
	Detail time.Time
	// Answers, Handler (a command, run in HandlerDir) and Prompter answer
	// awaited emits, in this order (spec/11-emit.md).
	Answers    []emit.Fixed
	Handler    string
	HandlerDir string
	Prompter   emit.Prompter
	// OnEmit receives every emit, awaited ones too, instead of Stdout. It is
	// called in the program's order, one at a time, and holds the program up
	// until it returns.
	OnEmit func(channel string, payload json.RawMessage)
	// OnAwait answers awaited emits instead of all others. Its error is the
	// program's EmitError.
	OnAwait func(ctx context.Context, channel string, payload json.RawMessage) (json.RawMessage, error)

	// Log takes the run's log; nil drops it. LogLevel is "debug", "info",
	// "warn" or "error", "" for "info".
	Log      io.Writer
	LogLevel string
	// Mock plays every connection that is not scripted, also one that the manifest
	// does not have, with the same answers each time: shaped by the schema where
	// there is one, else naming the prompt.
	Mock bool
	// OnUsage is called once, when the run has ended, with what it used of models.
	OnUsage func(each []ModelUsage, all ModelUsage)
	// OnShares is called once too, with the same by agent, stage and task.
	OnShares func(Shares)
	// Transcript takes what the program and its models say to each other, as records
	// (spec/20-transcript.md): whole conversations, without the run's secrets. nil
	// takes none.
	Transcript io.Writer
	// Steps is how much of that is said in the log.
	Steps Steps
	// Profile takes a CPU profile of the run for `go tool pprof`, Trace its tasks
	// and effects as trace events for Perfetto; nil takes none. Both are written
	// when Run returns, however the run ended, Trace also before.
	Profile io.Writer
	Trace   io.Writer
	// Kill, when closed, ends at once what a cancelled run still waits for:
	// hosts that take their time to leave.
	Kill <-chan struct{}
}

// Run runs the program's main until it ends, ctx ends, or the manifest's
// max_run_seconds are over. When it returns, every process and goroutine of the
// run has ended. The error is an *Uncaught when the program failed, the cause of
// ctx's end, or what else kept it from running. The manifest's max_memory_mb is
// measured on the process's heap: what the application itself takes meanwhile
// counts too.
func (p *Program) Run(ctx context.Context, o Options) error {
	return p.inWorld(ctx, &o, func(world *runtime.Runtime, f *following) error { return p.run(ctx, world, f, &o) })
}

// inWorld does something with a new runtime of the options, and closes it.
func (p *Program) inWorld(ctx context.Context, o *Options, do func(*runtime.Runtime, *following) error) error {
	config, err := p.runtimeConfig(o)
	if err != nil {
		return err
	}
	follow := o.follow(&config)
	world := runtime.New(config)
	follow.with(world, o, p.ir.Name)
	closing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-o.Kill:
			stop()
			world.Kill()
		case <-ended:
		}
	}()
	err = do(world, follow)
	err = firstError(err, world.Close(closing))
	err = firstError(err, follow.end(o))
	if o.OnUsage != nil {
		o.OnUsage(world.Usage())
	}
	return clean(world, err)
}

// clean takes the run's secrets out of how it ended.
func clean(world *runtime.Runtime, err error) error {
	var failed *vm.Uncaught
	if errors.As(err, &failed) {
		cleanUncaught(world.Secrets(), failed)
	}
	return world.Secrets().Error(err)
}

func cleanUncaught(known *secret.Set, e *vm.Uncaught) {
	e.Message = known.Text(e.Message)
	for _, o := range e.Others {
		cleanUncaught(known, o)
	}
}

func (p *Program) run(ctx context.Context, world *runtime.Runtime, f *following, o *Options) (err error) {
	config := vm.Config{Program: p.ir, Natives: stdlib.Natives(), Performer: world, Detail: !o.Detail.IsZero()}
	observers := f.observers(nil)
	if o.Trace != nil {
		out := world.Secrets().Writer(o.Trace)
		events := trace.New(out)
		observers = append(observers, events)
		defer func() { err = firstError(err, firstError(events.Close(), out.Close())) }()
	}
	config.Observer = observer(observers)
	if o.Profile != nil {
		recorder := profile.New(p.ir.Name)
		config.Profile = recorder.VM
		recorder.Start()
		defer func() {
			recorder.Stop()
			err = firstError(err, recorder.Write(o.Profile))
		}()
	}
	machine, err := vm.New(config)
	if err != nil {
		return fmt.Errorf("load the program: %w", err)
	}
	ctx, cancel := limit.Run(ctx, p.ir.Limits.MaxRunSeconds)
	defer cancel()
	_, err = machine.Run(ctx)
	var failed *vm.Uncaught
	if errors.As(err, &failed) {
		failed.Hint = unkeyed(world, failed)
	}
	return err
}

// unkeyed says of a run that failed by something else that a model could not be
// asked for want of its key, "" when none was: a program that goes on without the
// reply mostly fails because of that.
func unkeyed(world *runtime.Runtime, failed *vm.Uncaught) string {
	message := world.Unkeyed()
	if message == "" || strings.Contains(failed.Message, message) {
		return ""
	}
	return "a model was not asked: " + message
}

// firstError gives err, or next when that is nil.
func firstError(err, next error) error {
	if err != nil {
		return err
	}
	return next
}

// runtimeConfig translates what the IR and the options say.
func (p *Program) runtimeConfig(o *Options) (runtime.Config, error) {
	root := p.root
	if root == "" {
		var err error
		if root, err = filepath.Abs(o.Dir); err != nil {
			return runtime.Config{}, fmt.Errorf("find the directory %s: %w", o.Dir, err)
		}
	}
	c := runtime.Config{
		Emit:    emit.Options{Mode: o.Mode, Out: o.Stdout, Terminal: o.Terminal, Detail: o.Detail, Answers: o.Answers, Handler: o.Handler, HandlerDir: o.HandlerDir, Prompter: o.Prompter},
		Environ: o.Environ, Log: o.Log, LogLevel: o.LogLevel, Args: o.Args,
		MaxTokens: p.ir.Limits.MaxTokens, MaxCost: p.ir.Limits.MaxCostUSD, Dir: o.WorkDir, Root: root, Allowed: o.Allow,
		MaxMemory: int(min(p.ir.Limits.MaxMemoryMB, 1<<40)) << 20,
	}
	c.Stores.Dir = root
	if granted := p.ir.Permissions; granted != nil {
		c.Permissions = &permit.Manifest{FS: granted.FS, Env: granted.Env, Net: granted.Net, Run: granted.Run}
	}
	if o.Stdout == nil {
		c.Emit.Out, c.Emit.Mode = io.Discard, emit.None
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	if o.OnEmit != nil || o.OnAwait != nil {
		c.Layers = append(c.Layers, o.application)
	}
	for i := range p.ir.Hosts {
		c.Hosts = append(c.Hosts, hostConfig(&p.ir.Hosts[i], root))
	}
	for i := range p.ir.Servers {
		c.Servers = append(c.Servers, serverConfig(&p.ir.Servers[i], root))
	}
	for _, x := range p.ir.Connections {
		conn, err := llm.ParseConnection(x.Name, x.Config)
		if err != nil {
			return c, err
		}
		c.Connections = append(c.Connections, conn)
	}
	if o.Mock {
		c.Connections, c.Played = p.mocked(c.Connections), true
	}
	return c, nil
}

// mocked are the connections with those played that lead to a provider, and
// those added that only agents name.
func (p *Program) mocked(conns []llm.Connection) []llm.Connection {
	known := map[string]bool{}
	for i, c := range conns {
		known[c.Name] = true
		if c.Provider != "scripted" {
			conns[i] = llm.Connection{Name: c.Name, Provider: "scripted", DefaultModel: c.DefaultModel, Models: c.Models, Origin: c.Origin}
		}
	}
	for i := range p.ir.Agents {
		if name := p.ir.Agents[i].Connection; !known[name] {
			known[name] = true
			conns = append(conns, llm.Connection{Name: name, Provider: "scripted"})
		}
	}
	return conns
}

// serverConfig is an MCP server as its performer wants it.
func serverConfig(s *ir.Server, root string) mcp.Config {
	return mcp.Config{Name: s.Name, Transport: s.Transport, Command: s.Command, Args: s.Args, Env: table(s.Env), Dir: root, URL: s.URL,
		Headers: table(s.Headers), HeadersEnv: table(s.HeadersEnv), Timeout: s.Timeout}
}

func table(pairs []ir.Pair) map[string]string {
	out := map[string]string{}
	for _, p := range pairs {
		out[p.Name] = p.Value
	}
	return out
}

// hostConfig is a host as its performer wants it. Paths of the manifest start
// at root.
func hostConfig(h *ir.Host, root string) host.Config {
	c := host.Config{
		Name: h.Name, Connector: h.Connector, Transport: h.Transport, Command: h.Command, Args: h.Args,
		Dir: root, Timeout: h.Timeout, InputFormat: h.InputFormat, OutputFormat: h.OutputFormat,
		Params: h.Params, MaxLine: h.MaxLine, Instances: h.Instances,
	}
	below := func(path string) string {
		if path = filepath.FromSlash(path); filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(root, path)
	}
	if h.WorkingDir != "" {
		c.Dir = below(h.WorkingDir)
	}
	if strings.Contains(h.Command, "/") {
		c.Command = below(h.Command)
	}
	for _, v := range h.Env {
		if c.Env == nil {
			c.Env = map[string]string{}
		}
		c.Env[v.Name] = v.Value
	}
	for _, v := range h.ParamsEnv {
		c.ParamsEnv = append(c.ParamsEnv, host.ParamEnv{Param: v.Name, Env: v.Value})
	}
	return c
}

// application is the layer that hands emits to the embedding application.
func (o *Options) application(next effect.Performer) effect.Performer {
	return &application{Performer: next, o: o}
}

type application struct {
	effect.Performer
	o    *Options
	turn sync.Mutex // awaited emits come from goroutines of their own
}

func (a *application) receive(channel string, payload json.RawMessage) {
	if a.o.OnEmit == nil {
		return
	}
	a.turn.Lock()
	defer a.turn.Unlock()
	a.o.OnEmit(channel, payload)
}

// Perform performs r, with the application where it is an emit.
func (a *application) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.Emit:
		if a.o.OnEmit != nil {
			a.receive(r.Channel, r.Payload)
			return nil, nil
		}
	case *effect.AwaitEmit:
		a.receive(r.Channel, r.Payload)
		return a.o.await(ctx, r, a.Performer)
	}
	return a.Performer.Perform(ctx, r)
}

// Start hands an awaited emit to the application at once, so that it comes in
// the program's order, and has it answered meanwhile.
func (a *application) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	if e, isAwait := r.(*effect.AwaitEmit); isAwait && (a.o.OnEmit != nil || a.o.OnAwait != nil) {
		a.receive(e.Channel, e.Payload)
		ctx, stop := context.WithCancel(ctx)
		go func() {
			done(a.o.await(ctx, e, a.Performer))
			stop()
		}()
		return stop, true
	}
	if s, can := a.Performer.(effect.Starter); can {
		return s.Start(ctx, r, done)
	}
	return nil, false
}

func (o *Options) await(ctx context.Context, r *effect.AwaitEmit, next effect.Performer) (effect.Result, error) {
	if o.OnAwait == nil {
		return next.Perform(ctx, r)
	}
	v, err := o.OnAwait(ctx, r.Channel, r.Payload)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, effect.Errorf("EmitError", "%v", err).With("channel", r.Channel).With("reason", "refused")
	case !json.Valid(v):
		return nil, effect.Errorf("EmitError", "the answer on channel '%s' is not JSON", r.Channel).With("channel", r.Channel).With("reason", "refused")
	}
	return &effect.Answer{Value: v}, nil
}
