// Package runner has the commands that run a program: run, resume and replay.
package runner

import (
	"context"
	"encoding/json"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runner/rerun"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/internal/process/heap"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
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
	format  *cmdline.Format // format of --stats
	noInput bool
	input   string
	inputs  json.RawMessage // the value of --input
	task    task
	shown   string // value of --progress, one of progressForms

	relay   string // hostd's socket; anySocket for the default socket, "" if --share is not set
	durable durableFlags
	debug   string
	files   recordFiles
}

// recordFiles contains the paths of files that are written during the run. A path is "" if the file
// is not requested.
type recordFiles struct {
	profile, trace, transcript, wire, tape, ledger string
	report                                         program.ReportFile
}

func NewRun(a *console.Console) *cobra.Command {
	cmd := runCommand{console: a}
	c := &cobra.Command{
		Use:   "run [PATH | TASK | - | -e CODE] [-- ARGS…]",
		Short: "Run a program",
		Long: `PATH is a .conc file, a project's directory or a .conc-ir file; - is standard input. TASK, a text
with a space, is for main(task: String). Emits go to stdout; logs and progress go to stderr.`,
		Example: `  concerto run                            run the project in this directory or above
  concerto run "Fix the failing test"     pass a task to main(task: String)
  concerto run triage.conc -- a b         pass arguments: std::env::args returns ["a", "b"]
  concerto run -e 'println(6 * 7)'        run statements
  concerto run --mock                     replace all models by scripted replies: no key needed
  concerto run --journal job --park       store the run; 'concerto runs resume job' continues it`,
		Args: console.OnePath(true),
		RunE: func(c *cobra.Command, args []string) error {
			p, rest := console.Path(c, args)
			return cmd.runPath(c.Context(), p, rest)
		},
	}
	c.Flags().StringVar(&cmd.emit, "emit", "text", "print emits as `FORM`: text, ndjson or none (default text)")
	c.Flags().VarP(&cmd.code, "eval", "e", "run `CODE`: statements, or a whole program")
	c.Flags().BoolVar(&cmd.watch, "watch", false, "run again whenever a file of the program changes, until Ctrl-C")
	c.Flags().BoolVar(&cmd.detail, "emit-detail", false, "add time, place and task to ndjson emits; write stderr as ndjson")
	cmd.Add(c)
	c.Flags().StringVar(&cmd.shown, "progress", "", "show progress as `FORM`: auto, plain or none (default auto)")
	c.Flags().StringVar(&cmd.input, "input", "", program.InputUsage)
	c.Flags().BoolVar(&cmd.noInput, "no-input", false, "never prompt on the terminal, and do not read stdin")
	addRelayFlag(c, &cmd.relay)
	c.Flags().StringVar(&cmd.debug, "debug", "", "wait at `ADDR` (127.0.0.1:4711) for an editor's debugger")
	cmd.addRecordFlags(c)
	c.Flags().StringVar(&cmd.files.report.Path, "report", "", program.ReportUsage)
	cmd.durable.add(c)
	cmd.durable.command = c
	cmdline.Group(c, "Answers and prompts", "answers", "answer", "emit-handler", "pass-env", "no-input", "share")
	cmdline.Group(c, "Permissions", "permissions", append(program.PermissionRows(), "trust")...)
	cmdline.Group(c, "Stored runs", "journal", "journal", "park", "wait", "sync")
	cmdline.Group(c, "Output", "output", "emit", "emit-detail", "progress", "stats format | --stats [--format json] | print calls, tokens and cost by model, agent, stage and task")
	cmdline.Group(c, "Recordings", "recordings", "report transcript | --report FILE, --transcript FILE | write a report of the run, or what models were asked", "record", "wire", "ledger", "audit audit-sync | --audit FILE | record tool calls in the tamper-evident FILE; --audit-sync syncs it",
		"trace profile | --trace FILE, --profile FILE | write a timeline for ui.perfetto.dev, or a CPU profile")
	cmdline.Group(c, "Tools", "", "host-tools", "host-tools-module")
	c.ValidArgsFunction = console.CompleteFiles("conc", "conc-ir")
	console.CompleteFlag(c, "emit", func() []string { return program.ModeNames })
	console.CompleteFlag(c, "progress", func() []string { return progressForms })
	cmd.Permissions.Complete(a, c)
	return c
}

// addRecordFlags adds the flags for recordings and statistics.
func (cmd *runCommand) addRecordFlags(c *cobra.Command) {
	c.Flags().BoolVar(&cmd.stats, "stats", false, "print calls, tokens and cost by model, agent, stage and task")
	cmd.format = cmdline.AddFormatUsage(c, "print --stats as `FORMAT`: text or json (default text)", "text", "json")
	c.Flags().StringVar(&cmd.files.transcript, "transcript", "", "write the conversations with models to `FILE`")
	c.Flags().StringVar(&cmd.files.tape, "record", "", "record all inputs of the run to `FILE`, for 'concerto runs replay'")
	c.Flags().StringVar(&cmd.files.ledger, "ledger", "", "record who decided what in the tamper-evident `FILE`")
	c.Flags().StringVar(&cmd.files.wire, "wire", "", program.WireUsage)
	c.Flags().StringVar(&cmd.files.profile, "profile", "", "write a CPU profile to `FILE`, for 'go tool pprof'")
	c.Flags().StringVar(&cmd.files.trace, "trace", "", "write a timeline to `FILE`, for ui.perfetto.dev")
}

func (cmd *runCommand) runPath(parent context.Context, path string, args []string) error {
	if err := console.OneOf("--emit", cmd.emit, program.ModeNames); err != nil {
		return err
	}
	if !cmd.format.IsText() && !cmd.stats {
		return console.Usage("add --stats, or use --emit ndjson for emits", "--format requires --stats")
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
	if path, args, err = cmd.readTask(path, args); err != nil {
		return err
	}
	s, err := program.Source(cmd.console, path, cmd.codeText())
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
	if s.Inline != nil {
		return console.Usage("name a file", "--watch requires a program in a file")
	}
	if flag := cmd.durable.changedFlag(); flag != "" {
		return console.Usage("leave one of them out", "--watch and %s cannot be used together", flag)
	}
	return rerun.OnChange(ctx, cmd.console, true, func(ctx context.Context, seen func(string)) error {
		s := s
		s.Seen = seen
		return cmd.runOnce(ctx, s, args, signals)
	})
}

// codeText returns the value of -e, or nil without it.
func (cmd *runCommand) codeText() *string {
	if !cmd.code.IsSet {
		return nil
	}
	return &cmd.code.Text
}

func (cmd *runCommand) runOnce(ctx context.Context, s driver.Request, args []string, signals *interrupt.Handler) error {
	if cmd.detail {
		cmd.console.Began = time.Now() // under --watch each repetition has its own start time
	}
	p, o, err := program.Prepare(ctx, cmd.console, s, &cmd.WorldFlags, signals)
	if err != nil {
		return cmd.task.explain(err)
	}
	if args, err = cmd.task.arguments(cmd.console, p, args); err != nil {
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

// runProgram runs a program once and sets up its tools, recordings, progress and statistics.
func (cmd *runCommand) runProgram(ctx context.Context, p *engine.Program, o *engine.Options, seen func(string), signals *interrupt.Handler, run func() error) error {
	if cmd.files.wire != "" {
		if err := program.CheckWireFile(cmd.console, p, cmd.files.wire); err != nil {
			return err
		}
	}
	dir := ""
	if d := o.Records.Durable; d != nil {
		dir = d.Dir
	}
	if err := cmd.files.report.Begin(cmd.console, p, dir); err != nil {
		return err
	}
	cmd.files.report.Follow(o)
	var endTelemetry func()
	o.Records.Telemetry, endTelemetry = program.OpenTelemetry(cmd.console, p.IR().Name, false)
	defer endTelemetry()
	o.Records.LiveDir = live.Directory(cmd.console.Environ)
	cmd.Tools.Watch(cmd.console, seen)
	endTools, err := program.RegisterTools(ctx, cmd.console, &cmd.Tools, p, o)
	if err != nil {
		return err
	}
	if cmd.console.Binary.OwnProcess && len(p.Hosts()) > 0 && !cmd.watch {
		// A listen passes each message from one goroutine to another, and only the host works at
		// the same time. With two processors, waking the second one for each message is expensive:
		// the benchmark questions reaches 0.61 of the rate of plain Go code, compared to 0.81 with
		// one processor. The rate of one-way messages is the same in both cases.
		runtime.GOMAXPROCS(1)
	}
	if cmd.console.Binary.OwnHeap && p.MaxMemory() == 0 { // with a memory limit, the run measures the heap itself
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
	signals.OnForcedExit(end)
	o.Log = cmd.console.LogWriter()
	o.Output = engine.Output{To: cmd.console.Stdout, Mode: emit.Modes[cmd.emit], Terminal: cmd.console.TTY.Out, Events: cmd.console.PrintEvent, Synchronous: cmd.console.TTY.OneFile && !cmd.console.TTY.Out, Detail: cmd.console.Began}
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
	used := &engine.Used{}
	o.Records.OnUsage, o.Records.Shares = func(u *engine.Used) { used = u }, cmd.stats
	progress := cmd.showProgress(p, o)
	err = cmd.runRecorded(o, run)
	end()
	err = endTools(endAudit(endLedger(err)))
	progress.end(err, used.All)
	cmd.files.report.End(o, err)
	if cmd.stats {
		writeStats(cmd.console, used, !cmd.format.IsText() || cmd.console.WritesRecords())
	}
	return err
}

// runRecorded opens the files of the recordings, calls run, and closes the files.
func (cmd *runCommand) runRecorded(o *engine.Options, run func() error) (err error) {
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
