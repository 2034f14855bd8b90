package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runner"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/record/tape"
)

// forkCommand is the command fork with its options.
type forkCommand struct {
	console              *console.Console
	at                   int64
	answer, result, fail string // replacements of the effect's result; at most one is set
	to                   string
	noRun                bool
}

func NewFork(a *console.Console) *cobra.Command {
	cmd := forkCommand{console: a}
	c := &cobra.Command{
		Use:   "fork RUN --at N",
		Short: "Continue a copy of a run with another result",
		Long: `Creates a run with the history of another run up to an effect, replaces the effect's result, and
continues. 'concerto runs inspect RUN --format ndjson' prints the numbers of effects; the id of a
question contains its number. A fork undoes nothing: the files, stores and messages that the run has
written up to the effect stay, and fork prints the names of the files. If an exchange with a host
is in progress at the effect, it fails in the fork. The fork of a run in an engine is in the engine,
where workers execute it, or in a directory with --to.`,
		Example: `  concerto runs fork job --at 4 --answer no             continue with another answer
  concerto runs fork job --at 9 --error "no network"    continue as if the effect had failed
  concerto runs fork job --at 9 --to other --no-run     only create the directory`,
		Args: console.Arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			change, err := cmd.change(args[0], c.Flags().Changed)
			if err != nil {
				return err
			}
			run, err := locate.Find(c.Context(), a, args[0], locate.Worker)
			if err != nil {
				return err
			}
			if run.Engine != nil && cmd.to == "" {
				return cmd.forkInEngine(c.Context(), run, change)
			}
			dir, err := cmd.fork(run, args[0], change)
			if err != nil || cmd.noRun || run.Engine != nil {
				return err
			}
			resume := runner.NewResume(a)
			resume.SetContext(c.Context())
			if err := resume.Flags().Set("as-started", "true"); err != nil {
				return err
			}
			err = resume.RunE(resume, []string{dir})
			if errors.As(err, new(*tape.DivergedError)) { // it has performed nothing
				err = errors.Join(err, runs.Remove(c.Context(), a.Abs(dir)))
			}
			return err
		},
	}
	locate.AddEngineFlag(a, c)
	c.Flags().Int64Var(&cmd.at, "at", 0, "replace the result of effect `N`")
	c.Flags().StringVar(&cmd.answer, "answer", "", "answer an awaited emit with `VALUE`")
	c.Flags().StringVar(&cmd.result, "result", "", "set the effect's result to `JSON`")
	c.Flags().StringVar(&cmd.fail, "error", "", "make the effect fail with `TEXT`")
	c.Flags().StringVar(&cmd.to, "to", "", "create the run in `DIR`, new or empty (default: next to the other run)")
	c.Flags().BoolVar(&cmd.noRun, "no-run", false, "only create the directory")
	c.MarkFlagsMutuallyExclusive("answer", "result", "error")
	return c
}

// change returns the change to the run's history that the flags request. isSet reports whether the
// user has set a flag.
func (cmd *forkCommand) change(run string, isSet func(flag string) bool) (durable.Change, error) {
	change := durable.Change{Effect: cmd.at}
	switch {
	case cmd.at < 1:
		return change, console.Usage("`concerto runs inspect "+run+" --format ndjson` lists the numbers", "--at requires the number of an effect, 1 or more")
	case isSet("answer"):
		change.Answer = &cmd.answer
	case isSet("error"):
		change.Error = &cmd.fail
	case isSet("result"):
		if err := schema.CheckAnswer([]byte(cmd.result), nil); err != nil {
			return change, console.Usage("", "--result is not a value: %v", err)
		}
		change.Result = json.RawMessage(cmd.result)
	}
	return change, nil
}

// fork creates the directory of the new run. It returns the path relative to the working directory
// if possible.
func (cmd *forkCommand) fork(from *locate.Run, run string, change durable.Change) (string, error) {
	id, to := procgroup.NewID(), cmd.to
	if to == "" {
		to = cmd.console.Relative(filepath.Join(filepath.Dir(from.Dir), id))
	}
	cmd.console.RunName = to
	written, err := runs.Fork(from.Journal(), rundir.At(cmd.console.Abs(to)), id, change)
	if err != nil {
		if !errors.As(err, new(*journal.ExistsError)) && !errors.As(err, new(*rundir.NotEmptyError)) {
			cmd.console.RunName = run
		}
		return "", err
	}
	cmd.console.Notef("concerto: storing run %s in %s\n", id, to)
	cmd.noteWritten(written)
	return to, nil
}

// noteWritten prints the names of the files that the effects before the fork have written.
func (cmd *forkCommand) noteWritten(written []string) {
	if len(written) > 0 {
		slices.Sort(written)
		cmd.console.Notef("concerto: files not undone: %s\n", console.Printable(strings.Join(slices.Compact(written), ", ")))
	}
}

// forkInEngine creates a run in the engine of another run, and prints its id. Workers execute it.
func (cmd *forkCommand) forkInEngine(ctx context.Context, from *locate.Run, change durable.Change) (err error) {
	if cmd.noRun {
		return console.Usage("add --to to create the fork in a directory", "--no-run is not possible in an engine, whose workers execute each run")
	}
	// The fork is complete before it is stored, so that no worker can execute a part of its
	// history.
	dir, err := os.MkdirTemp("", "concerto-fork-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	id, to := procgroup.NewID(), rundir.At(dir)
	written, err := runs.Fork(from.Journal(), to, id, change)
	if err != nil {
		return err
	}
	copied, err := runs.Copy(to, to)
	if err != nil {
		return err
	}
	if _, err := from.Engine.Import(ctx, id, copied, postgres.Origin{Run: from.ID}); err != nil {
		return err
	}
	cmd.noteWritten(written)
	_, err = fmt.Fprintln(cmd.console.Stdout, id)
	return err
}
