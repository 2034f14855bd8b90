// Package world runs a program in a page: it is what internal/engine and runtime are for the
// command. Files are those of the process, which are in memory in a page; stores are in memory;
// hosts are played; commands, MCP servers and the network are refused.
package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/uncaught"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// ScriptExt is the extension of the file that plays the host of a connector.
const ScriptExt = ".host"

// The exit codes, which are those of the command.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitRefused     = 2
	ExitInterrupted = 130
)

// MaxMemoryMB limits the memory of a program's values.
const MaxMemoryMB = 512

// Options configures a run.
type Options struct {
	Dir  string // absolute path of the program's directory
	Path string // of the program, relative to Dir; "" for the project
	Args []string
	// Inputs is the result of std::app::inputs as a JSON object; nil means an empty object.
	Inputs  json.RawMessage
	Environ []string
	Mock    bool // all models are replaced by scripted replies
	Mode    emit.Mode
	Out     io.Writer // standard output
	Err     io.Writer // standard error
	// Event receives the events of the runtime; nil means that Err does.
	Event   func(line string)
	Answers []emit.Fixed
	// Prompter answers awaited emits; nil means that nothing does, except the lines of Stdin if it
	// is not nil.
	Prompter emit.Prompter
	Stdin    io.Reader
	// ByHand, if not nil, answers the requests to models that are not scripted.
	ByHand llm.Function
	// Key is the user's key of a provider, or "". Without it, no request leaves the page.
	Key string
	// Actor plays the hosts without a script; nil means that they do not start.
	Actor Actor
	// Trace receives each line between the program and its hosts.
	Trace func(Line)
	// OnEmit receives each emit, and Notice the reason when a resource was refused that a page does
	// not have. Calls may come from any goroutine.
	OnEmit   func(channel string, payload json.RawMessage)
	Notice   func(text string)
	Debugger vm.Observer
}

// Compile compiles the program of a run. If it does not compile, the returned program is nil.
// Compile prints the diagnostics in the form of the command.
func (o *Options) Compile() (p *ir.Program, code int) {
	if text, err := os.ReadFile(filepath.Join(o.Dir, manifest.FileName)); err == nil && HasDependencies(string(text)) {
		o.complain(NoPackages, "")
		return nil, ExitRefused
	}
	in, err := driver.Load(driver.Request{Path: o.Path, Dir: o.Dir, Mock: o.Mock, Plain: o.Debugger != nil})
	if path, ok := errors.AsType[*driver.PathError](err); ok {
		o.complain(path.Error(), path.Hint)
		return nil, ExitRefused
	}
	if err != nil {
		o.complain(err.Error(), "")
		return nil, ExitRefused
	}
	p, found := driver.Build(in)
	all := found.Sorted()
	_ = diag.Text(o.Err, all, diag.TextOptions{}) // there is no other place for errors of the output
	if found.HasErrors() {
		_, _ = fmt.Fprintf(o.Err, "\n%s\n", diag.Count(all))
		return nil, ExitRefused
	}
	return p, ExitOK
}

// NoPackages is the error of a manifest with dependencies.
const NoPackages = "packages are not available in the playground"

// HasDependencies reports whether a manifest has a section [dependencies].
func HasDependencies(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[dependencies]") || strings.HasPrefix(line, "[dependencies.") {
			return true
		}
	}
	return false
}

// Run compiles and runs a program, and returns the exit code that the command would have. It
// returns when the program has ended.
func Run(ctx context.Context, o Options) int {
	p, code := o.Compile()
	if p == nil {
		return code
	}
	return o.exitCode(o.run(ctx, p))
}

// run runs a compiled program.
func (o *Options) run(ctx context.Context, p *ir.Program) (err error) {
	limitMemory(p)
	w, err := o.newWorld(p)
	if err != nil {
		return err
	}
	defer func() {
		if closing := w.close(context.WithoutCancel(ctx)); err == nil {
			err = closing
		}
		err = cleanError(w.secrets, err)
	}()
	_, asks := o.Prompter.(emit.HostPrompter)
	m, err := vm.New(vm.Config{Program: p, Natives: stdlib.Native, Performer: w.Performer, AskPerson: asks, Application: vm.Application{Run: w.id, Tools: len(p.AppTools) > 0}, Observer: o.Debugger})
	if err != nil {
		return err
	}
	ctx, cancel := budget.Rest(ctx, nil, p.Limits.MaxRunSeconds, 0)
	defer cancel()
	out, err := m.Run(yielding(ctx))
	if err == nil {
		err = vm.ExitOf(m, out.Value)
	}
	if u, ok := errors.AsType[*vm.Uncaught](err); ok {
		if message := w.models.Unkeyed(); message != "" && !strings.Contains(u.Message, message) {
			u.Hint = "a model was not called: " + message
		}
	}
	return err
}

// limitMemory sets the limit of the page, unless the program's own limit is lower. Stores in files
// become stores in memory.
func limitMemory(p *ir.Program) {
	if p.Limits.MaxMemoryMB == 0 || p.Limits.MaxMemoryMB > MaxMemoryMB {
		p.Limits.MaxMemoryMB = MaxMemoryMB
	}
	for i := range p.Stores {
		p.Stores[i].File = ""
	}
}

// exitCode prints the error of a run and returns its exit code.
func (o *Options) exitCode(err error) int {
	failed, ok := errors.AsType[*vm.Uncaught](err)
	exit, ended := errors.AsType[*vm.Exit](err)
	switch {
	case err == nil:
		return ExitOK
	case ended:
		return exit.Code
	case ok:
		uncaught.Write(o.Err, failed, false)
	case errors.Is(err, context.Canceled):
		o.complain("interrupted", "")
		return ExitInterrupted
	case errors.Is(err, vm.ErrNoMain):
		o.complain(err.Error(), "add `fn main() { … }`, where a run starts")
		return ExitRefused
	default:
		o.complain(err.Error(), "")
	}
	return ExitFailed
}

// complain prints an error and, unless hint is empty, the next step, as the command does.
func (o *Options) complain(what, hint string) {
	_, _ = fmt.Fprintf(o.Err, "concerto: %s\n", terminal.Escape(what))
	if hint != "" {
		_, _ = fmt.Fprintf(o.Err, "  hint: %s\n", terminal.Escape(hint))
	}
}

// cleanError removes the secrets of a run from its error.
func cleanError(secrets *secret.Set, err error) error {
	if failed, ok := errors.AsType[*vm.Uncaught](err); ok {
		cleanUncaught(secrets, failed)
	}
	return secrets.Error(err)
}

func cleanUncaught(secrets *secret.Set, e *vm.Uncaught) {
	e.Message = secrets.Text(e.Message)
	for _, o := range e.Others {
		cleanUncaught(secrets, o)
	}
}

// observed wraps the performer of output, and passes each emit on.
type observed struct {
	*emit.Sink
	on func(channel string, payload json.RawMessage)
}

func (x observed) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	x.report(r)
	return x.Sink.Perform(ctx, r)
}

func (x observed) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	stop, ok = x.Sink.Start(ctx, r, done)
	if ok {
		x.report(r)
	}
	return stop, ok
}

func (x observed) report(r effect.Request) {
	switch q := r.(type) {
	case *effect.Emit:
		x.on(q.Channel, q.Payload)
	case *effect.AwaitEmit:
		if q.Misfit == "" {
			x.on(q.Channel, q.Payload)
		}
	}
}
