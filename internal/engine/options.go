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

// Options configures a run. The zero Options give it no environment, no output, and no answers to
// awaited emits. It uses the files, the network, commands and hosts of the process, as far as Allow
// and the program's [permissions] grant them.
type Options struct {
	// Tools are the application's tools, which agents, hosts and dispatch_tool may call
	// (spec/21-application-tools.md); nil for none. They may change during runs.
	Tools *tool.Registry
	// Session describes the run to the tools' handlers and std::app. Its SessionID becomes the
	// run's id; for Cwd, "" means WorkDir. Environment is the complete environment of handlers.
	Session tool.Context

	// WorkDir is the base of relative paths in the program; "" means the process's working
	// directory.
	WorkDir string
	// Dir is the base of relative paths in a loaded program's manifest. A program that was compiled
	// in this process uses its project's root.
	Dir string
	// Allow restricts the program further than its own [permissions]; the zero Grants allow
	// everything (spec/19-permissions.md). A refusal is an error of the program, whose message
	// names the command's flag.
	Allow permit.Grants
	// Args is the result of std::env::args.
	Args []string
	// Inputs is the result of std::app::inputs, a JSON object; nil is an empty one.
	Inputs json.RawMessage
	// Environ is the environment as "NAME=value": for the program, its hosts and servers, and the
	// keys of models.
	Environ []string
	// Executable is the path of the concerto program, or "". On Linux it is started as a guard
	// together with the first subprocess, and ends the subprocesses' children if the application is
	// killed; the subprocesses themselves are always killed with it. Agents of transport acp start
	// it to reach the tools of their host.
	Executable string

	// Output receives emits and printed text, unless OnEmit does.
	Output Output
	// Answers answer awaited emits, unless OnAwait does.
	Answers Answers
	// OnEmit receives every emit, including awaited ones, instead of Output. It is called in the
	// program's order, one call at a time. The program waits until it returns.
	OnEmit func(channel string, payload json.RawMessage)
	// OnAwait answers awaited emits in place of Answers. Its error becomes the program's EmitError.
	// ErrNoApprover has the reason no_listener.
	OnAwait func(ctx context.Context, channel string, payload json.RawMessage) (json.RawMessage, error)

	// Log receives the run's log; nil drops it. LogLevel is one of LogLevels, "" means "info".
	Log      io.Writer
	LogLevel string
	// Service, if not nil, runs programs for others.
	Service *Service
	// Models replace the models of the manifest.
	Models Models
	// Records configures what else is recorded of the run.
	Records Records
	own     own
	// Kill, when closed, ends everything that a cancelled run still waits for, such as slow hosts.
	Kill <-chan struct{}
}

// Models answer in place of those of the manifest; the zero Models replace none.
type Models struct {
	// Mock makes every connection scripted, including those that the manifest lacks. Replies are
	// the same in each run: a value of the schema, or a text that repeats the prompt.
	Mock bool
	// Function, if not nil, answers on every connection.
	Function llm.Function
}

// own contains settings that only this package makes.
type own struct {
	// plain means that the run has no tools of its manifest, because it answers as a tool itself.
	plain bool
	seed  *int64 // of the random numbers; nil means random
	// durable is the stored run that is resumed; nil for others.
	durable *StoredRun
	running *durableRun // nil if the run is not durable
}

// Output configures where a run's emits and printed text go.
type Output struct {
	To   io.Writer // nil drops them
	Mode emit.Mode
	// Terminal means that To is a terminal: control characters in texts are escaped, because texts
	// may come from models or hosts.
	Terminal bool
	// Viewed means that a live view shows progress, so progress events are not printed.
	Viewed bool
	// Detail, if not zero, is the time when the run began. Each event and NDJSON line then contains
	// the seconds since, its task, and its exchange with a host; each line of the log is a JSON
	// object (spec/11-emit.md).
	Detail time.Time
}

// Answers contains the sources of answers to awaited emits, tried in the order of the fields
// (spec/11-emit.md).
type Answers struct {
	Fixed []emit.Fixed
	// Handler is a command, run in HandlerDir; "" means none. Its environment contains the
	// variables that every process receives (spec/08-hosts.md) and those in PassEnv.
	Handler    string
	HandlerDir string
	PassEnv    []string
	Prompter   emit.Prompter
	// OnAskHost answers questions and approvals of hosts that the program neither handles nor has a
	// default for, before the Prompter does. Its error becomes an EmitError of the exchange.
	OnAskHost func(ctx context.Context, q effect.Asking, message json.RawMessage) (json.RawMessage, error)
	// Stdin is standard input if it is not a terminal; nil is an empty one. std::io reads it, and
	// without a Prompter each of its lines answers an awaited emit.
	Stdin io.Reader
	// Relay, if not nil, receives everything that the run does. People there are asked at the same
	// time as the Prompter, and the first answer counts. The caller must call its End.
	Relay Relay
}

// Records configures what is recorded of a run; the zero Records record nothing.
type Records struct {
	// Debugger, if not nil, may stop and inspect the run.
	Debugger vm.Debugger
	// OnUsage is called once, when the run has ended, with the usage of models.
	OnUsage func(each []budget.Usage, all budget.Usage)
	// OnShares is called once with the same usage by agent, stage and task.
	OnShares func(transcript.Usage)
	// Transcript receives the complete texts between the program and its models, as records
	// (spec/20-transcript.md). The run's secrets are removed. nil means no transcript.
	Transcript io.Writer
	// Steps is the detail in which a Transcript's content is logged.
	Steps Steps
	// OnActivity is called for events of the run's hosts when they happen: one call at a time, from
	// any goroutine. The program waits until it returns.
	OnActivity func(activity.Event)
	// Audit records every call of a tool, made or refused; a call that cannot be recorded is not
	// made. Each record is also emitted on `audit:tool`. The run does not close it. nil means the
	// log that the program's manifest names, if it names one.
	Audit *audit.Log
	// Ledger records each decision: who answered requests of hosts and the program, and approved
	// calls of tools (spec/27-ledger.md). If a decision cannot be recorded, the run ends. The run
	// does not close it. nil means none.
	Ledger *ledger.Ledger
	// Profile receives a CPU profile of the run for `go tool pprof`; Trace receives its tasks and
	// effects as trace events for Perfetto. nil means none. Both are complete when Run returns,
	// however the run ended; Trace is also written during the run.
	Profile io.Writer
	Trace   io.Writer
	// Durable, if not nil, stores the run in a directory, so that it can be resumed.
	Durable *Durable
	// Tape receives the results of the run's effects, as a tape that Replay plays
	// (spec/25-tapes.md). The run's secrets are removed. nil means none.
	Tape io.Writer
	// Boundary, if not nil, is called wherever a run with a Tape waits for its next result, on the
	// run's goroutine. verify takes a snapshot of the run, and replaces the run's state by it;
	// refused is why no snapshot is possible, and err means that the snapshot is incomplete.
	Boundary func(verify func() (refused, err error))
	// Wire receives each line between the run and its hosts, when it passes, in one write each, in
	// the form of `--wire` (spec/34-host.md). The run's secrets are removed. nil means none.
	Wire io.Writer
}
