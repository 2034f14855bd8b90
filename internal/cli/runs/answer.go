package runs

import (
	"cmp"
	"context"
	"fmt"
	"os/user"
	"slices"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/internal/engine/runs"
)

// answerCommand is the command answer with its options.
type answerCommand struct {
	console *console.Console
	reply   runs.Response
	refuse  string
	refused bool   // --refuse is set
	channel string // value of --channel
}

func NewAnswer(a *console.Console) *cobra.Command {
	cmd := answerCommand{console: a}
	c := &cobra.Command{
		Use:   "answer RUN [ID] [VALUE]",
		Short: "Answer a question of a run",
		Long: `Answers a question by its id, which 'concerto runs show' and the parked run print. VALUE is text if
the program awaits a String or any type; otherwise it is JSON, or a word such as a variant's name.
Only the first answer counts. A running run receives it at once, a parked run when it is resumed; a
run in an engine is resumed by a worker. --channel answers the oldest question on a channel. RUN may
also be the session of an agent in which a call waits, as 'concerto top' shows it.`,
		Example: `  concerto runs answer job q7 yes
  concerto runs answer job q7 '{"ok": true, "why": "small change"}'
  concerto runs answer job q7 --refuse "no one can decide this today"
  concerto runs answer job --channel approve yes`,
		Args: console.Arguments(1, 3),
		RunE: func(c *cobra.Command, args []string) error {
			cmd.refused = c.Flags().Changed("refuse")
			if c.Flags().Changed("channel") {
				return cmd.answer(c.Context(), args[0], "", args[1:])
			}
			if len(args) == 1 {
				return console.Usage("`concerto runs show "+args[0]+"` lists the questions", "runs answer requires the id of a question, or --channel")
			}
			return cmd.answer(c.Context(), args[0], args[1], args[2:])
		},
	}
	locate.AddEngineFlag(a, c)
	c.Flags().StringVar(&cmd.channel, "channel", "", "answer the oldest question on the channel `NAME`")
	c.Flags().BoolVar(&cmd.reply.JSON, "json-value", false, "parse VALUE as JSON, also where the program awaits text")
	c.Flags().StringVar(&cmd.reply.By, "by", "", "record `NAME` as the person who answers (default: your user name)")
	c.Flags().StringVar(&cmd.refuse, "refuse", "", "refuse to answer: the program receives an EmitError with `TEXT`")
	return c
}

// answer answers the question with the given id, or the oldest one on the channel if id is empty.
func (cmd *answerCommand) answer(ctx context.Context, run, id string, value []string) error {
	switch {
	case len(value) > 1:
		return console.Usage("leave out the id of the question, or --channel", "--channel replaces the id of the question")
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
	cmd.reply.Note = func(text string) { cmd.console.Notef("concerto: %s\n", text) }
	if found, err := cmd.answerRunning(run, id); found {
		return err
	}
	stored, err := locate.Find(ctx, cmd.console, run, locate.Client)
	if err != nil {
		return err
	}
	if id == "" {
		return runs.AnswerChannel(stored.Journal(), cmd.channel, cmd.reply)
	}
	return runs.Answer(stored.Journal(), id, cmd.reply)
}

// answerRunning answers a request of a run that is not stored, such as the session of an agent that
// waits in `guard serve`. found reports whether there is such a run.
func (cmd *answerCommand) answerRunning(run, id string) (found bool, err error) {
	dir := live.Directory(cmd.console.Environ)
	if dir == "" {
		return false, nil
	}
	client := live.NewClient(dir)
	defer client.Close()
	all, err := client.List()
	if err != nil {
		return false, nil // the run may be stored
	}
	i := slices.IndexFunc(all, func(s live.State) bool { return s.Run == run && s.Journal == "" && s.State != live.Invalid })
	if i < 0 {
		return false, nil
	}
	text := cmd.reply.Text
	if cmd.refused {
		text = "no: " + cmd.refuse // a text that is no word for an approval denies
	}
	for _, p := range all[i].Pending {
		if p.ID == id || id == "" && p.Channel == cmd.channel {
			if cmd.refused && p.Type != "approval" {
				return true, console.Usage("answer it", "--refuse denies approvals; %s of run %s is another request", p.ID, run)
			}
			return true, live.Answer(dir, run, &p, text, cmd.reply.By)
		}
	}
	return true, console.Usage("`concerto top --once` shows the requests of running runs", "run %s has no open request %s", run, cmp.Or(id, "on channel "+cmd.channel))
}

// userName returns the name of the user who runs the command.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}
