// Package runs has the commands for stored runs: runs, answer, fork, inspect and audit.
package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runner"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// runsCommand is one of the runs commands with its options.
type runsCommand struct {
	console *console.Console
	format  *cmdline.Format
	out     string
	filter  postgres.Filter // of an engine's runs
}

func NewRuns(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "runs COMMAND",
		Short: "List, answer, resume, inspect and remove stored runs",
		Long: `Runs are stored in a directory by --journal DIR, or by [run] journal in the manifest, or in an
engine, a database, by 'concerto submit'. RUN is a run's directory, its id if the manifest has
[run] journal, or its id in the engine (--engine, $CONCERTO_ENGINE). ROOT is a directory that
contains runs, by default that of the manifest. 'concerto help journal' describes stored runs.`,
		Example: `  concerto runs list
  concerto runs show job
  concerto runs answer job q7 yes
  concerto runs resume job`,
		Args: console.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	add := func(x *cobra.Command, run func(cmd *runsCommand, ctx context.Context, args []string) error, forms ...string) *runsCommand {
		cmd := &runsCommand{console: a}
		x.RunE = func(c *cobra.Command, args []string) error { return run(cmd, c.Context(), args) }
		if len(forms) > 0 {
			cmd.format = cmdline.AddFormat(x, forms...)
		}
		locate.AddEngineFlag(a, x)
		c.AddCommand(x)
		return cmd
	}
	list := &cobra.Command{Use: "list [ROOT]", Short: "List stored runs", Args: console.Arguments(0, 1),
		Long: `Lists the runs of the engine, the newest first, with the reasons why they do not progress. With
ROOT, or without an engine, lists the runs in a directory, the oldest first.`,
		Example: "  concerto runs list\n  concerto runs list runs --format json\n  concerto runs list --state waiting --queue batch"}
	listing := add(list, (*runsCommand).list, "text", "json")
	list.Flags().StringSliceVar(&listing.filter.States, "state", nil, "list only runs in `STATES`, such as held,damaged")
	list.Flags().StringVar(&listing.filter.Queue, "queue", "", "list only runs in the queue `NAME`")
	list.Flags().StringVar(&listing.filter.Key, "key", "", "list only runs with `KEY`")
	list.Flags().StringVar(&listing.filter.Schedule, "schedule", "", "list only runs of the schedule `NAME`")
	list.Flags().IntVar(&listing.filter.Limit, "limit", 100, "list at most `N` runs of an engine")
	console.CompleteFlag(list, "state", func() []string { return postgres.States })
	add(&cobra.Command{Use: "show RUN", Short: "Show what a run has done, and what it waits for", Args: console.Arguments(1, 1),
		Example: "  concerto runs show job\n  concerto runs show job --format json"}, (*runsCommand).show, "text", "json")
	c.AddCommand(NewAnswer(a), runner.NewResume(a), NewFork(a), NewInspect(a), runner.NewReplay(a), newOutput(a), newExport(a), newImport(a), newRelease(a), newMove(a))
	add(&cobra.Command{Use: "stop RUN", Short: "Stop a run", Args: console.Arguments(1, 1),
		Long:    "Cancels the tasks of a run and stops its hosts. The run ends with exit code 1 and cannot be resumed.",
		Example: "  concerto runs stop job"}, (*runsCommand).stop)
	add(&cobra.Command{Use: "rm RUN…", Short: "Remove runs", Args: console.Arguments(1, -1),
		Long:    "Removes the directories of runs. Fails for a run that a process is running.",
		Example: "  concerto runs rm job\n  concerto runs rm r_4vd4sd65dabx r_9k2mq7xw3bht"}, (*runsCommand).remove)
	add(&cobra.Command{Use: "verify RUN", Short: "Verify that a run's journal is unchanged", Args: console.Arguments(1, 1),
		Long:    "Recomputes the hashes of a run's journal, output and answers. Exit code 76 reports a change.",
		Example: "  concerto runs verify job\n  concerto runs verify job --format json"}, (*runsCommand).verify, "text", "json")
	tape := &cobra.Command{Use: "tape RUN", Short: "Write a tape of a run", Args: console.Arguments(1, 1),
		Long:    "Writes the inputs of a run so far, for 'concerto runs replay' and for tests.",
		Example: "  concerto runs tape job -o bug.tape\n  concerto runs replay bug.tape"}
	cmd := add(tape, (*runsCommand).tape)
	tape.Flags().StringVarP(&cmd.out, "output", "o", "", "write to `FILE` (default stdout)")
	return c
}

func (cmd *runsCommand) list(ctx context.Context, args []string) error {
	if len(args) == 0 {
		url, err := locate.EngineURL(cmd.console)
		if err != nil {
			return err
		}
		if url != "" {
			return cmd.listEngine(ctx)
		}
	}
	root, err := locate.Root(cmd.console, args)
	if err != nil {
		return err
	}
	all, err := runs.List(root)
	if err != nil {
		return err
	}
	if cmd.format.String() == "json" {
		return cmd.console.WriteJSON(all)
	}
	w := tabwriter.NewWriter(cmd.console.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTATE\tPROGRAM\tSTARTED\tWAITS FOR")
	for _, r := range all {
		waits := make([]string, 0, len(r.Pending))
		for _, q := range r.Pending {
			waits = append(waits, q.ID+" "+q.Channel)
		}
		name := r.Run
		if name == "" {
			name = cmd.console.Relative(r.Dir)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", name, r.State, r.Program, r.Started, console.Printable(strings.Join(waits, ", ")))
	}
	return w.Flush()
}

func (cmd *runsCommand) show(ctx context.Context, args []string) error {
	run, err := locate.Find(ctx, cmd.console, args[0], locate.Reader)
	if err != nil {
		return err
	}
	if run.Engine != nil {
		return cmd.showInEngine(ctx, run)
	}
	s, err := runs.Show(run.Journal())
	if err != nil {
		return err
	}
	if cmd.format.String() == "json" {
		return cmd.console.WriteJSON(s)
	}
	_, err = fmt.Fprint(cmd.console.Stdout, console.Printable(runText(args[0], s, cmd.console.TTY.Out)))
	return err
}

// runText describes a run, one property per line.
func runText(run string, s *durable.Shown, terminal bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "run      %s\nstate    %s", s.Run, s.State)
	switch {
	case s.ContinuedAs != "":
		fmt.Fprintf(&b, " as %s", s.ContinuedAs)
	case s.Exit != nil:
		fmt.Fprintf(&b, ", exit code %d", *s.Exit)
	}
	if s.Continues != "" {
		fmt.Fprintf(&b, "\n         the successor of %s", s.Continues)
	}
	if s.Damage != "" {
		fmt.Fprintf(&b, "\n         %s", s.Damage)
	}
	fmt.Fprintf(&b, "\nprogram  %s\nstarted  %s\neffects  %d done, %d not done, %d unknown, %d pending\n", s.Program, s.Started, s.Effects.Done, s.Effects.None, s.Effects.Unknown, s.Effects.Pending)
	fmt.Fprintf(&b, "used     %s\njournal  %d records, %d bytes", usageText(&s.Usage), s.Journal.Records, s.Journal.Bytes)
	b.WriteByte('\n')
	for _, q := range s.Pending {
		fmt.Fprintf(&b, "waits    %s %s %s (%s) since %s: concerto runs answer %s %s <value>\n", q.ID, q.Channel, console.PayloadText(q.Channel, q.Payload, terminal), q.Type, q.Since, run, q.ID)
	}
	for _, q := range s.Answered {
		how := string(q.Value)
		switch {
		case q.Error != nil:
			how = "refused: " + string(q.Error)
		case q.Value == nil:
			how = "with a value in a separate file"
		}
		fmt.Fprintf(&b, "answered %s %s %s: %s by %s at %s\n", q.ID, q.Channel, console.PayloadText(q.Channel, q.Payload, terminal), how, q.By, q.At)
	}
	for _, g := range s.Gates {
		fmt.Fprintf(&b, "gate     %s: %s\n", g.Host, g.Proof)
	}
	for _, u := range s.Unknown {
		fmt.Fprintf(&b, "unknown  %s %s %s, started %s: %s\n", u.ID, u.Kind, u.Request, u.Began, u.Policy)
	}
	for _, t := range s.Timers {
		fmt.Fprintf(&b, "timer    effect %d, until %s\n", t.Effect, t.Due)
	}
	for _, h := range s.Hosts {
		process := ""
		if h.PID != 0 {
			process = fmt.Sprintf(", process %d", h.PID)
		}
		fmt.Fprintf(&b, "host     %s%s, %s\n", h.Host, process, h.State)
	}
	return b.String()
}

func (cmd *runsCommand) verify(ctx context.Context, args []string) error {
	run, err := locate.Find(ctx, cmd.console, args[0], locate.Reader)
	if err != nil {
		return err
	}
	v, err := runs.Verify(run.Journal())
	if run.Engine != nil && errors.Is(err, journal.ErrNoRun) {
		err = nil // no worker has begun it
	}
	if cmd.format.String() == "json" {
		out := struct {
			OK      bool   `json:"ok"`
			Records uint64 `json:"records"`
			Torn    int    `json:"torn_bytes"`
			OutTorn int    `json:"out_torn_bytes,omitempty"`
			Problem string `json:"problem,omitempty"`
		}{OK: err == nil, Records: v.Records, Torn: v.Torn, OutTorn: v.OutTorn}
		if err != nil {
			out.Problem = err.Error()
		}
		return errors.Join(cmd.console.WriteJSON(out), err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.console.Stdout, verifiedText(v))
	return err
}

func verifiedText(v runs.Verified) string {
	text := fmt.Sprintf("%d records, unchanged", v.Records)
	if v.Torn > 0 {
		text += fmt.Sprintf("; incomplete record at the end: %d bytes", v.Torn)
	}
	if v.OutTorn > 0 {
		text += fmt.Sprintf("; incomplete line at the end of out.ndjson: %d bytes, which resume writes again", v.OutTorn)
	}
	return text
}

func (cmd *runsCommand) stop(ctx context.Context, args []string) error {
	run, err := locate.Find(ctx, cmd.console, args[0], locate.Client)
	if err != nil {
		return err
	}
	if run.Engine != nil {
		return cmd.stopInEngine(ctx, run)
	}
	return runs.Stop(ctx, run.Dir)
}

func (cmd *runsCommand) remove(ctx context.Context, args []string) error {
	for _, name := range args {
		run, err := locate.Find(ctx, cmd.console, name, locate.Owner)
		if err != nil {
			return err
		}
		if run.Engine != nil {
			err = run.Engine.Delete(ctx, run.ID)
		} else {
			err = runs.Remove(ctx, run.Dir)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (cmd *runsCommand) tape(ctx context.Context, args []string) (err error) {
	run, err := locate.Find(ctx, cmd.console, args[0], locate.Reader)
	if err != nil {
		return err
	}
	if cmd.out == "" {
		return runs.Tape(run.Journal(), cmd.console.Stdout)
	}
	f, err := console.PrivateFile(cmd.console.Abs(cmd.out))
	if err != nil {
		return console.Usage("", "write %s: %v", cmd.out, console.Cause(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return runs.Tape(run.Journal(), f)
}

// usageText describes what models and hosts have used.
func usageText(u *durable.Usage) string {
	text := fmt.Sprintf("%d tokens in, %d out, $%s\nmodels   %d calls, %d failed, %d with unknown result", u.TokensIn, u.TokensOut, budget.Money(u.Cost), u.Calls, u.FailedCalls, u.UnknownCalls)
	if u.UnpricedCalls > 0 {
		text += fmt.Sprintf("\n         %d of unknown price", u.UnpricedCalls)
	}
	if u.Parts != (models.Parts{}) {
		text += fmt.Sprintf("\n         cache: %d read, %d written; %d out for reasoning", u.Cached, u.CacheWrite, u.Reasoning)
	}
	if u.Exchanges > 0 {
		text += fmt.Sprintf("\nhosts    %d exchanges, %d failed", u.Exchanges, u.FailedExchanges)
	}
	return text
}
