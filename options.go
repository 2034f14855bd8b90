package concerto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// Options are what a run receives from outside. The zero Options have no environment, no output and
// no answers; they permit what the program's own [permissions] permit.
type Options struct {
	// Args are the arguments that std::env::args returns.
	Args []string
	// Input is what std::app::inputs returns. Its JSON form must be an object; nil is an empty one.
	Input any
	// Env is the environment as "NAME=value", for example os.Environ(): for the program, its hosts
	// and MCP servers, and the keys of models.
	Env []string
	// Dir is the working directory of the run; "" is that of the process.
	Dir string
	// ProjectDir is where the relative paths in the manifest start, for a program of LoadIR or
	// LoadFS; "" is the working directory of the process. Other programs use the directory of their
	// manifest.
	ProjectDir string
	// Stdin is standard input: std::io reads it, and each of its lines answers an awaited emit when
	// there is no AnswerEmit. nil is an empty one.
	Stdin io.Reader

	// Output receives printed text, and emits when there is no OnEmit; nil discards them.
	Output io.Writer
	// OnEmit is called for every emit, also for awaited ones, in the order of the program. Calls do
	// not overlap, and the program waits until OnEmit returns.
	OnEmit func(Emit)
	// AnswerEmit answers awaited emits, and the approvals of tools on the channel "tool:approval".
	// The answer is encoded as JSON. An error becomes an EmitError in the program. Several calls
	// may overlap.
	AnswerEmit func(ctx context.Context, e Emit) (any, error)
	// AnswerHost answers the questions and approvals of hosts for which the program has neither a
	// handler nor a default. The answer is encoded as JSON; it is what a handler would return.
	// Several calls may overlap. nil: the host gets an error.
	AnswerHost func(ctx context.Context, q HostQuestion) (any, error)

	// Tools are Go functions that agents, hosts and dispatch_tool call; nil: none.
	Tools *Tools
	// Session describes the run to tools and to std::app.
	Session Session

	// Model answers the requests of all agents, in place of the manifest's connections; nil: they
	// do.
	Model Model
	// Permissions narrow what the program may access, in addition to its own [permissions]; nil
	// does not.
	Permissions *Permissions
	// Budget narrows the manifest's [limits].
	Budget Budget

	// Log receives the log of the run; nil discards it.
	Log io.Writer
	// LogLevel is the lowest level that is logged: "debug", "info", "warn" or "error"; "" is
	// "info".
	LogLevel string
	// Records are the recordings of the run.
	Records Records
	// Durable stores the run, so that it can be resumed; nil: it ends with its process.
	Durable *Durable

	// Executable is the path of the `concerto` command; "" when it is not installed. On Linux the
	// run uses it to stop subprocesses when the application is killed. The hosts of a durable run
	// survive its process only with it.
	Executable string
}

// Session describes a run.
type Session struct {
	// ID identifies the run in records and in ToolCall; "" creates one.
	ID string
	// Metadata is any data that has a JSON form.
	Metadata map[string]any
	// Env is the environment that the handlers of tools find in ToolCall.Env.
	Env map[string]string
	// Render lists the media types that the application can display, for tools that require one.
	Render []string
}

// Emit is an emit of the program.
type Emit struct {
	// Channel is the name of the channel.
	Channel string
	// Payload is the emitted value as JSON; nil when there is none.
	Payload json.RawMessage
}

// HostQuestion is a question or an approval that a host waits for.
type HostQuestion struct {
	// Host is the name of the host's declaration.
	Host string
	// Type is the type of the message, such as "question" or "approval".
	Type string
	// Message is the message as JSON, without its type.
	Message json.RawMessage
	// Timeout is how long the host waits; 0 is without a limit.
	Timeout time.Duration
}

// Budget limits a run. A field that is 0 sets no limit.
type Budget struct {
	// Time limits how long the run takes.
	Time time.Duration
	// Tokens limits the tokens of all models, in and out.
	Tokens int64
	// CostUSD limits what all models cost, in US dollars.
	CostUSD float64
	// ToolCalls limits the calls of Options.Tools.
	ToolCalls int64
}

// Permissions list what a program may access; what no list contains is refused. "*" in a list
// means all of its kind.
type Permissions struct {
	// Read and Write are files and directories with what is in them, to read and to change.
	// Relative paths start at Options.Dir.
	Read, Write []string
	// Net are network hosts, also those of models: "api.openai.com", "*.example.com",
	// "localhost:8080".
	Net []string
	// Env are environment variables, also those with keys of models.
	Env []string
	// Run are commands, also those of MCP servers.
	Run []string
	// Host are hosts, by their declaration or their section of the manifest.
	Host []string
}

// grants converts permissions; nil allows everything.
func (p *Permissions) grants() (permit.Grants, error) {
	if p == nil {
		return permit.Grants{}, nil
	}
	g := permit.Grants{Allow: map[permit.Kind]permit.List{}}
	for kind, names := range map[permit.Kind][]string{permit.Read: p.Read, permit.Write: p.Write, permit.Net: p.Net,
		permit.Env: p.Env, permit.Run: p.Run, permit.Host: p.Host} {
		g.Allow[kind] = permit.List{All: slices.Contains(names, "*"), Names: names}
	}
	if err := g.Check(); err != nil {
		return g, convert(fmt.Errorf("Options.Permissions: %w", err))
	}
	return g, nil
}

// engine converts the options, apart from the records.
func (o *Options) engine() (engine.Options, error) {
	allow, err := o.Permissions.grants()
	if err != nil {
		return engine.Options{}, err
	}
	x := engine.Options{
		WorkDir: o.Dir, Dir: o.ProjectDir, Allow: allow, Args: o.Args, Environ: o.Env, Executable: o.Executable,
		Session: tool.Context{SessionID: o.Session.ID, Environment: o.Session.Env, Metadata: o.Session.Metadata, Render: o.Session.Render},
		Output:  engine.Output{To: o.Output}, Answers: engine.Answers{Stdin: o.Stdin},
		Log: o.Log, LogLevel: o.LogLevel, Models: engine.Models{Function: o.Model.function()},
		Service: &engine.Service{Budget: engine.Budget{RunSeconds: o.Budget.Time.Seconds(), Tokens: o.Budget.Tokens, CostUSD: o.Budget.CostUSD, ToolCalls: o.Budget.ToolCalls}},
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
		x.Records.Durable = d.engine()
	}
	return x, nil
}

// answer encodes an answer of the application.
func answer(v any, err error) (json.RawMessage, error) {
	if errors.Is(err, ErrNoAnswer) {
		return nil, tool.ErrNoApprover
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
