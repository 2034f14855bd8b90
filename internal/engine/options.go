package engine

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/transcript"
	"github.com/concerto-lang/concerto/internal/record/activity"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/runtime/world/permit"
	"github.com/concerto-lang/concerto/vm"
)

// Options say what a run gets from outside. The zero Options give it no
// environment, no output, and no answers to awaited emits. Files, the network,
// commands and hosts are those of the process, as far as Allow and the program's
// [permissions] grant them.
type Options struct {
	// Tools are the application's tools, which agents, hosts and dispatch_tool may call
	// (spec/21-application-tools.md); nil: there are none. They may change while runs go on.
	Tools *tool.Registry
	// Session is what the tools' handlers, and std::app, are told of the run. Its SessionID
	// becomes the run's id; its Cwd is WorkDir when it is "". Environment is all that handlers
	// get of an environment.
	Session tool.Context

	// WorkDir is the directory at which the relative paths in the program start;
	// "" means the process's working directory.
	WorkDir string
	// Dir is the directory at which the relative paths of a loaded program's
	// manifest start. A program that was compiled here uses its project's root.
	Dir string
	// Allow narrows what the program may touch, beyond its own [permissions]; the
	// zero Grants allow everything (spec/19-permissions.md). A refusal is an
	// error of the program, whose message names the command's flag.
	Allow permit.Grants
	// Args are what std::env::args gives.
	Args []string
	// Inputs are what std::app::inputs gives, a JSON object; nil is an empty one.
	Inputs json.RawMessage
	// Environ is the environment as "NAME=value": for the program, its hosts and
	// servers, and the keys of models.
	Environ []string
	// Executable is the file of the command concerto, "" when there is none. On Linux it is
	// started again with the first subprocess, and ends what subprocesses have left
	// when the application is killed; they themselves are killed with it in any case.
	// Agents of transport acp start it to reach the tools of their host.
	Executable string

	// Output takes emits and printed text, unless OnEmit does.
	Output Output
	// Answers answer awaited emits, unless OnAwait does.
	Answers Answers
	// OnEmit receives every emit, awaited ones too, instead of Output. It is
	// called in the program's order, one call at a time. The program waits until
	// it returns.
	OnEmit func(channel string, payload json.RawMessage)
	// OnAwait answers awaited emits; Answers are then not used. Its error becomes
	// the program's EmitError.
	// ErrNobody has the reason no_listener.
	OnAwait func(ctx context.Context, channel string, payload json.RawMessage) (json.RawMessage, error)

	// Log takes the run's log; nil drops it. LogLevel is one of LogLevels, "" for
	// "info".
	Log      io.Writer
	LogLevel string
	// Service is what runs programs for others; nil without one.
	Service *Service
	// Models replace the models of the manifest.
	Models Models
	// Records are what else is recorded of the run.
	Records Records
	own     own
	// Kill, when closed, ends at once what a cancelled run still waits for: hosts
	// that take their time to end.
	Kill <-chan struct{}
}

// Models answer in place of those of the manifest; the zero Models replace none.
type Models struct {
	// Mock makes every connection scripted, also those that the manifest does not
	// have. Replies are the same in each run: a value of the schema where there
	// is one, else a text that repeats the prompt.
	Mock bool
	// Function answers on every connection; nil: the providers do.
	Function llm.Function
}

// own is what this package says of a run to itself.
type own struct {
	// plain says that the run has no tools of its manifest: it answers as a tool itself, and
	// those may be the same.
	plain bool
	seed  *int64 // of the random numbers; nil: by chance
	// durable is how a run that is gone on with was begun; nil for others.
	durable *StoredRun
	running *durableRun // nil for a run that is no durable one
}

// Output is where a run's emits and printed text go.
type Output struct {
	To   io.Writer // nil drops them
	Mode emit.Mode
	// Terminal says that To is a terminal: control characters in texts are shown
	// escaped, as texts may come from models or hosts.
	Terminal bool
	// Viewed says that a live view beside To shows how far the run is: events that
	// say so are not written, too.
	Viewed bool
	// Detail, when not zero, is the time when the run began. Each event and
	// NDJSON line then gives the seconds since, its task, and its exchange with a
	// host; each line of the log is a JSON object (spec/11-emit.md).
	Detail time.Time
}

// Answers are the sources of answers to awaited emits, tried in the order of the
// fields (spec/11-emit.md).
type Answers struct {
	Fixed []emit.Fixed
	// Handler is a command, run in HandlerDir; "" is none. Of the environment it gets
	// what every process gets (spec/08-hosts.md) and what PassEnv names.
	Handler    string
	HandlerDir string
	PassEnv    []string
	Prompter   emit.Prompter
	// OnAskHost answers questions and approvals of hosts that the program neither handles nor has
	// a default for, before the Prompter. Its error becomes an EmitError of the exchange.
	OnAskHost func(ctx context.Context, q effect.Asking, message json.RawMessage) (json.RawMessage, error)
	// Stdin is standard input when it is no terminal, nil for an empty one: std::io reads it, and
	// without a Prompter each of its lines answers an awaited emit.
	Stdin io.Reader
	// Relay is told of all that the run does. People there are asked at once with the
	// Prompter, and the first answer counts. nil: there is none. Its End is the caller's.
	Relay Relay
}

// Records are what is recorded of a run; the zero Records record nothing.
type Records struct {
	// Debugger has the run stand still where it likes, and looks at it; nil: nobody does.
	Debugger vm.Debugger
	// OnUsage is called once, when the run has ended, with what the run used of
	// models.
	OnUsage func(each []budget.Usage, all budget.Usage)
	// OnShares is called once too, with the same usage by agent, stage and task.
	OnShares func(transcript.Usage)
	// Transcript receives what the program and its models say to each other, in
	// full, as records (spec/20-transcript.md). The run's secrets are removed.
	// nil means no transcript.
	Transcript io.Writer
	// Steps is how much of what a Transcript has is logged.
	Steps Steps
	// OnActivity is called for what the run does with its hosts, when it happens:
	// one call at a time, from any goroutine. The program waits until it returns.
	OnActivity func(activity.Event)
	// Audit takes a record of every call of a tool, made or refused; a call that cannot
	// be recorded does not happen. Each record is also emitted on `audit:tool`. The run
	// does not close it. nil: the log that the program's manifest names, if it does.
	Audit *audit.Log
	// Ledger takes a record of each decision: who answered what hosts and the program asked,
	// and approved of calls of tools (spec/27-ledger.md). What cannot be recorded ends the run.
	// The run does not close it. nil means none.
	Ledger *ledger.Ledger
	// Profile receives a CPU profile of the run for `go tool pprof`; Trace
	// receives its tasks and effects as trace events for Perfetto. nil means
	// none. Both are complete when Run returns, however the run ended; Trace is
	// also written while the run goes on.
	Profile io.Writer
	Trace   io.Writer
	// Durable keeps the run in a directory, so that it can be gone on with; nil: it ends with
	// its process.
	Durable *Durable
	// Tape receives what the run gets from the world, as a tape that Replay plays
	// (spec/25-tapes.md). The run's secrets are removed. nil means none.
	Tape io.Writer
	// Boundary is called wherever a run with a Tape waits for its next result, on the run's
	// goroutine. verify takes a snapshot of the run there, and has the run go on from it, with
	// nothing else of its state left; refused is why no snapshot can be taken, err says that it does
	// not hold all. nil means none.
	Boundary func(verify func() (refused, err error))
	// Wire receives each line that passes between the run and its hosts, as it
	// happens, by one write each, in the form of `--wire` (spec/18-cli.md). The run's
	// secrets are removed. nil means none.
	Wire io.Writer
}
