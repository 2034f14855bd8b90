package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// engineRun is a run in an engine, as `runs show --format json` prints it: the members of a run in
// a directory, some of them from the engine, and those of its row.
type engineRun struct {
	engineJournal
	row engineRow
}

// engineJournal is what the journal of a run contains. Started is nil if the run has not begun.
type engineJournal struct {
	*durable.Shown
	Started *string `json:"started"`
}

// MarshalJSON returns an object with the members of both parts.
func (x *engineRun) MarshalJSON() ([]byte, error) {
	first, err := jsonwrite.Encode(x.engineJournal)
	if err != nil {
		return nil, err
	}
	rest, err := jsonwrite.Encode(x.row)
	return append(append(first[:len(first)-1], ','), rest[1:]...), err
}

// engineRow contains what the engine stores about a run besides the journal.
type engineRow struct {
	Queue    string   `json:"queue"`
	Priority int      `json:"priority"`
	Key      *string  `json:"key"`
	Worker   *string  `json:"worker"`
	Machine  *string  `json:"machine"`
	Epoch    int64    `json:"epoch"`
	Pin      *string  `json:"pin"`
	Needs    []string `json:"needs"`
	At       *string  `json:"at"` // time from which a worker may claim it
	Why      string   `json:"why"`
	Crashes  int      `json:"crashes"`
	Schedule *string  `json:"schedule"`
	Stopping bool     `json:"stopping"`
	Moved    bool     `json:"moved"`
}

// readEngineRun reads the journal of a run. The row decides about the state.
func readEngineRun(e *postgres.Engine, r *postgres.Row) (*engineRun, error) {
	shown, err := runs.Show(e.Run(r.ID))
	switch {
	case errors.Is(err, journal.ErrNoRun): // no worker has begun it
		shown = durable.Unbegun(r.ID, r.Program)
	case errors.As(err, new(*journal.NewerFormatError)):
		shown = durable.Broken("", err)
	case err != nil:
		return nil, err
	}
	shown.Run, shown.Program, shown.State, shown.Exit = r.ID, r.Program, r.State, r.Exit
	row := engineRow{Queue: r.Queue, Priority: r.Priority, Worker: r.Worker, Machine: r.Machine, Epoch: r.Epoch, Pin: r.Pin,
		Needs: r.Needs, At: postgres.TimeTextOrNil(r.At), Why: r.Why, Crashes: r.Crashes, Schedule: r.Schedule, Stopping: r.Stopping, Moved: r.Moved}
	if r.Key != "" {
		row.Key = &r.Key
	}
	return &engineRun{engineJournal{shown, postgres.TimeTextOrNil(r.Started)}, row}, nil
}

// listEngine lists the runs of the engine.
func (cmd *runsCommand) listEngine(ctx context.Context) error {
	for _, s := range cmd.filter.States {
		if err := console.OneOf("--state", s, postgres.States); err != nil {
			return err
		}
	}
	if cmd.filter.Limit < 1 {
		return console.Usage("", "invalid value %d for --limit: it must be at least 1", cmd.filter.Limit)
	}
	e, err := locate.Engine(ctx, cmd.console, locate.Reader)
	if err != nil {
		return err
	}
	all, err := e.List(ctx, cmd.filter)
	if err != nil {
		return err
	}
	if cmd.format.String() == "json" {
		out := []*engineRun{}
		for _, r := range all {
			x, err := readEngineRun(e, r)
			if err != nil {
				return err
			}
			out = append(out, x)
		}
		return cmd.console.WriteJSON(out)
	}
	w := tabwriter.NewWriter(cmd.console.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTATE\tPROGRAM\tSUBMITTED\tQUEUE\tWHY")
	for _, r := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.State, console.Printable(r.Program), postgres.TimeText(r.Created), r.Queue, console.Printable(r.Why))
	}
	return w.Flush()
}

func (cmd *runsCommand) showInEngine(ctx context.Context, run *locate.Run) error {
	r, err := run.Engine.Show(ctx, run.ID)
	if err != nil {
		return err
	}
	x, err := readEngineRun(run.Engine, r)
	if err != nil {
		return err
	}
	if cmd.format.String() == "json" {
		return cmd.console.WriteJSON(x)
	}
	x.Shown.Started = "not yet"
	if x.Started != nil {
		x.Shown.Started = *x.Started
	}
	text := runText(run.ID, x.Shown, cmd.console.TTY.Out)
	var more strings.Builder
	fmt.Fprintf(&more, "queue    %s, priority %d", x.row.Queue, x.row.Priority)
	if x.row.Key != nil {
		fmt.Fprintf(&more, ", key %s", *x.row.Key)
	}
	if x.row.Worker != nil {
		fmt.Fprintf(&more, "\nworker   %s on %s", *x.row.Worker, *x.row.Machine)
	}
	if x.row.Pin != nil {
		fmt.Fprintf(&more, "\npin      machine %s", *x.row.Pin)
	}
	if x.row.Why != "" {
		fmt.Fprintf(&more, "\nwhy      %s", x.row.Why)
	}
	_, err = fmt.Fprint(cmd.console.Stdout, console.Printable(text+more.String()+"\n"))
	return err
}

// stopPoll is the interval at which stop checks whether the run has ended.
const stopPoll = 100 * time.Millisecond

// stopInEngine requests that a run stops, and waits for the end unless no worker can stop it.
func (cmd *runsCommand) stopInEngine(ctx context.Context, run *locate.Run) error {
	for requested := false; ; requested = true {
		r, err := run.Engine.Show(ctx, run.ID)
		if err != nil {
			return err
		}
		switch {
		case r.State == durable.Continued:
			s, err := durable.Open(run.Journal())
			if err != nil {
				return err
			}
			successor := *run
			successor.ID = s.Next.Run
			return cmd.stopInEngine(ctx, &successor)
		case r.Exit != nil && !requested:
			return &runs.Problem{Message: "the run has already ended"}
		case r.Exit != nil:
			return nil
		case !requested:
			if err := run.Journal().RequestStop(); err != nil {
				return err
			}
		case r.Why != "stopping":
			cmd.console.Notef("concerto: run %s will stop: %s\n", run.ID, r.Why)
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(stopPoll):
		}
	}
}

// engineCommand is a command for a run in an engine.
type engineCommand struct {
	console *console.Console
	move    postgres.Move
}

// find returns a run, which must be in an engine.
func (cmd *engineCommand) find(ctx context.Context, name, role string) (*locate.Run, error) {
	run, err := locate.Find(ctx, cmd.console, name, role)
	if err == nil && run.Engine == nil {
		err = console.Usage("", "run %s is in a directory; the command is for runs in an engine", name)
	}
	return run, err
}

func newRelease(a *console.Console) *cobra.Command {
	cmd := engineCommand{console: a}
	c := &cobra.Command{
		Use:   "release RUN",
		Short: "Make a held run of an engine ready again",
		Long: `A run whose workers have crashed several times without progress is held, so that it does not crash
all workers. release lets workers claim it again.`,
		Example: "  concerto runs release r_4vd4sd65dabx",
		Args:    console.Arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			run, err := cmd.find(c.Context(), args[0], locate.Client)
			if err != nil {
				return err
			}
			return run.Engine.Release(c.Context(), run.ID)
		},
	}
	locate.AddEngineFlag(a, c)
	return c
}

func newMove(a *console.Console) *cobra.Command {
	cmd := engineCommand{console: a}
	var queue string
	var priority int
	c := &cobra.Command{
		Use:   "move RUN",
		Short: "Change the queue or the priority of a run, or remove its pin",
		Long: `Changes a run of an engine that is ready or waiting. A run is pinned to the machine on which it has
started a host or written files. --any-machine removes the pin: the host and the files are then not
available to the run.`,
		Example: "  concerto runs move r_4vd4sd65dabx --queue urgent --priority 10\n  concerto runs move r_4vd4sd65dabx --any-machine",
		Args:    console.Arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("queue") {
				if err := locate.CheckQueue(queue); err != nil {
					return err
				}
				cmd.move.Queue = &queue
			}
			if c.Flags().Changed("priority") {
				cmd.move.Priority = &priority
			}
			if cmd.move == (postgres.Move{}) {
				return console.Usage("for example: concerto runs move "+args[0]+" --priority 10", "runs move requires --queue, --priority or --any-machine")
			}
			if err := locate.CheckPriority(priority); err != nil {
				return err
			}
			run, err := cmd.find(c.Context(), args[0], locate.Client)
			if err != nil {
				return err
			}
			return run.Engine.Move(c.Context(), run.ID, cmd.move)
		},
	}
	locate.AddEngineFlag(a, c)
	c.Flags().StringVar(&queue, "queue", "", "move the run to the queue `NAME`")
	c.Flags().IntVar(&priority, "priority", 0, "set the priority to `N`, -100 to 100")
	c.Flags().BoolVar(&cmd.move.AnyMachine, "any-machine", false, "remove the run's pin to a machine")
	return c
}

// isOver reports whether a run in a state does not continue.
func isOver(state string) bool {
	return slices.Contains([]string{durable.Finished, durable.Failed, durable.Continued, durable.IsDamaged}, state)
}
