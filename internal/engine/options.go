package engine

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/engine/telemetry"
	"github.com/concerto-lang/concerto/internal/engine/transcript"
	"github.com/concerto-lang/concerto/internal/record/activity"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/internal/record/otlp"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/runtime/world/permit"
	"github.com/concerto-lang/concerto/vm"
)

// Limit determines the resources of a program for which neither its caller nor its manifest lists
// them.
type Limit string

// The limits.
const (
	// Unlimited is what the process may use, except for commands that no manifest names.
	Unlimited Limit = ""
	// Configured is what sections of the manifest configure, unless it has [permissions]: the
	// addresses and keys of connections, hosts, MCP servers, and a temporary directory.
	Configured Limit = "configured"
	// ByCaller is what Allow grants, unless the manifest has [permissions].
	ByCaller Limit = "caller"
	// Nothing is no resource.
	Nothing Limit = "nothing"
)

// stricter returns the limit that allows less.
func stricter(a, b Limit) Limit {
	for _, l := range []Limit{Nothing, Configured, ByCaller} {
		if a == l || b == l {
			return l
		}
	}
	return Unlimited
}

// Options configures a run. With the zero Options, the run has no environment and no output, and
// awaited emits have no answers. It may use the files, the network, the commands and the hosts of
// the process, as far as Allow and the program's [permissions] grant them.
type Options struct {
	// Tools are the application's tools, which agents, hosts and dispatch_tool may call
	// (spec/21-application-tools.md); nil for none. The registry may change during runs.
	Tools *tool.Registry
	// Session describes the run to the handlers of tools and to std::app. Session.SessionID becomes
	// the run's id. An empty Session.Cwd means WorkDir. Session.Environment is the complete
	// environment of handlers.
	Session tool.Context

	// WorkDir is the directory to which the program's paths are relative; "" means the working
	// directory of the process.
	WorkDir string
	// Dir is the directory to which the manifest paths of a loaded program are relative. For a
	// program that was compiled in this process, it is the root of its project.
	Dir string
	// Allow restricts the program in addition to its [permissions]; the zero Grants allow
	// everything (spec/19-permissions.md). A refusal is an error of the program, whose message
	// names the command-line flag.
	Allow permit.Grants
	// Limit applies in addition to Allow. It is stored with a durable run.
	Limit Limit
	// Bounds restricts the program in addition to Allow. A worker applies it to each of its runs.
	Bounds permit.Grants
	// Args is the result of std::env::args.
	Args []string
	// Inputs is the result of std::app::inputs as a JSON object; nil means an empty object.
	Inputs json.RawMessage
	// Environ contains the environment variables ("NAME=value") of the program and of its hosts and
	// servers. The API keys of models are read from it.
	Environ []string
	// Executable is the path of the concerto command, or "". On Linux, it is started as a guard
	// together with the first subprocess. If the application is killed, the guard kills the
	// children of the subprocesses; the subprocesses themselves are always killed. Hosts of
	// transport acp also start it, to call the tools of the program.
	Executable string

	// Output receives emits and printed text. If OnEmit is set, OnEmit receives the emits instead.
	Output Output
	// Answers are the sources of answers to awaited emits, unless OnAwait is set.
	Answers Answers
	// OnEmit receives every emit, including awaited ones, instead of Output. Calls are in the
	// program's order and never concurrent. The program waits until OnEmit returns.
	OnEmit func(channel string, payload json.RawMessage)
	// OnAwait answers awaited emits instead of Answers. Its error becomes an EmitError of the
	// program, whose reason is no_listener for ErrNoApprover.
	OnAwait func(ctx context.Context, channel string, payload json.RawMessage) (json.RawMessage, error)

	// Hosts contains hosts that are functions, by the names of their declarations. They replace
	// processes. A durable run has none.
	Hosts map[string]host.Function
	// OnLog, if not nil, also receives each line of the log. It must not block.
	OnLog func(level, message string)
	// Log receives the log of the run; nil means no log. LogLevel is one of LogLevels; "" means
	// "info".
	Log      io.Writer
	LogLevel string
	// Service, if not nil, receives the events of a run that a server performs for a client.
	Service *Service
	// Models replaces the models of the manifest.
	Models Models
	// Records configures what is recorded about the run.
	Records Records
	own     own
	// Kill, when it is closed, stops everything for which a cancelled run still waits, such as slow
	// hosts.
	Kill <-chan struct{}
}

// Models replaces the models of the manifest. The zero Models replaces none.
type Models struct {
	// Mock makes every connection scripted, including connections that the manifest lacks. The
	// replies are the same in each run: a value of the requested schema, or a text that repeats the
	// prompt.
	Mock bool
	// Function, if not nil, answers the requests on all connections.
	Function llm.Function
}

// own contains settings that only this package sets.
type own struct {
	// plain omits the tools of the program's manifest, because the program itself implements a
	// tool.
	plain bool
	seed  *int64 // seed of the random numbers; nil means a random seed
	// durable is the stored run that is resumed; nil for other runs.
	durable *StoredRun
	layer   effect.Layer // innermost layer around the performers; nil for none
	seams   *Seams       // nil replaces nothing
}

// Output configures the output of a run: emits and printed text.
type Output struct {
	To   io.Writer // nil means no output
	Mode emit.Mode
	// Terminal means that To is a terminal. Control characters in texts are then escaped, because
	// the texts may come from models or hosts.
	Terminal bool
	// Viewed means that another view shows the progress, so progress events are not printed.
	Viewed bool
	// Listed means that lines show what hosts do; see emit.Options.
	Listed bool
	// Events receives the events of the runtime if To is not a terminal and Mode is emit.Text; see
	// emit.Options.
	Events func(channel, line string)
	// Synchronous means that the log goes to the same file as To; see emit.Options.
	Synchronous bool
	// Detail, if not zero, is the start time of the run. Each event and NDJSON line then contains
	// the seconds since this time, the task, and the exchange with a host. Each line of the log is
	// a JSON object (spec/11-emit.md).
	Detail time.Time
}

// Answers contains the sources of answers to awaited emits. They are tried in the order of the
// fields (spec/11-emit.md).
type Answers struct {
	Fixed []emit.Fixed
	// Handler is a command that runs in HandlerDir; "" means none. Its environment contains the
	// variables that every subprocess receives (spec/08-hosts.md) and the variables in PassEnv.
	Handler    string
	HandlerDir string
	PassEnv    []string
	Prompter   emit.Prompter
	// OnAskHost answers questions and approvals of hosts that the program neither handles nor has a
	// default for. It is called before the Prompter. Its error becomes an EmitError of the
	// exchange.
	OnAskHost func(ctx context.Context, q effect.Asking, message json.RawMessage) (json.RawMessage, error)
	// Stdin is the standard input if it is not a terminal; nil means an empty input. std::io reads
	// it. Without a Prompter, each of its lines answers an awaited emit.
	Stdin io.Reader
	// Relay, if not nil, receives everything that the run does. People at the relay and the
	// Prompter receive questions at the same time, and the first answer is used. The caller must
	// call Relay's End.
	Relay Relay
}

// Records configures what is recorded about a run. The zero Records records nothing.
type Records struct {
	// Debugger, if not nil, may stop and inspect the run.
	Debugger vm.Debugger
	// OnUsage is called once after the run with what it has used. Shares means that this includes
	// Used.Shares.
	OnUsage func(*Used)
	Shares  bool
	// Transcript receives the complete texts between the program and its models as records
	// (spec/20-transcript.md), without the run's secrets. nil means no transcript.
	Transcript io.Writer
	// Steps is the level of detail at which the content of a Transcript is logged.
	Steps Steps
	// OnActivity is called for each event of the run's hosts as it happens. Calls are never
	// concurrent, but may come from any goroutine. The program waits until OnActivity returns.
	OnActivity func(activity.Event)
	// Telemetry exports the run to a collector of OpenTelemetry (spec/40-telemetry.md). The run
	// does not close it. nil means no export.
	Telemetry *telemetry.Telemetry
	// TraceParent is the position in a trace that the run continues, for Telemetry. If it is zero,
	// that of the environment applies.
	TraceParent otlp.Context
	// LiveDir is the directory in which the run has a socket while it runs, for `concerto top`
	// (package live); "" for no socket.
	LiveDir string
	// Sinks receive the events of the run (package event).
	Sinks []event.Sink
	// OnBegin, if not nil, is called before the first event of the run with its id and its secrets.
	// The run may add secrets.
	OnBegin func(id string, secrets *secret.Set)
	// Audit records every tool call, also if it was refused. A call that cannot be recorded is not
	// made. Each record is also emitted on `audit:tool`. The run does not close the log. nil means
	// the log that the program's manifest names, if there is one.
	Audit *audit.Log
	// Ledger records each decision: answers to requests of hosts and of the program, and approvals
	// of tool calls (spec/27-ledger.md). The run stops if a decision cannot be recorded. The run
	// does not close the ledger. nil means no ledger.
	Ledger *ledger.Ledger
	// Profile receives a CPU profile of the run for `go tool pprof`. Trace receives the run's tasks
	// and effects as trace events for Perfetto, also during the run. Both are complete when Run
	// returns, however the run ended. nil means none.
	Profile io.Writer
	Trace   io.Writer
	// Durable, if not nil, stores the run in a directory, so that it can be resumed.
	Durable *Durable
	// Tape receives the results of the run's effects as a tape, which Replay plays
	// (spec/25-tapes.md), without the run's secrets. nil means no tape.
	Tape io.Writer
	// Wire receives each line between the run and its hosts as it passes, in the form of `--wire`
	// (spec/34-host.md), without the run's secrets. Each line is written in one call. nil means
	// none.
	Wire io.Writer
}

// Used is what models and hosts have used in a run. Failures of hosts are only in Shares.
type Used struct {
	All       models.Sum
	AllModels budget.Usage
	Models    []budget.Usage // each model of each connection
	Hosts     []budget.HostUsage
	Shares    transcript.Usage // by agent, stage, task and host
}
