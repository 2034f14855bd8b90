package runs

import (
	"fmt"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runner"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
)

// answerCommand is the command answer with its options.
type answerCommand struct {
	console *console.Console
	reply   runs.Response
	refuse  string
	refused bool // --refuse is set
}

func NewAnswer(a *console.Console) *cobra.Command {
	cmd := answerCommand{console: a}
	c := &cobra.Command{
		Use:   "answer RUN ID [VALUE]",
		Short: "Answer a question of a run",
		Long: `Answers a question by its id, which 'concerto runs show' and the parked run print. VALUE is text if
the program awaits a String or any type; otherwise it is JSON, or a word such as a variant's name.
Only the first answer counts. A running run receives it at once, a parked run when it is resumed.`,
		Example: `  concerto runs answer job q7 yes
  concerto runs answer job q7 '{"ok": true, "why": "small change"}'
  concerto runs answer job q7 --refuse "no one can decide this today"`,
		Args: console.Arguments(2, 3),
		RunE: func(c *cobra.Command, args []string) error {
			cmd.refused = c.Flags().Changed("refuse")
			return cmd.answer(args[0], args[1], args[2:])
		},
	}
	c.Flags().BoolVar(&cmd.reply.JSON, "json-value", false, "parse VALUE as JSON, also where the program awaits text")
	c.Flags().StringVar(&cmd.reply.By, "by", "", "record `NAME` as the person who answers (default: your user name)")
	c.Flags().StringVar(&cmd.refuse, "refuse", "", "refuse to answer: the program receives an EmitError with `TEXT`")
	return c
}

func (cmd *answerCommand) answer(run, id string, value []string) error {
	switch {
	case cmd.refused == (len(value) > 0):
		return console.Usage(fmt.Sprintf("`concerto runs answer %s %s <value>`, or `--refuse <text>` instead of the value", run, id), "runs answer requires either a value or --refuse")
	case cmd.refused:
		cmd.reply.Refuse = &cmd.refuse
	default:
		cmd.reply.Text = value[0]
	}
	if cmd.reply.By == "" {
		cmd.reply.By = userName()
	}
	dir, err := runner.FindRun(cmd.console, run)
	if err != nil {
		return err
	}
	return runs.Answer(rundir.At(dir), id, cmd.reply)
}

// userName returns the name of the user who runs the command.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}
