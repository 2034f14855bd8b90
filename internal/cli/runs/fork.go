package runs

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runner"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
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
is in progress at the effect, it fails in the fork.`,
		Example: `  concerto runs fork job --at 4 --answer no             continue with another answer
  concerto runs fork job --at 9 --error "no network"    continue as if the effect had failed
  concerto runs fork job --at 9 --to other --no-run     only create the directory`,
		Args: console.Arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			change, err := cmd.change(args[0], c.Flags().Changed)
			if err != nil {
				return err
			}
			dir, err := cmd.fork(args[0], change)
			if err != nil || cmd.noRun {
				return err
			}
			resume := runner.NewResume(a)
			resume.SetContext(c.Context())
			if err := resume.Flags().Set("as-started", "true"); err != nil {
				return err
			}
			return resume.RunE(resume, []string{dir})
		},
	}
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
		if !json.Valid([]byte(cmd.result)) {
			return change, console.Usage("", "--result is not valid JSON: %s", cmd.result)
		}
		change.Result = json.RawMessage(cmd.result)
	}
	return change, nil
}

// fork creates the directory of the new run. It returns the path relative to the working directory
// if possible.
func (cmd *forkCommand) fork(run string, change durable.Change) (string, error) {
	dir, err := runner.FindRun(cmd.console, run)
	if err != nil {
		return "", err
	}
	id, to := procgroup.NewID(), cmd.to
	if to == "" {
		to = cmd.console.Relative(filepath.Join(filepath.Dir(dir), id))
	}
	cmd.console.RunName = to
	written, err := runs.Fork(rundir.At(dir), rundir.At(cmd.console.Abs(to)), id, change)
	if err != nil {
		if !errors.As(err, new(*journal.ExistsError)) && !errors.As(err, new(*rundir.NotEmptyError)) {
			cmd.console.RunName = run
		}
		return "", err
	}
	cmd.console.Notef("concerto: storing run %s in %s\n", id, to)
	if len(written) > 0 {
		slices.Sort(written)
		cmd.console.Notef("concerto: files not undone: %s\n", console.Printable(strings.Join(slices.Compact(written), ", "), cmd.console.TTY.Err))
	}
	return to, nil
}
