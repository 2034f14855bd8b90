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
)

const forkHelp = `Makes a new run with the history of another up to an effect, gives that effect another
result, and goes on from there. The numbers of effects are in the journal
(` + "`jq -c 'select(.e)' RUN/journal-*.ndjson`" + `), a question's is in its id.

  concerto fork job --at 4 --answer no             what if the answer had been another one
  concerto fork job --at 9 --error "no network"    and what if that had failed
  concerto fork job --at 9 --to other --no-run     only make the directory

Files, stores and what others were told are not turned back: which files the history
has written is said. A host's exchange that is open there is lost.`

func NewFork(a *console.Console) *cobra.Command {
	var change durable.Change
	var answer, result, failure, to string
	var noRun bool
	c := &cobra.Command{
		Use:   "fork RUN --at N",
		Short: "Go on with a copy of a run from an earlier effect",
		Long:  forkHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			set := c.Flags()
			if change.Effect < 1 {
				return console.Usage("say at which effect: --at N", "an effect's number is 1 or more")
			}
			if set.Changed("answer") {
				change.Answer = &answer
			}
			if set.Changed("error") {
				change.Error = &failure
			}
			if set.Changed("result") {
				if !json.Valid([]byte(result)) {
					return console.Usage("", "--result is no JSON: %s", result)
				}
				change.Result = json.RawMessage(result)
			}
			name, err := fork(a, args[0], to, change)
			if err != nil || noRun {
				return err
			}
			resume := runner.NewResume(a)
			resume.SetContext(c.Context())
			if err := resume.Flags().Set("as-started", "true"); err != nil {
				return err
			}
			return resume.RunE(resume, []string{name})
		},
	}
	c.Flags().Int64Var(&change.Effect, "at", 0, "the effect whose result is another one: its number `N`")
	c.Flags().StringVar(&answer, "answer", "", "what an awaited emit is answered with: `VALUE`")
	c.Flags().StringVar(&result, "result", "", "what the effect gives: `JSON`")
	c.Flags().StringVar(&failure, "error", "", "how it fails: `TEXT`")
	c.Flags().StringVar(&to, "to", "", "`DIR` of the new run, new or empty (default: beside the other)")
	c.Flags().BoolVar(&noRun, "no-run", false, "only make the directory")
	c.MarkFlagsMutuallyExclusive("answer", "result", "error")
	return c
}

// fork makes the directory of a fork, and gives it as people name it.
func fork(a *console.Console, run, to string, change durable.Change) (string, error) {
	dir, err := runner.FindRun(a, run)
	if err != nil {
		return "", err
	}
	id := procgroup.NewID()
	if to == "" {
		to = a.Relative(filepath.Join(filepath.Dir(dir), id))
	}
	a.RunName = to
	written, err := runs.Fork(dir, a.Abs(to), id, change)
	if err != nil {
		if !errors.As(err, new(*journal.HoldsRun)) && !errors.As(err, new(*journal.NotEmpty)) {
			a.RunName = run
		}
		return "", err
	}
	a.Notef("concerto: run %s is kept in %s\n", id, to)
	if len(written) > 0 {
		slices.Sort(written)
		a.Notef("concerto: not turned back: %s\n", console.Printable(strings.Join(slices.Compact(written), ", "), a.ErrTerminal))
	}
	return to, nil
}
