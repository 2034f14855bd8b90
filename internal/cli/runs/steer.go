package runs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// steerCommand is the command steer with its options.
type steerCommand struct {
	console *console.Console
	message journal.SteerRequest
	by      string
}

func NewSteer(a *console.Console) *cobra.Command {
	cmd := steerCommand{console: a}
	c := &cobra.Command{
		Use:   "steer RUN [TEXT]",
		Short: "Send a message to a running host of a run",
		Long: `Sends TEXT to the host that works on an exchange of a stored run. A host that can receive messages
while it works receives it at once (steered); for any other, it is the prompt of the exchange's next
turn (queued). --interrupt ends the host's current turn first. If several hosts are running, --host
and --workspace select one.`,
		Example: `  concerto steer job "Leave the tests alone"
  concerto steer job --workspace fix-login "Use the new API"
  concerto steer job --interrupt "Stop, and revert the last change"`,
		Args: console.Arguments(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				cmd.message.Text = args[1]
			}
			return cmd.run(c.Context(), args[0])
		},
	}
	locate.AddEngineFlag(a, c)
	f := c.Flags()
	f.StringVar(&cmd.message.Host, "host", "", "send the message to the host `NAME`, as the program declares it")
	f.StringVar(&cmd.message.Workspace, "workspace", "", "send the message to the host that works in the workspace `NAME`")
	f.BoolVar(&cmd.message.Interrupt, "interrupt", false, "end the host's current turn first; without TEXT, the exchange fails")
	f.StringVar(&cmd.by, "by", "", "record `NAME` as the sender (default: your user name)")
	return c
}

func (cmd *steerCommand) run(ctx context.Context, run string) error {
	if cmd.message.Text == "" && !cmd.message.Interrupt {
		return console.Usage(fmt.Sprintf("`concerto steer %s <text>`, or --interrupt to end the exchange", run), "steer requires a text")
	}
	if cmd.by == "" {
		cmd.by = userName()
	}
	stored, err := locate.Find(ctx, cmd.console, run, locate.Client)
	if err != nil {
		return err
	}
	resume := ""
	if stored.Engine == nil {
		resume = "concerto runs resume " + run
	}
	host, outcome, err := runs.Steer(ctx, stored.Journal(), run, resume, cmd.message, cmd.by)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.console.Stdout, "sent to %s (%s)\n", host, outcome)
	return err
}
