package runs

import (
	"os/user"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runner"
	"github.com/concerto-lang/concerto/internal/engine/runs"
)

const answerHelp = `Answers a question that a run waits for: by the id that ` + "`concerto runs show`" + ` and the
parked run itself tell. VALUE is a text where the program awaits one, or anything;
else JSON, or a word such as the name of a variant. The first answer wins.

  concerto runs answer job q7 yes
  concerto runs answer job q7 '{"ok":true,"why":"small change"}'
  concerto runs answer job q7 --refuse "nobody is here to decide"

A run that is alive sees it at once, a parked one when it is resumed.`

// answerCommand is the command answer with its options.
type answerCommand struct {
	console *console.Console
	given   runs.GivenAnswer
	refuse  string
	refused bool // --refuse is given
}

func NewAnswer(a *console.Console) *cobra.Command {
	cmd := answerCommand{console: a}
	c := &cobra.Command{
		Use:   "answer RUN ID [VALUE]",
		Short: "Answer a question that a run waits for",
		Long:  answerHelp,
		Args:  cobra.RangeArgs(2, 3),
		RunE: func(c *cobra.Command, args []string) error {
			cmd.refused = c.Flags().Changed("refuse")
			return cmd.answer(args[0], args[1], args[2:])
		},
	}
	c.Flags().BoolVar(&cmd.given.JSON, "json-value", false, "VALUE is JSON")
	c.Flags().StringVar(&cmd.given.By, "by", "", "who answers: `NAME` (default: the user)")
	c.Flags().StringVar(&cmd.refuse, "refuse", "", "refuse to answer: the program gets an EmitError with `TEXT`")
	return c
}

func (cmd *answerCommand) answer(run, id string, value []string) error {
	switch {
	case cmd.refused == (len(value) > 0):
		return console.Usage("concerto runs answer RUN ID VALUE, or --refuse TEXT", "an answer is a VALUE, or a refusal")
	case cmd.refused:
		cmd.given.Refuse = &cmd.refuse
	default:
		cmd.given.Text = value[0]
	}
	if cmd.given.By == "" {
		cmd.given.By = userName()
	}
	dir, err := runner.FindRun(cmd.console, run)
	if err != nil {
		return err
	}
	return runs.Answer(dir, id, cmd.given)
}

// userName is who runs the command.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "somebody"
}
