package engines

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/submission"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// submitCommand is the command submit with its options.
type submitCommand struct {
	console *console.Console
	program.WorldFlags
	command    *cobra.Command
	needs      postgres.Needs
	format     *cmdline.Format
	id         string
	queue      string
	priority   int
	key        string
	at         string
	input      string
	emit       string
	batch      string
	wait, park bool
}

func NewSubmit(a *console.Console) *cobra.Command {
	cmd := submitCommand{console: a}
	c := &cobra.Command{
		Use:   "submit [PATH] [-- ARGS…]",
		Short: "Store a run in an engine, for its workers",
		Long: `Compiles a program, stores it with a run in the engine, and prints the run's id. A worker executes
the run. PATH is a .conc file, a project's directory or a compiled .conc-ir file.

--id makes the command repeatable: a run with this id that was submitted with the same program,
arguments, inputs, answers and permissions is not stored again. The lines of --batch FILE are
objects with the members id, args, inputs, queue, priority, key and at, all of them optional.`,
		Example: `  concerto submit triage.conc -- 17
  concerto submit --id nightly-2026-01-02 --queue batch --key acme
  concerto submit --at +5m --wait
  concerto submit --batch customers.ndjson`,
		Args: console.OnePath(true),
		RunE: func(c *cobra.Command, args []string) error {
			path, rest := console.Path(c, args)
			return cmd.submit(c.Context(), path, rest)
		},
	}
	cmd.command = c
	c.Flags().StringVar(&cmd.id, "id", "", "give the run `ID`, which run::id() returns (default: random)")
	cmd.addPlace(c)
	c.Flags().StringVar(&cmd.at, "at", "", "start at `TIME`, such as 2026-01-05T10:00:00Z, or after +5m")
	c.Flags().StringVar(&cmd.input, "input", "", program.InputUsage)
	c.Flags().StringVar(&cmd.batch, "batch", "", "submit a run for each line of `FILE`: all of them or none")
	c.Flags().BoolVar(&cmd.wait, "wait", false, "print the run's output, and exit with its code")
	c.Flags().BoolVar(&cmd.park, "park", false, "with --wait, exit with code 75 when the run waits")
	c.Flags().StringVar(&cmd.emit, "emit", "text", "with --wait, print emits as `FORM`: text, ndjson or none (default text)")
	cmd.AddSubmitted(c)
	cmd.format = cmdline.AddFormat(c, "text", "json")
	locate.AddEngineFlag(a, c)
	c.SetFlagErrorFunc(submitFlagError)
	cmdline.Group(c, "Permissions", "permissions", program.PermissionRows()...)
	c.ValidArgsFunction = console.CompleteFiles("conc", "conc-ir")
	console.CompleteFlag(c, "emit", func() []string { return program.ModeNames })
	return c
}

// addPlace adds the flags that decide when a run starts.
func (cmd *submitCommand) addPlace(c *cobra.Command) {
	c.Flags().StringVar(&cmd.queue, "queue", "default", "put the run into the queue `NAME`")
	c.Flags().IntVar(&cmd.priority, "priority", 0, "start before runs with a lower priority: `N`, -100 to 100")
	c.Flags().StringVar(&cmd.key, "key", "", "give the run `KEY`, such as a customer, for the limit of its queue")
}

// localFlags are flags of `concerto run` that belong to the process that executes the run.
var localFlags = []string{"journal", "emit-handler", "audit", "audit-sync", "debug", "watch", "record", "trace", "profile", "transcript", "wire", "ledger", "stats", "share", "sync", "snapshot-every",
	"pass-env", "env", "emit-detail", "progress", "host-tools", "host-tools-module", "no-input"}

// submitFlagError explains why a flag of `concerto run` is not available.
func submitFlagError(c *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		for _, name := range localFlags {
			if unknown.GetSpecifiedName() == name {
				return console.Usage("set it in the manifest if the manifest has a key for it", "submit does not support --%s, which belongs to the process that executes the run", name)
			}
		}
	}
	return console.FlagError(c, err)
}

// check returns an error for invalid flags.
func (cmd *submitCommand) check(args []string) error {
	switch {
	case cmd.park && !cmd.wait:
		return console.Usage("add --wait, or leave out --park: each run of an engine parks", "--park requires --wait")
	case cmd.wait && !cmd.format.IsText():
		return console.Usage("leave one of them out", "--wait and --format json cannot be used together")
	case cmd.batch != "" && (cmd.wait || cmd.id != "" || cmd.input != "" || len(args) > 0):
		return console.Usage("write id, args and inputs into the lines of the file", "--batch cannot be used together with --wait, --id, --input or arguments")
	}
	if cmd.command.Flags().Changed("id") {
		if err := locate.CheckID(cmd.id); err != nil {
			return err
		}
	}
	if err := locate.CheckQueue(cmd.queue); err != nil {
		return err
	}
	if err := locate.CheckPriority(cmd.priority); err != nil {
		return err
	}
	return console.OneOf("--emit", cmd.emit, program.ModeNames)
}

func (cmd *submitCommand) submit(parent context.Context, path string, args []string) error {
	if err := cmd.check(args); err != nil {
		return err
	}
	p, start, err := cmd.compile(parent, path)
	if err != nil {
		return err
	}
	all, err := cmd.runs(args, start)
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Program, all[i].IR, all[i].Needs = p.MainFile(), p.Encode(), cmd.needs
	}
	e, err := locate.Engine(parent, cmd.console, locate.Client)
	if err != nil {
		return err
	}
	created, err := e.Submit(parent, all)
	if err != nil {
		return err
	}
	if !cmd.wait {
		return cmd.print(parent, e, all, created)
	}
	cmd.console.Notef("concerto: submitted run %s\n", all[0].ID)
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	return waitFor(ctx, cmd.console, &locate.Run{Engine: e, ID: all[0].ID}, cmd.emit, cmd.park)
}

// compile compiles the program, and returns what all runs have in common.
func (cmd *submitCommand) compile(ctx context.Context, path string) (p *engine.Program, start submission.Start, err error) {
	if err := cmd.CheckAnswers(); err != nil {
		return nil, start, err
	}
	grants, err := cmd.Permissions.Grants()
	if err != nil {
		return nil, start, err
	}
	source, err := program.Source(cmd.console, path, nil)
	if err != nil {
		return nil, start, err
	}
	source.Mock = cmd.Mock
	if p, _, err = program.Open(ctx, cmd.console, source, &cmd.WorldFlags, &grants); err != nil {
		return nil, start, err
	}
	start.Flags = program.SubmittedFlags(cmd.command.Flags())
	cmd.needs, err = locate.Needs(p, cmd.Mock)
	return p, start, err
}

// runs returns the runs to submit. start contains what they have in common.
func (cmd *submitCommand) runs(args []string, start submission.Start) ([]postgres.Submitted, error) {
	if cmd.batch != "" {
		return cmd.readBatch(start)
	}
	inputs, err := program.ReadInputs(cmd.console, cmd.input)
	if err != nil {
		return nil, err
	}
	x, err := cmd.run(&batchLine{ID: cmd.id, Args: args, Inputs: inputs, At: cmd.at}, start)
	return []postgres.Submitted{x}, err
}

// batchLine is a line of the file of --batch. Members that are missing have the values of the
// flags.
type batchLine struct {
	ID       string          `json:"id"`
	Args     []string        `json:"args"`
	Inputs   json.RawMessage `json:"inputs"`
	Queue    string          `json:"queue"`
	Priority *int            `json:"priority"`
	Key      string          `json:"key"`
	At       string          `json:"at"`
}

// readBatch reads the file of --batch.
func (cmd *submitCommand) readBatch(start submission.Start) (all []postgres.Submitted, err error) {
	text, err := userfile.Read(cmd.console.Abs(cmd.batch), userfile.MaxText)
	if err != nil {
		return nil, console.Usage("each line is an object such as {\"args\": [\"17\"]}", "read %s: %v", cmd.batch, console.Cause(err))
	}
	ids := map[string]int{}
	n := 0
	for text := range bytes.Lines(text) {
		n++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		fail := func(err error) error { return console.Usage("", "%s:%d: %v", cmd.batch, n, err) }
		var l batchLine
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&l); err != nil {
			return nil, fail(errors.New(strings.TrimPrefix(err.Error(), "json: ")))
		}
		if decoder.More() {
			return nil, fail(errors.New("the line contains more than one value"))
		}
		if string(l.Inputs) == "null" {
			l.Inputs = nil
		}
		if l.Inputs != nil {
			if err := engine.CheckInputs(l.Inputs); err != nil {
				return nil, fail(fmt.Errorf("inputs: %w", err))
			}
		}
		x, err := cmd.run(&l, start)
		if err != nil {
			return nil, fail(err)
		}
		if first := ids[l.ID]; l.ID != "" && first > 0 {
			return nil, fail(fmt.Errorf("the id %s is also in line %d", l.ID, first))
		}
		ids[l.ID] = n
		all = append(all, x)
	}
	if len(all) == 0 {
		return nil, console.Usage("each line is an object such as {\"args\": [\"17\"]}", "%s contains no run", cmd.batch)
	}
	return all, nil
}

// run returns a run to submit. start contains what all of them have in common.
func (cmd *submitCommand) run(l *batchLine, start submission.Start) (x postgres.Submitted, err error) {
	x = postgres.Submitted{ID: l.ID, Queue: cmp.Or(l.Queue, cmd.queue), Priority: cmd.priority, Key: cmp.Or(l.Key, cmd.key)}
	if l.Priority != nil {
		x.Priority = *l.Priority
	}
	if x.ID == "" {
		x.ID = procgroup.NewID()
	}
	if err := locate.CheckID(x.ID); err != nil {
		return x, err
	}
	if err := locate.CheckQueue(x.Queue); err != nil {
		return x, err
	}
	if err := locate.CheckPriority(x.Priority); err != nil {
		return x, err
	}
	if at := cmp.Or(l.At, cmd.at); at != "" {
		if x.At, x.Delay, err = parseAt(at); err != nil {
			return x, err
		}
	}
	start.Args, start.Inputs = l.Args, l.Inputs
	start.Mask(cmd.needs.Secrets, cmd.console.Getenv)
	x.Start = start.Encode()
	return x, nil
}

// submitted is the result of `submit --format json`.
type submitted struct {
	Run     string `json:"run"`
	Created bool   `json:"created"`
	State   string `json:"state"`
}

// print prints the submitted runs. With --format json, --batch prints an array.
func (cmd *submitCommand) print(ctx context.Context, e *postgres.Engine, all []postgres.Submitted, created []bool) error {
	var out []submitted
	for i, x := range all {
		if cmd.format.IsText() {
			if _, err := fmt.Fprintln(cmd.console.Stdout, x.ID); err != nil {
				return err
			}
			continue
		}
		state, _, err := e.State(ctx, x.ID)
		if err != nil {
			return err
		}
		out = append(out, submitted{x.ID, created[i], state})
	}
	switch {
	case cmd.format.IsText():
		return nil
	case cmd.batch == "":
		return cmd.console.WriteJSON(out[0])
	}
	return cmd.console.WriteJSON(out)
}
