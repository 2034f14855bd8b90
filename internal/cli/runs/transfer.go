package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/engine/submission"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
)

func newExport(a *console.Console) *cobra.Command {
	cmd := engineCommand{console: a}
	c := &cobra.Command{
		Use:   "export RUN DIR",
		Short: "Copy a run of an engine to a directory",
		Long: `Writes a run of an engine to a new or empty directory, with its records unchanged. A run in progress
is written up to now. The commands for runs accept the directory.`,
		Example: "  concerto runs export r_4vd4sd65dabx job\n  concerto runs inspect job",
		Args:    console.Arguments(2, 2),
		RunE: func(c *cobra.Command, args []string) error {
			return cmd.export(c.Context(), args[0], args[1])
		},
	}
	locate.AddEngineFlag(a, c)
	return c
}

func (cmd *engineCommand) export(ctx context.Context, name, to string) error {
	run, err := cmd.find(ctx, name, locate.Reader)
	if err != nil {
		return err
	}
	from := run.Journal()
	source, ok := from.(runs.Source)
	if !ok {
		panic("runs: an engine's run has no records")
	}
	copied, err := runs.Copy(from, source)
	if errors.Is(err, journal.ErrNoRun) {
		return console.Usage("", "run %s has not started, so it has nothing to export", name)
	}
	if err != nil {
		return err
	}
	cmd.console.RunName = to
	return rundir.At(cmd.console.Abs(to)).Store(copied)
}

func newImport(a *console.Console) *cobra.Command {
	cmd := engineCommand{console: a}
	var id string
	c := &cobra.Command{
		Use:   "import DIR",
		Short: "Copy a run from a directory to an engine",
		Long: `Stores the run in a directory in an engine, with its records unchanged, and prints its id. Workers
resume a run that has not ended. From then on, do not resume the run in the directory: its effects
would be repeated.`,
		Example: "  concerto runs import job\n  concerto runs import job --id job-2",
		Args:    console.Arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return cmd.load(c.Context(), args[0], id)
		},
	}
	locate.AddEngineFlag(a, c)
	c.Flags().StringVar(&id, "id", "", "store the run as `ID` (default: its id)")
	return c
}

func (cmd *engineCommand) load(ctx context.Context, name, id string) error {
	if id != "" {
		if err := locate.CheckID(id); err != nil {
			return err
		}
	}
	dir, err := locate.Directory(cmd.console, name)
	if err != nil {
		return err
	}
	d := rundir.At(dir)
	if running, err := d.IsRunning(); err != nil {
		return err
	} else if running {
		return d.Holder()
	}
	if _, err := runs.Verify(d); err != nil {
		return err
	}
	copied, err := runs.Copy(d, d)
	if err != nil {
		return err
	}
	stored, err := engine.OpenRun(dir)
	if err != nil {
		return err
	}
	p, err := stored.Program()
	if err != nil {
		return err
	}
	start := submission.Start{Args: copied.Start.Args, Inputs: copied.Start.Inputs}
	if len(stored.Given) > 0 {
		if err := json.Unmarshal(stored.Given, &start.Flags); err != nil {
			return fmt.Errorf("the flags of the run: %w", err)
		}
	}
	needs, err := locate.Needs(p, start.IsMock())
	if err != nil {
		return err
	}
	if id == "" {
		id = copied.Start.Run
	}
	e, err := locate.Engine(ctx, cmd.console, locate.Worker)
	if err != nil {
		return err
	}
	_, err = e.Import(ctx, id, copied, postgres.Origin{Start: start.Encode(), Needs: needs})
	if other, ok := errors.AsType[*postgres.OtherJournalError](err); ok {
		return console.Usage("add --id to store it under another id", "%v", other)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.console.Stdout, id)
	return err
}
