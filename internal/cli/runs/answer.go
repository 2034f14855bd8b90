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

  concerto answer job q7 yes
  concerto answer job q7 '{"ok":true,"why":"small change"}'
  concerto answer job q7 --refuse "nobody is here to decide"

A run that is alive sees it at once; one that is parked when it is gone on with.`

func NewAnswer(a *console.Console) *cobra.Command {
	var given runs.GivenAnswer
	var refuse string
	c := &cobra.Command{
		Use:   "answer RUN ID [VALUE]",
		Short: "Answer a question that a run waits for",
		Long:  answerHelp,
		Args:  cobra.RangeArgs(2, 3),
		RunE: func(c *cobra.Command, args []string) error {
			refused := c.Flags().Changed("refuse")
			if refused == (len(args) == 3) {
				return console.Usage("concerto answer RUN ID VALUE, or --refuse TEXT", "an answer is a VALUE, or a refusal")
			}
			if refused {
				given.Refuse = &refuse
			} else {
				given.Text = args[2]
			}
			if given.By == "" {
				given.By = userName()
			}
			dir, err := runner.FindRun(a, args[0])
			if err != nil {
				return err
			}
			return runs.Answer(dir, args[1], given)
		},
	}
	c.Flags().BoolVar(&given.JSON, "json", false, "VALUE is JSON")
	c.Flags().StringVar(&given.By, "by", "", "who answers: `NAME` (default: the user)")
	c.Flags().StringVar(&refuse, "refuse", "", "refuse to answer: the program gets an EmitError with `TEXT`")
	return c
}

// userName is who runs the command.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "somebody"
}
