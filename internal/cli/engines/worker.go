package engines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/submission"
	"github.com/concerto-lang/concerto/internal/engine/worker"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// workerCommand is the command worker with its options.
type workerCommand struct {
	console     *console.Console
	permissions program.PermissionFlags
	format      *cmdline.Format
	queues      []string
	concurrency int
	crashes     int
	lease       string
	drain       string
	machine     string
	state       string
	dir         string
	untilIdle   bool
	readyFile   string

	mu  sync.Mutex // guards stderr
	log io.Writer
}

func NewWorker(a *console.Console) *cobra.Command {
	cmd := workerCommand{console: a}
	c := &cobra.Command{
		Use:   "worker",
		Short: "Execute the runs of an engine",
		Long: `Claims runs of an engine and executes them, until Ctrl-C or TERM. It then releases its runs, and
other workers continue them. If a worker dies, others continue its runs when its lease has expired.
Any number of workers can share an engine, on any number of machines.

--sandbox and the --allow flags limit every run, in addition to the flags of its submission. A user
of the engine who can submit runs can execute code on this machine.`,
		Example: `  concerto worker
  concerto worker --queue default,batch --concurrency 20
  concerto worker --until-idle --sandbox --allow-net=api.example.com`,
		Args: console.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return cmd.work(c.Context()) },
	}
	c.Flags().StringSliceVar(&cmd.queues, "queue", []string{"default"}, "claim runs from the queue `NAME`; repeatable")
	c.Flags().IntVar(&cmd.concurrency, "concurrency", 100, "execute at most `N` runs at once")
	c.Flags().StringVar(&cmd.lease, "lease", "6s", "let other workers take over after `DURATION` without a sign of life, 1s to 5m")
	c.Flags().StringVar(&cmd.drain, "drain", "30s", "at the end, wait at most `DURATION` for effects in progress")
	c.Flags().IntVar(&cmd.crashes, "crashes", 5, "hold a run after `N` crashes of its workers without progress")
	c.Flags().StringVar(&cmd.machine, "machine", "", "the `NAME` of this machine (default: its host name)")
	c.Flags().StringVar(&cmd.state, "state", "", "store hosts and temporary files in `DIR` (default in $XDG_STATE_HOME)")
	c.Flags().StringVar(&cmd.dir, "dir", "", "the working `DIR` of programs (default: the current directory)")
	c.Flags().BoolVar(&cmd.untilIdle, "until-idle", false, "exit when there is no run that the worker can execute")
	c.Flags().StringVar(&cmd.readyFile, "ready-file", "", "write the worker's id to `FILE` when it accepts runs")
	cmd.permissions.Add(c)
	cmd.format = cmdline.AddFormatUsage(c, "log events as `FORMAT`: text or json (default text)", "text", "json")
	locate.AddEngineFlag(a, c)
	cmdline.Group(c, "Permissions", "permissions", program.PermissionRows()...)
	cmd.permissions.Complete(a, c)
	return c
}

// config returns the configuration of the worker without its engine.
func (cmd *workerCommand) config() (c worker.Config, err error) {
	for _, q := range cmd.queues {
		if err := locate.CheckQueue(q); err != nil {
			return c, err
		}
	}
	lease, err := console.ParseDuration("--lease", cmd.lease)
	if err != nil {
		return c, err
	}
	drain, err := console.ParseDuration("--drain", cmd.drain)
	switch {
	case err != nil:
		return c, err
	case lease < time.Second || lease > 5*time.Minute:
		return c, console.Usage("use 1s to 5m", "invalid value %q for --lease", cmd.lease)
	case cmd.concurrency < 1:
		return c, console.Usage("use 1 or more", "invalid value %d for --concurrency", cmd.concurrency)
	case cmd.crashes < 1:
		return c, console.Usage("use 1 or more", "invalid value %d for --crashes", cmd.crashes)
	case len(cmd.queues) == 0:
		return c, console.Usage("for example: --queue default", "--queue requires a name")
	}
	dir := cmd.console.Abs(cmd.dir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return c, console.Usage("name an existing directory", "no such directory: %s", cmd.dir)
	}
	state, err := cmd.stateDir()
	if err != nil {
		return c, err
	}
	row := locate.WorkerRow(cmd.console)
	row.Queues, row.Concurrency = cmd.queues, cmd.concurrency
	for _, variable := range cmd.console.Environ {
		if name, value, _ := strings.Cut(variable, "="); value != "" {
			row.Variables = append(row.Variables, name)
		}
	}
	if cmd.machine != "" {
		row.Machine = cmd.machine
	}
	return worker.Config{Row: row, Lease: lease, Drain: drain, MaxCrashes: cmd.crashes, State: state, Dir: dir, UntilIdle: cmd.untilIdle}, nil
}

// stateDir returns the directory of --state.
func (cmd *workerCommand) stateDir() (string, error) {
	dir := cmd.console.Abs(cmd.state)
	if cmd.state == "" {
		base := cmd.console.Getenv("XDG_STATE_HOME")
		if base == "" {
			home := cmd.console.Getenv("HOME")
			if home == "" {
				return "", console.Usage("add --state DIR", "neither XDG_STATE_HOME nor HOME is set")
			}
			base = filepath.Join(home, ".local", "state")
		}
		dir = filepath.Join(base, "concerto", "worker")
	}
	return dir, nil
}

func (cmd *workerCommand) work(parent context.Context) error {
	c, err := cmd.config()
	if err != nil {
		return err
	}
	bounds, err := cmd.permissions.Grants()
	if err != nil {
		return err
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	e, err := locate.Engine(ctx, cmd.console, locate.Worker)
	if err != nil {
		return err
	}
	c.Engine = worker.On(e)
	if err := os.MkdirAll(c.State, 0o700); err != nil {
		return console.Usage("name another directory with --state", "create %s: %v", c.State, console.Cause(err))
	}
	cmd.log = cmd.console.LogWriter()
	c.Log = cmd.logEvent
	c.Ready = cmd.ready
	c.Options = func(p *engine.Program, run string, start json.RawMessage) (engine.Options, error) {
		o, err := cmd.options(p, start, signals)
		o.Bounds = bounds
		o.Log = &runLog{cmd: cmd, run: run}
		return o, err
	}
	return worker.Run(ctx, signals.Kill, c)
}

// options returns the options of a run from what was submitted.
func (cmd *workerCommand) options(p *engine.Program, text json.RawMessage, signals *interrupt.Handler) (engine.Options, error) {
	start, err := submission.Decode(text)
	if err != nil {
		return engine.Options{}, err
	}
	flags, err := json.Marshal(start.Flags)
	if err != nil {
		return engine.Options{}, err
	}
	var world program.WorldFlags
	if err := program.RestoreFlags(program.NewSubmittedFlags(&world), flags); err != nil {
		return engine.Options{}, err
	}
	_, o, err := program.PrepareWith(cmd.console, &world, signals, func(*permit.Grants) (*engine.Program, string, error) { return p, "", nil })
	o.Args, o.Inputs = start.Args, start.Inputs
	return o, err
}

// ready writes the id of the worker to the file of --ready-file.
func (cmd *workerCommand) ready(id string) error {
	if cmd.readyFile == "" {
		return nil
	}
	if err := console.WriteFile(cmd.console.Abs(cmd.readyFile), []byte(id+"\n")); err != nil {
		return console.Usage("", "write %s: %v", cmd.readyFile, console.Cause(err))
	}
	return nil
}

// quietEvents are logged only with -v.
var quietEvents = map[string]bool{worker.Claim: true, worker.Park: true, worker.End: true, worker.Handover: true}

// logEvent logs an event. Calls are concurrent.
func (cmd *workerCommand) logEvent(e worker.Event) {
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	if !cmd.format.IsText() {
		cmd.writeRecord(e.Kind, e.Run, e.Epoch, e.Text)
		return
	}
	if quietEvents[e.Kind] && cmd.console.Verbose == 0 {
		return
	}
	text := e.Text
	if e.Run != "" && e.Kind != worker.Fenced { // which names the run
		text = fmt.Sprintf("run %s: %s: %s", e.Run, e.Kind, text)
	}
	fmt.Fprintf(cmd.log, "concerto: %s\n", console.Printable(text))
}

// writeRecord logs an event as a JSON object. The caller holds mu.
func (cmd *workerCommand) writeRecord(kind, run string, epoch int64, text string) {
	line, err := json.Marshal(struct {
		Time  string  `json:"time"`
		Event string  `json:"event"`
		Run   *string `json:"run"`
		Epoch *int64  `json:"epoch"`
		Text  string  `json:"text"`
	}{postgres.TimeText(time.Now()), kind, orNil(run), orNil(epoch), text})
	if err == nil {
		_, _ = cmd.log.Write(append(line, '\n')) // stderr is the last output for reports
	}
}

// orNil returns nil for the zero value.
func orNil[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// runLog writes the log of a run to that of the worker, and begins each line with the run's id.
type runLog struct {
	cmd  *workerCommand
	run  string
	rest []byte // incomplete line
}

func (l *runLog) Write(p []byte) (int, error) {
	l.cmd.mu.Lock()
	defer l.cmd.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		l.rest = rest
		if !l.cmd.format.IsText() {
			l.cmd.writeRecord("log", l.run, 0, string(line))
			continue
		}
		if _, err := fmt.Fprintf(l.cmd.log, "%s: %s\n", l.run, line); err != nil {
			return len(p), errors.Join(err)
		}
	}
}
