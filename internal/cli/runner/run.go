// Package runner has the commands that run a program: run, resume and replay.
package runner

import (
	"context"
	"encoding/json"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/cmdline"
	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/heap"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/rerun"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// runCommand is the command run with its options.
type runCommand struct {
	console *console.Console

	program.WorldFlags
	emit    string
	code    program.CodeFlag
	watch   bool
	detail  bool
	stats   bool
	format  *cmdline.Format // of stats
	noInput bool
	input   string
	inputs  json.RawMessage // what input says
	shown   string          // progress: one of progressForms, "" for what is usual

	relay   string // hostd's socket, anySocket for the usual one, "" when nothing is said
	durable durableFlags
	debug   string
	files   recordFiles
}

// recordFiles are the files that are written while the program runs, "" for none.
type recordFiles struct {
	profile, trace, transcript, wire, tape, ledger string
}

var runHelp = `Runs a program. What it emits goes to stdout; logs, progress and mistakes go to
stderr. Ctrl-C ends the run with everything it has started; a second one does so
without waiting for hosts that take their time.

  concerto run                      the project here or above
  concerto run triage.conc          one file
  concerto run triage.conc-ir       a compiled program
  concerto run triage.conc -- a b   std::env::args gives ["a", "b"]
  concerto run -e 'println(6 * 7)'  statements, or a whole program
  concerto run -                    a program on standard input
  concerto run --watch triage.conc  again whenever a file of it changes; what still
                                    runs is ended

With --mock every model is played: no key, no network, the same answers each
time, in the schema where the program asks for one.

Awaited emits (await emit("approve", x)) are answered by, in this order:
  --answer approve=yes              the same value each time; repeatable; JSON
                                    where the program wants more than text
  --emit-handler ./answer.py        a program: {"channel":…,"payload":…} in,
                                    {"value":…} or {"error":"…"} out, a line each
  you, when stdin is a terminal, else the next line of stdin, and people who follow the
  run from elsewhere, through this machine's hostd (--share): who answers first

With --share the run is told of through this machine's hostd (` + "`concerto relay hostd`" + `), so
that people follow it from elsewhere and answer what it asks; [relay] share = true in
the manifest does the same. Without a hostd the run goes on as if it were not given.

` + program.PermissionHelp("concerto run") + `

A compiled program that was built by somebody else and asks for commands, hosts,
files or the network is listed with what it may do, and you are asked once
whether to run it. Where nobody can be asked it ends with exit code 2, unless
--trust, or a flag for each kind that it asks for, has decided.

What its hosts do is shown on stderr: on a terminal by lines that are drawn again
as they go on, else, or with --progress plain, by a line when one starts, asks, is
answered and by whom, and ends. --progress none, or -q, shows nothing;
CONCERTO_PROGRESS is the flag where it is not given.

What hosts ask and nobody answers is asked you, when stdin and stderr are
terminals; --no-input asks nobody.

What it does with models:
  -v                                a line on stderr for each request, reply, tool
                                    call, repair and retry, with tokens, time and cost
  -vv                               and what was said
  --transcript talk.ndjson          the same whole, as records (spec/20-transcript.md)
  --wire talk.wire                  each line that passes between the run and its hosts,
                                    as it happens; ` + "`concerto host replay`" + ` plays it
  --stats                           what was used, by model, agent, stage and task;
                                    --stats --format json is one line for programs

Who decided what hosts and the program asked, and which calls of tools are approved of:
  --ledger decisions.ndjson         a record for each, chained by hashes;
                                    ` + "`concerto audit show`" + ` tells it, ` + "`audit verify`" + ` that it is whole

A run that can be run again without the world:
  --record bug.tape                 what models, hosts, files, people and the clock gave
                                    it; ` + "`concerto runs replay bug.tape`" + ` plays it

A run that survives its process, and the machine's power:
  --journal DIR                     keep in DIR all that is needed to go on with it:
                                    ` + "`concerto runs resume DIR`" + `
  --journal DIR --park              and wait without a process for answers that nobody
                                    here gives: exit code 75, ` + "`concerto runs answer`" + `, resume
[run] journal = "runs" in the manifest does so for each run.

With an editor's debugger, which attaches to it before its first line:
  --debug 127.0.0.1:4711            (` + "`concerto dap`" + ` is what editors start themselves)

Where a run spends its time:
  --profile cpu.pprof               by functions and lines: go tool pprof -top cpu.pprof
  --trace trace.json                its tasks, effects, hosts and agents on a time
                                    line: open it in ui.perfetto.dev`

func NewRun(a *console.Console) *cobra.Command {
	cmd := runCommand{console: a}
	c := &cobra.Command{
		Use:   "run [PATH | - | -e CODE] [-- ARGS…]",
		Short: "Run a program",
		Long:  runHelp,
		Args:  console.OnePath(true),
		RunE: func(c *cobra.Command, args []string) error {
			p, rest := console.Path(c, args)
			return cmd.runPath(c.Context(), p, rest)
		},
	}
	c.Flags().StringVar(&cmd.emit, "emit", "text", "form of emits on stdout: `FORM` is text, ndjson or none")
	c.Flags().VarP(&cmd.code, "eval", "e", "run `CODE`: a program, or the statements of its main")
	c.Flags().BoolVar(&cmd.watch, "watch", false, "run again whenever a file of the program changes, until Ctrl-C")
	c.Flags().BoolVar(&cmd.detail, "emit-detail", false, "say in events and lines of ndjson when, where and in which task; stderr is ndjson")
	cmd.Add(c)
	c.Flags().StringVar(&cmd.shown, "progress", "", "show on stderr what hosts do: `FORM` is auto, plain or none (default auto)")
	c.Flags().StringVar(&cmd.input, "input", "", program.InputUsage)
	c.Flags().BoolVar(&cmd.noInput, "no-input", false, "never prompt at the terminal, and never read stdin")
	relayFlag(c, &cmd.relay)
	c.Flags().StringVar(&cmd.debug, "debug", "", "wait at `ADDR`, such as 127.0.0.1:4711, for an editor that debugs the program")
	cmd.records(c)
	cmd.durable.add(c)
	cmd.durable.command = c
	c.ValidArgsFunction = console.CompleteFiles("conc", "conc-ir")
	console.CompleteFlag(c, "emit", func() []string { return program.ModeNames })
	console.CompleteFlag(c, "progress", func() []string { return progressForms })
	cmd.Permissions.Complete(a, c)
	return c
}

// records adds the flags that say what is recorded of a run, and where.
func (cmd *runCommand) records(c *cobra.Command) {
	c.Flags().BoolVar(&cmd.stats, "stats", false, "say on stderr what was used of models, by model, agent, stage and task")
	cmd.format = cmdline.AddFormatUsage(c, "print --stats as `FORMAT`: text or json (default text)", "text", "json")
	c.Flags().StringVar(&cmd.files.transcript, "transcript", "", "write what the program and its models say to each other to `FILE`")
	c.Flags().StringVar(&cmd.files.tape, "record", "", "write what the run gets from the world to `FILE`, for concerto runs replay")
	c.Flags().StringVar(&cmd.files.ledger, "ledger", "", "record who decided what in `FILE`, which shows when it was changed")
	c.Flags().StringVar(&cmd.files.wire, "wire", "", program.WireUsage)
	c.Flags().StringVar(&cmd.files.profile, "profile", "", "write a CPU profile to `FILE`")
	c.Flags().StringVar(&cmd.files.trace, "trace", "", "write a trace of tasks and effects to `FILE`")
}

func (cmd *runCommand) runPath(parent context.Context, path string, args []string) error {
	if err := console.OneOf("--emit", cmd.emit, program.ModeNames); err != nil {
		return err
	}
	if !cmd.format.IsText() && !cmd.stats {
		return console.Usage("add --stats, or for emits give --emit ndjson", "--format is the form of --stats")
	}
	form, err := progressForm(cmd.console, cmd.shown)
	if err != nil {
		return err
	}
	cmd.shown, cmd.console.NoInput = form, cmd.noInput
	inputs, err := program.ReadInputs(cmd.console, cmd.input)
	if err != nil {
		return err
	}
	cmd.inputs = inputs
	if cmd.detail {
		cmd.console.Began = time.Now()
	}
	s, err := program.Source(cmd.console, path, cmd.given())
	if err != nil {
		return err
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	cmd.console.Interrupt = signals.Interrupt
	if cmd.debug != "" {
		return cmd.runDebugged(s, signals, func() error { return cmd.runOnce(ctx, s, args, signals) })
	}
	interrupt.FollowDebugger(cmd.console, signals)
	if !cmd.watch {
		return cmd.runOnce(ctx, s, args, signals)
	}
	if s.Given != nil {
		return console.Usage("name a file", "--watch has nothing to look at in a program that is in no file")
	}
	return rerun.OnChange(ctx, cmd.console, true, func(ctx context.Context, seen func(string)) error {
		s := s
		s.Seen = seen
		return cmd.runOnce(ctx, s, args, signals)
	})
}

// given is what -e gives, nil without it.
func (cmd *runCommand) given() *string {
	if !cmd.code.Given {
		return nil
	}
	return &cmd.code.Text
}

func (cmd *runCommand) runOnce(ctx context.Context, s driver.Request, args []string, signals *interrupt.Handler) error {
	if cmd.detail {
		cmd.console.Began = time.Now() // under --watch each run begins anew
	}
	p, o, err := program.Prepare(ctx, cmd.console, s, &cmd.WorldFlags, signals)
	if err != nil {
		return err
	}
	o.Args, o.Inputs = args, cmd.inputs
	if cmd.console.Debugging.Debugger != nil {
		o.Records.Debugger = cmd.console.Debugging.Debugger
	}
	if err := cmd.useJournal(p, &o); err != nil {
		return err
	}
	return cmd.runProgram(ctx, p, &o, s.Seen, signals, func() error { return p.Run(ctx, o) })
}

// runProgram runs a program with all that is shown and kept of a run.
func (cmd *runCommand) runProgram(ctx context.Context, p *engine.Program, o *engine.Options, seen func(string), signals *interrupt.Handler, run func() error) error {
	if cmd.files.wire != "" {
		if err := program.CheckWireFile(cmd.console, p, cmd.files.wire); err != nil {
			return err
		}
	}
	cmd.Tools.Watch(cmd.console, seen)
	endTools, err := program.RegisterTools(ctx, cmd.console, &cmd.Tools, p, o)
	if err != nil {
		return err
	}
	if cmd.console.Binary.OwnProcess && len(p.Hosts()) > 0 && !cmd.watch {
		// A listen passes each message from one goroutine to another, and only the
		// host runs at the same time. Waking a second processor for each message
		// costs a quarter of the rate: the benchmark questions reaches 0.61 of
		// bare Go's rate with two processors, and 0.81 with one. One-way messages
		// are as fast with either.
		runtime.GOMAXPROCS(1)
	}
	if cmd.console.Binary.OwnHeap && p.MaxMemory() == 0 { // else the heap is looked at as it grows
		heap.Grow()
	}
	if o.Answers.Prompter = cmd.console.Prompter(); o.Answers.Prompter == nil && !cmd.console.NoInput {
		o.Answers.Stdin = cmd.console.PipedInput()
	}
	if err := connectRelay(ctx, cmd.console, p, cmd.relay, o); err != nil {
		return endTools(err)
	}
	cmd.console.MarkEditable(p)
	end := beginDrawing(cmd.console)
	defer end()
	signals.Before(end)
	o.Log = cmd.console.LogWriter()
	o.Output = engine.Output{To: cmd.console.Stdout, Mode: emit.Modes[cmd.emit], Terminal: cmd.console.TTY.Out, Detail: cmd.console.Began}
	if cmd.files.ledger != "" && cmd.Audit.File != "" && sameFile(cmd.console.Abs(cmd.files.ledger), cmd.console.Abs(cmd.Audit.File)) {
		return endTools(sameLogError(cmd.files.ledger))
	}
	endAudit, err := program.OpenAudit(cmd.console, p, o, &cmd.Audit)
	if err != nil {
		return endTools(err)
	}
	endLedger, err := openLedger(cmd.console, o, cmd.files.ledger)
	if err != nil {
		return endTools(endAudit(err))
	}
	var used stats
	if cmd.stats {
		o.Records.OnUsage, o.Records.OnShares = used.models, used.shares
	}
	progress := cmd.showProgress(p, o)
	o.Records.Boundary = AtBoundary
	err = cmd.recording(o, run)
	end()
	err = endTools(endAudit(endLedger(err)))
	progress.end(err)
	if cmd.stats {
		writeStats(cmd.console, &used, !cmd.format.IsText() || cmd.console.WritesRecords())
	}
	return err
}

// AtBoundary, when set, is called at the boundaries of runs with a tape: by tests.
var AtBoundary func(verify func() (refused, err error))

// recording calls run with the files open to which its profile, trace and
// transcript are written.
func (cmd *runCommand) recording(o *engine.Options, run func() error) (err error) {
	for _, r := range []struct {
		flag, path string
		to         *io.Writer
	}{{"--profile", cmd.files.profile, &o.Records.Profile}, {"--trace", cmd.files.trace, &o.Records.Trace}, {"--transcript", cmd.files.transcript, &o.Records.Transcript}, {"--wire", cmd.files.wire, &o.Records.Wire},
		{"--record", cmd.files.tape, &o.Records.Tape}} {
		if r.path == "" {
			continue
		}
		file, ferr := cmd.console.CreateRecord(r.flag, r.path)
		if ferr != nil {
			return ferr
		}
		*r.to = file
		defer func() { err = console.CloseRecord(err, file, r.path) }()
	}
	return run()
}
