package concerto

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

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

	// Output takes emits and printed text, unless OnEmit does.
	Output Output
	// Answers answer awaited emits, unless OnAwait does.
	Answers Answers
	// OnEmit receives every emit, awaited ones too, instead of Output. It is
	// called in the program's order, one at a time, and holds the program up
	// until it returns.
	OnEmit func(channel string, payload json.RawMessage)
	// OnAwait answers awaited emits instead of all Answers. Its error is the
	// program's EmitError.
	OnAwait func(ctx context.Context, channel string, payload json.RawMessage) (json.RawMessage, error)

	// Log takes the run's log; nil drops it. LogLevel is one of LogLevels, "" for
	// "info".
	Log      io.Writer
	LogLevel string
	// Mock plays every connection that is not scripted, also one that the manifest
	// does not have, with the same answers each time: shaped by the schema where
	// there is one, else naming the prompt.
	Mock bool
	// Records are what is written down of the run besides.
	Records Records
	// Kill, when closed, ends at once what a cancelled run still waits for:
	// hosts that take their time to leave.
	Kill <-chan struct{}
}

// Output is where a run's emits and printed text go.
type Output struct {
	To   io.Writer // nil drops them
	Mode Mode
	// Terminal says that To is one: characters that steer a terminal are shown
	// escaped, so that others' texts cannot.
	Terminal bool
	// Detail, when it is not zero, is when the run began. Then events and the lines
	// of NDJSON say in seconds since then when they came, from which task and in
	// which exchange with a host, and the log is a JSON object a line
	// (spec/11-emit.md).
	Detail time.Time
}

// Answers are where the answers of awaited emits come from, in the order of the
// fields (spec/11-emit.md).
type Answers struct {
	Fixed []Answer
	// Handler is a command, run in HandlerDir; "" is none.
	Handler    string
	HandlerDir string
	Prompter   Prompter
}

// Records are what is written down of a run; the zero Records are nothing.
type Records struct {
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
}
