package concerto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// Options contains everything that a run receives from outside. With the zero Options a run has no
// environment, no output and no answers, and it may use only the resources that the project's
// manifest configures.
type Options struct {
	// Args contains the arguments that std::env::args returns.
	Args []string
	// Input is the value that std::app::inputs returns. Its JSON form must be an object. nil means
	// an empty object.
	Input any
	// Env is the environment as "NAME=value", for example os.Environ(). The program, its hosts and
	// its MCP servers use it, and it contains the keys of models.
	Env []string
	// Dir is the working directory of the run. "" means the working directory of the process.
	Dir string
	// ProjectDir is the directory at which the relative paths in the manifest start, for a program
	// that LoadIR or LoadFS has loaded. "" means the working directory of the process. Other
	// programs use the directory of their manifest.
	ProjectDir string
	// Stdin is the standard input, which std::io reads. If AnswerEmit is nil, each line of Stdin
	// answers an awaited emit. nil means an empty input.
	Stdin io.Reader

	// Output receives printed text. If OnEmit is nil, Output also receives emits. nil discards
	// both.
	Output io.Writer
	// OnEmit is called for every emit, including awaited ones, in the order of the program. Calls
	// do not overlap, and the program waits until OnEmit returns.
	OnEmit func(Emit)
	// AnswerEmit answers awaited emits. It also answers approvals of tools, on the channel
	// "tool:approval". The answer is encoded as JSON. If AnswerEmit returns an error, the program
	// receives an EmitError. Several calls may overlap.
	AnswerEmit func(ctx context.Context, e Emit) (any, error)
	// AnswerHost answers the questions and approvals of hosts for which the program has neither a
	// handler nor a default. The answer is encoded as JSON and has the form of a handler's result.
	// Several calls may overlap. If AnswerHost is nil, the host receives an error.
	AnswerHost func(ctx context.Context, q HostQuestion) (any, error)

	// Tools contains Go functions that agents, hosts and dispatch_tool can call. nil means none.
	Tools *Tools
	// Session describes the run to tools and to std::app.
	Session Session

	// Model answers the requests of all agents instead of the manifest's connections. If it is nil,
	// the connections are used.
	Model Model
	// Hosts contains hosts that are Go functions, by the names of their declarations. They replace
	// the programs that the manifest configures, and need no permission. A durable run cannot have
	// them.
	Hosts map[string]Host
	// Permissions lists the resources that the program may use: those that Permissions and its
	// own [permissions] allow. If it is nil, a program of a project (Load, LoadFS) may use the
	// resources that the manifest's [permissions] allow, and without that section those that other
	// sections configure: models of connections with their keys, hosts, MCP servers, and a
	// temporary directory. A program without a manifest, and one from LoadSource or LoadIR, may
	// then use nothing. Resume needs the Permissions again: they are not stored.
	Permissions *Permissions
	// Budget contains limits in addition to the manifest's [limits].
	Budget Budget

	// Log receives the log of the run, from the lowest level that it is enabled for. nil discards
	// the log.
	Log *slog.Logger
	// Records configures the recordings of the run.
	Records Records
	// Durable stores the run so that it can be resumed. If it is nil, the run ends with its
	// process.
	Durable *Durable

	// Executable is the path of the `concerto` command, or "" if it is not installed. On Linux the
	// run uses the command to stop subprocesses when the application is killed. The hosts of a
	// durable run survive its process only if Executable is set.
	Executable string
}

// Session describes a run.
type Session struct {
	// ID identifies the run in records and in ToolCall. If it is "", an ID is created.
	ID string
	// Metadata is any data that has a JSON form.
	Metadata map[string]any
	// Env is the environment that handlers of tools receive in ToolCall.Env.
	Env map[string]string
	// Render lists the media types that the application can display, for tools that require one.
	Render []string
}

// Emit is a value that the program emits.
type Emit struct {
	// Channel is the name of the channel.
	Channel string
	// Payload is the emitted value as JSON. It is nil if there is none.
	Payload json.RawMessage
}

// HostQuestion is a question or an approval request of a host, which waits for the answer.
type HostQuestion struct {
	// Host is the name of the host's declaration.
	Host string
	// Type is the type of the message, such as "question" or "approval".
	Type string
	// Message is the message as JSON, without its type.
	Message json.RawMessage
	// Timeout is the time for which the host waits. 0 means no limit.
	Timeout time.Duration
}

// Budget limits a run. A field that is 0 sets no limit.
type Budget struct {
	// Time is the maximum duration of the run.
	Time time.Duration
	// Tokens is the maximum number of input and output tokens of all models.
	Tokens int64
	// CostUSD is the maximum cost of all models in US dollars.
	CostUSD float64
	// ToolCalls is the maximum number of calls of Options.Tools.
	ToolCalls int64
}

// Permissions lists the resources that a program may use. Access to any other resource is denied.
// "*" in a list allows all resources of its kind.
type Permissions struct {
	// Read and Write list files and directories that the program may read and change. A directory
	// includes its content. Relative paths start at Options.Dir.
	Read, Write []string
	// Net lists network hosts, including those of models: "api.openai.com", "*.example.com",
	// "localhost:8080".
	Net []string
	// Env lists environment variables, including those that contain keys of models.
	Env []string
	// Run lists commands, including those of MCP servers.
	Run []string
	// Host lists hosts by the name of their declaration or of their section in the manifest.
	Host []string
}

// AllowAll returns permissions for everything that the process may do. The program's own
// [permissions] still apply.
func AllowAll() *Permissions {
	all := []string{"*"}
	return &Permissions{Read: all, Write: all, Net: all, Env: all, Run: all, Host: all}
}

// grants converts permissions for the engine. nil grants nothing by itself.
func (p *Permissions) grants() (permit.Grants, error) {
	g := permit.Grants{Hint: fieldHint}
	if p == nil {
		return g, nil
	}
	g.Allow = map[permit.Kind]permit.List{}
	for kind, names := range map[permit.Kind][]string{permit.Read: p.Read, permit.Write: p.Write, permit.Net: p.Net,
		permit.Env: p.Env, permit.Run: p.Run, permit.Host: p.Host} {
		g.Allow[kind] = permit.List{All: slices.Contains(names, "*"), Names: names}
	}
	if err := g.Check(); err != nil {
		return g, convert(err)
	}
	return g, nil
}

// fieldHint returns how a Go program allows resources of a kind.
func fieldHint(k permit.Kind, names ...string) string {
	kind := kindName(k)
	field := "Options.Permissions." + strings.ToUpper(kind[:1]) + kind[1:]
	if len(names) == 0 {
		return field
	}
	return fmt.Sprintf("%s: %q", field, names)
}

// kindName returns the name of a kind of resources, which is that of its field in lower case.
func kindName(k permit.Kind) string { return strings.TrimPrefix(permit.Kinds[k].Flag, "allow-") }

// engine converts the options for the engine, except Records. limit applies without Permissions.
func (o *Options) engine(limit engine.Limit) (engine.Options, error) {
	allow, err := o.Permissions.grants()
	if err != nil {
		return engine.Options{}, err
	}
	x := engine.Options{
		WorkDir: o.Dir, Dir: o.ProjectDir, Allow: allow, Args: o.Args, Environ: o.Env, Executable: o.Executable,
		Session: tool.Context{SessionID: o.Session.ID, Environment: o.Session.Env, Metadata: o.Session.Metadata, Render: o.Session.Render},
		Output:  engine.Output{To: o.Output}, Answers: engine.Answers{Stdin: o.Stdin},
		Models:  engine.Models{Function: o.Model.function()},
		Service: &engine.Service{Budget: engine.Budget{RunSeconds: o.Budget.Time.Seconds(), Tokens: o.Budget.Tokens, CostUSD: o.Budget.CostUSD, ToolCalls: o.Budget.ToolCalls}},
	}
	if x.Limit = limit; o.Permissions != nil {
		x.Limit = engine.ByCaller
	}
	if o.Log != nil {
		x.LogLevel, x.OnLog = logTo(o.Log)
	}
	if err := o.addHosts(&x); err != nil {
		return x, err
	}
	if o.Tools != nil {
		x.Tools = &o.Tools.registry
	}
	if o.Input != nil {
		if x.Inputs, err = json.Marshal(o.Input); err != nil {
			return x, convert(fmt.Errorf("encode Options.Input: %w", err))
		}
	}
	if o.OnEmit != nil {
		x.OnEmit = func(channel string, payload json.RawMessage) { o.OnEmit(Emit{channel, payload}) }
	}
	if o.AnswerEmit != nil {
		x.OnAwait = func(ctx context.Context, channel string, payload json.RawMessage) (json.RawMessage, error) {
			return answer(o.AnswerEmit(ctx, Emit{channel, payload}))
		}
	}
	if o.AnswerHost != nil {
		x.Answers.OnAskHost = func(ctx context.Context, q effect.Asking, message json.RawMessage) (json.RawMessage, error) {
			return answer(o.AnswerHost(ctx, HostQuestion{q.Host, q.Type, message, time.Duration(q.Within) * time.Millisecond}))
		}
	}
	if d := o.Durable; d != nil {
		if x.Records.Durable, err = d.engine(); err != nil {
			return x, err
		}
	}
	return x, nil
}

// logTo returns the lowest level for which a logger is enabled, and a function that logs a line.
func logTo(l *slog.Logger) (lowest string, on func(level, message string)) {
	levels := map[string]slog.Level{"error": slog.LevelError, "warn": slog.LevelWarn, "info": slog.LevelInfo, "debug": slog.LevelDebug}
	lowest = "error"
	for name, level := range levels {
		if level < levels[lowest] && l.Enabled(context.Background(), level) {
			lowest = name
		}
	}
	return lowest, func(level, message string) { l.Log(context.Background(), levels[level], message) }
}

// answer encodes an answer of the application. err is returned unchanged if it is not nil.
func answer(v any, err error) (json.RawMessage, error) {
	if errors.Is(err, ErrNoAnswer) {
		return nil, tool.ErrNoApprover
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
