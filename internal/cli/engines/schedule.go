package engines

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/data/cron"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// scheduleCommand is one of the schedule commands with its options.
type scheduleCommand struct {
	submitCommand
	cron, every, zone, overlap, catchUp string
}

func NewSchedule(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "schedule COMMAND",
		Short: "Set, pause and list schedules, which submit runs at certain times",
		Long: `A schedule submits a run at certain times, such as each morning at seven. Workers submit the runs,
on the clock of the database: each time becomes one run, with the id NAME-20260102T030405Z. Times
that were missed while no worker was online are submitted later, if they are not too old.`,
		Example: `  concerto schedule set report --cron "0 7 * * 1-5" --zone Europe/Paris report.conc
  concerto schedule set poll --every 15m poll.conc
  concerto schedule list`,
		Args: console.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newScheduleSet(a), newScheduleList(a))
	one := func(name, short string, do func(ctx context.Context, e *postgres.Engine, name string) error) {
		x := &cobra.Command{Use: name + " NAME", Short: short, Args: console.Arguments(1, 1), Example: "  concerto schedule " + name + " report",
			RunE: func(c *cobra.Command, args []string) error {
				e, err := locate.Engine(c.Context(), a, locate.Client)
				if err != nil {
					return err
				}
				return scheduleError(do(c.Context(), e, args[0]))
			}}
		locate.AddEngineFlag(a, x)
		c.AddCommand(x)
	}
	one("pause", "Pause a schedule", func(ctx context.Context, e *postgres.Engine, name string) error {
		return e.PauseSchedule(ctx, name, true)
	})
	one("resume", "Resume a paused schedule", func(ctx context.Context, e *postgres.Engine, name string) error {
		return e.PauseSchedule(ctx, name, false)
	})
	one("trigger", "Submit a run of a schedule now", func(ctx context.Context, e *postgres.Engine, name string) error {
		id, err := e.Trigger(ctx, name)
		if err == nil {
			_, err = fmt.Fprintln(a.Stdout, id)
		}
		return err
	})
	one("rm", "Remove a schedule", func(ctx context.Context, e *postgres.Engine, name string) error { return e.DeleteSchedule(ctx, name) })
	return c
}

// scheduleError returns the error for the user.
func scheduleError(err error) error {
	if none, ok := errors.AsType[*postgres.NoScheduleError](err); ok {
		return console.Usage("", "%v", none)
	}
	return err
}

func newScheduleSet(a *console.Console) *cobra.Command {
	cmd := scheduleCommand{submitCommand: submitCommand{console: a, emit: program.ModeNames[0]}}
	c := &cobra.Command{
		Use:   "set NAME [PATH] [-- ARGS…]",
		Short: "Create or replace a schedule",
		Long: `Compiles a program and stores it with a schedule. A cron expression has the fields minute, hour, day
of month, month and day of week; if both days are given, either matches. A local time that does not
exist, because clocks advance, means the next one that does.`,
		Example: `  concerto schedule set report --cron "0 7 * * mon-fri" --zone Europe/Paris report.conc
  concerto schedule set poll --every 15m --overlap all poll.conc -- eu`,
		Args: func(c *cobra.Command, args []string) error {
			if n := beforeDash(c, args); n < 1 || n > 2 {
				return console.Usage("for example: concerto schedule set report --cron \"0 7 * * 1-5\" report.conc", "schedule set takes NAME [PATH] [-- ARGS…]")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			n := beforeDash(c, args)
			return cmd.set(c.Context(), args[0], strings.Join(args[1:n], ""), args[n:])
		},
	}
	cmd.command = c
	c.Flags().StringVar(&cmd.cron, "cron", "", "submit at the times of `EXPRESSION`, such as \"0 7 * * 1-5\"")
	c.Flags().StringVar(&cmd.zone, "zone", "UTC", "the time `ZONE` of --cron, such as Europe/Paris")
	c.Flags().StringVar(&cmd.every, "every", "", "submit after each `DURATION`, such as 15m")
	c.Flags().StringVar(&cmd.overlap, "overlap", "skip", "if the previous run has not ended, `WHAT` to do: skip the time, or all")
	c.Flags().StringVar(&cmd.catchUp, "catch-up", "1h", "submit missed times that are not older than `DURATION`")
	cmd.addPlace(c)
	c.Flags().StringVar(&cmd.input, "input", "", program.InputUsage)
	cmd.AddSubmitted(c)
	locate.AddEngineFlag(a, c)
	c.SetFlagErrorFunc(submitFlagError)
	cmdline.Group(c, "Permissions", "permissions", program.PermissionRows()...)
	return c
}

// beforeDash returns the number of arguments before `--`.
func beforeDash(c *cobra.Command, args []string) int {
	if n := c.ArgsLenAtDash(); n >= 0 {
		return n
	}
	return len(args)
}

// scheduleName matches the names of schedules. The ids of their runs are longer.
var scheduleName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,90}$`) })

// minEvery is the minimum interval of a schedule: the ids of its runs contain the second.
const minEvery = time.Second

// schedule returns the schedule that the flags describe, without its run.
func (cmd *scheduleCommand) schedule(name string) (s postgres.Schedule, err error) {
	s = postgres.Schedule{Name: name, Cron: cmd.cron, Zone: cmd.zone, Overlap: cmd.overlap}
	if !scheduleName().MatchString(name) {
		return s, console.Usage("use 1 to 90 letters, digits, `_`, `.` and `-`", "invalid schedule name %q", name)
	}
	if (cmd.cron == "") == (cmd.every == "") {
		return s, console.Usage("for example: --cron \"0 7 * * 1-5\", or --every 15m", "schedule set requires either --cron or --every")
	}
	if cmd.cron != "" {
		if _, wrong := cron.Parse(cmd.cron); wrong != "" {
			return s, console.Usage("for example: \"0 7 * * 1-5\", at 7:00 from Monday to Friday", "invalid value %q for --cron: %s", cmd.cron, wrong)
		}
	} else if s.Every, err = console.ParseDuration("--every", cmd.every); err != nil {
		return s, err
	} else if s.Every < minEvery {
		return s, console.Usage("use 1s or more", "invalid value %q for --every", cmd.every)
	}
	if _, err := time.LoadLocation(cmd.zone); err != nil || cmd.zone == "" || cmd.zone == "Local" {
		return s, console.Usage("use an IANA name such as Europe/Paris", "invalid value %q for --zone", cmd.zone)
	}
	if err := console.OneOf("--overlap", cmd.overlap, []string{"skip", "all"}); err != nil {
		return s, err
	}
	s.CatchUp, err = console.ParseDuration("--catch-up", cmd.catchUp)
	return s, err
}

func (cmd *scheduleCommand) set(ctx context.Context, name, path string, args []string) error {
	s, err := cmd.schedule(name)
	if err != nil {
		return err
	}
	if err := cmd.check(args); err != nil {
		return err
	}
	p, start, err := cmd.compile(ctx, path)
	if err != nil {
		return err
	}
	inputs, err := program.ReadInputs(cmd.console, cmd.input)
	if err != nil {
		return err
	}
	if s.Run, err = cmd.run(&batchLine{Args: args, Inputs: inputs}, start); err != nil {
		return err
	}
	s.Run.Program, s.Run.IR, s.Run.Needs = p.MainFile(), p.Encode(), cmd.needs
	e, err := locate.Engine(ctx, cmd.console, locate.Client)
	if err != nil {
		return err
	}
	return e.SetSchedule(ctx, &s)
}

// shownSchedule is a schedule, as `schedule list --format json` prints it.
type shownSchedule struct {
	Schedule string  `json:"schedule"`
	Cron     *string `json:"cron"`
	Every    *string `json:"every"`
	Zone     string  `json:"zone"`
	Queue    string  `json:"queue"`
	Program  string  `json:"program"`
	Paused   bool    `json:"paused"`
	Overlap  string  `json:"overlap"`
	CatchUpS float64 `json:"catch_up_s"`
	Next     *string `json:"next"`
	Last     *string `json:"last"`
	LastRun  *string `json:"last_run"`
	Fired    int64   `json:"fired"`
	Skipped  int64   `json:"skipped"`
}

func newScheduleList(a *console.Console) *cobra.Command {
	var format *cmdline.Format
	c := &cobra.Command{
		Use: "list", Short: "List the schedules", Args: console.NoArguments,
		Example: "  concerto schedule list\n  concerto schedule list --format json",
		RunE:    func(c *cobra.Command, _ []string) error { return listSchedules(c.Context(), a, format.IsText()) },
	}
	format = cmdline.AddFormat(c, "text", "json")
	locate.AddEngineFlag(a, c)
	return c
}

func listSchedules(ctx context.Context, a *console.Console, asText bool) error {
	e, err := locate.Engine(ctx, a, locate.Reader)
	if err != nil {
		return err
	}
	all, err := e.Schedules(ctx)
	if err != nil {
		return err
	}
	shown := []shownSchedule{}
	for _, s := range all {
		x := shownSchedule{Schedule: s.Name, Cron: s.Cron, Zone: s.Zone, Queue: s.Queue, Program: s.Program, Paused: s.Paused, Overlap: s.Overlap, CatchUpS: s.CatchUp.Seconds(),
			Next: postgres.TimeTextOrNil(s.Next), Last: postgres.TimeTextOrNil(s.Last), LastRun: s.LastRun, Fired: s.Fired, Skipped: s.Skipped}
		if s.Every != nil {
			text := durationText(*s.Every)
			x.Every = &text
		}
		shown = append(shown, x)
	}
	if !asText {
		return a.WriteJSON(shown)
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SCHEDULE\tTIMES\tPROGRAM\tQUEUE\tNEXT\tLAST RUN\tFIRED\tSKIPPED")
	for _, s := range shown {
		times := "every " + orDash(s.Every)
		if s.Cron != nil {
			times = *s.Cron + " " + s.Zone
		}
		next := orDash(s.Next)
		if s.Paused {
			next = "paused"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\n", s.Schedule, times, console.Printable(s.Program), s.Queue, next, orDash(s.LastRun), s.Fired, s.Skipped)
	}
	return w.Flush()
}

func orDash(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}
