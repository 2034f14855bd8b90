package runs

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// outputCommand is the command output with its options.
type outputCommand struct {
	console *console.Console
	from    int64
	follow  bool
	emit    string
}

func newOutput(a *console.Console) *cobra.Command {
	cmd := outputCommand{console: a}
	c := &cobra.Command{
		Use:   "output RUN",
		Short: "Print the output of a run",
		Long: `Prints what a run has printed and emitted so far. The lines are numbered from 1, as the member n of
--emit ndjson shows. With --follow, output waits for further lines until the run ends.`,
		Example: "  concerto runs output r_4vd4sd65dabx\n  concerto runs output r_4vd4sd65dabx --from 20 --follow --emit ndjson",
		Args:    console.Arguments(1, 1),
		RunE:    func(c *cobra.Command, args []string) error { return cmd.output(c.Context(), args[0]) },
	}
	locate.AddEngineFlag(a, c)
	c.Flags().Int64Var(&cmd.from, "from", 1, "start with line `N`")
	c.Flags().BoolVar(&cmd.follow, "follow", false, "wait for further lines until the run ends")
	c.Flags().StringVar(&cmd.emit, "emit", "text", "print emits as `FORM`: text, ndjson or none (default text)")
	return c
}

// followPoll is the interval at which --follow reads further lines.
const followPoll = 200 * time.Millisecond

func (cmd *outputCommand) output(ctx context.Context, name string) error {
	if err := console.OneOf("--emit", cmd.emit, program.ModeNames); err != nil {
		return err
	}
	if cmd.from < 1 {
		return console.Usage("lines are numbered from 1", "invalid value %d for --from", cmd.from)
	}
	run, err := locate.Find(ctx, cmd.console, name, locate.Reader)
	if err != nil {
		return err
	}
	to := locate.NewPrinter(cmd.console, emit.Modes[cmd.emit], cmd.from, nil)
	for {
		over, err := cmd.isOver(ctx, run)
		if err != nil {
			return err
		}
		if err := to.Write(ctx, run); err != nil {
			return err
		}
		if !cmd.follow || over {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(followPoll):
		}
	}
}

// isOver reports whether a run has ended.
func (cmd *outputCommand) isOver(ctx context.Context, run *locate.Run) (bool, error) {
	if run.Engine != nil {
		state, _, err := run.Engine.State(ctx, run.ID)
		return isOver(state), err
	}
	s, err := runs.Show(run.Journal())
	if err != nil {
		return false, err
	}
	return isOver(s.State), nil
}
