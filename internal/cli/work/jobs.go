package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// jobsCommand is one of the jobs commands with its options.
type jobsCommand struct {
	console *console.Console
	format  *cmdline.Format // nil for a command without formats

	state, id string
	after     []string
	priority  int64
	delay     float64
	dead      bool
	takesPath bool // an argument after the queue is the path of the program
}

func NewJobs(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "jobs COMMAND",
		Short: "List, add, retry and remove the tasks in a queue",
		Long: `A queue is a store of tasks that workers claim one by one. NAME is the name of a queue that the
program declares with a file: queue NAME: Queue<T> = Queue::new().with_persistence("FILE");
'concerto queue' shows something else: the runs that wait for a worker of an engine.`,
		Example: `  concerto jobs list tasks
  concerto jobs add tasks '{"title": "Fix the login"}'
  concerto jobs retry tasks --dead
  concerto jobs rm tasks t3`,
		Args: console.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	add := func(x *cobra.Command, run func(cmd *jobsCommand, ctx context.Context, q *engine.Queue, args []string) error, forms ...string) *jobsCommand {
		cmd := &jobsCommand{console: a}
		x.RunE = func(c *cobra.Command, args []string) error { return cmd.with(c.Context(), args, run) }
		if len(forms) > 0 {
			cmd.format = cmdline.AddFormat(x, forms...)
		}
		c.AddCommand(x)
		return cmd
	}
	list := &cobra.Command{Use: "list NAME [PATH]", Short: "List the tasks in a queue, oldest first", Args: console.Arguments(1, 2),
		Long: `Prints the id, the state, the number of attempts and the value of each task. States are waiting,
ready, claimed, done, dead and blocked. PATH is the program (default: the project).`,
		Example: "  concerto jobs list tasks\n  concerto jobs list tasks --state dead --format json"}
	listing := add(list, (*jobsCommand).list, "text", "json")
	listing.takesPath = true
	list.Flags().StringVar(&listing.state, "state", "", "list only tasks in `STATE`")
	console.CompleteFlag(list, "state", func() []string { return memstore.ItemStates })
	add(&cobra.Command{Use: "show NAME ID", Short: "Show a task", Args: console.Arguments(2, 2),
		Example: "  concerto jobs show tasks t1\n  concerto jobs show tasks t1 --format json"}, (*jobsCommand).show, "text", "json")
	adding := &cobra.Command{Use: "add NAME JSON", Short: "Add a task, and print its id", Args: console.Arguments(2, 2),
		Long: `JSON must match the type of the queue's tasks. If the queue has a task with this id and value, it is
not changed.`,
		Example: "  concerto jobs add tasks '\"Fix the login\"'\n  concerto jobs add tasks --id deploy --after t1,t2 '\"Deploy\"'"}
	addition := add(adding, (*jobsCommand).add)
	adding.Flags().StringVar(&addition.id, "id", "", "add the task as `ID` (default: the next of t1, t2, …)")
	adding.Flags().StringSliceVar(&addition.after, "after", nil, "start the task when the tasks `A,B` are done")
	adding.Flags().Int64Var(&addition.priority, "priority", 0, "claim the task before those of a priority lower than `N`")
	adding.Flags().Float64Var(&addition.delay, "delay", 0, "start the task in `SECONDS`")
	retry := &cobra.Command{Use: "retry NAME {ID… | --dead}", Short: "Make dead tasks ready again, with no attempts", Args: console.Arguments(1, -1),
		Example: "  concerto jobs retry tasks t1 t4\n  concerto jobs retry tasks --dead"}
	retrying := add(retry, (*jobsCommand).retry)
	retry.Flags().BoolVar(&retrying.dead, "dead", false, "retry all dead tasks")
	add(&cobra.Command{Use: "rm NAME ID…", Short: "Remove tasks", Args: console.Arguments(2, -1),
		Long:    "Tasks that wait for a removed task are blocked. A task that a worker has claimed cannot be removed.",
		Example: "  concerto jobs rm tasks t1 t2"}, (*jobsCommand).remove)
	return c
}

// with runs a command with the queue that its first argument names.
func (cmd *jobsCommand) with(parent context.Context, args []string, run func(*jobsCommand, context.Context, *engine.Queue, []string) error) error {
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	if cmd.state != "" {
		if err := console.OneOf("--state", cmd.state, memstore.ItemStates); err != nil {
			return err
		}
	}
	if !(cmd.delay >= 0) || math.IsInf(cmd.delay, 0) {
		return console.Usage("", "--delay must be a number of seconds that is not negative")
	}
	path := ""
	if cmd.takesPath && len(args) == 2 {
		path = args[1]
	}
	source, err := program.Source(cmd.console, path, nil)
	if err != nil {
		return err
	}
	p, err := program.Read(cmd.console, source)
	if err != nil {
		return err
	}
	q, err := p.OpenQueue(args[0], cmd.console.Dir)
	if none, ok := errors.AsType[*engine.NoQueueError](err); ok {
		hint := ""
		if len(none.Names) > 0 && !none.InMemory {
			hint = "its queues are: " + strings.Join(none.Names, ", ")
		}
		return console.Usage(hint, "%v", none)
	}
	if err != nil {
		return err
	}
	err = run(cmd, ctx, q, args[1:])
	if closing := q.Close(); err == nil {
		err = closing
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	failed, ok := errors.AsType[*effect.Error](err)
	if !ok {
		return err
	}
	if err := writeError(cmd.console, cmd.format, failed); err != nil {
		return err
	}
	if failed.Fields["code"] == "file" {
		return console.Usage("", "%s", failed.Message)
	}
	cmd.console.Complain(failed.Message, "")
	return console.ExitError(console.ExitFailed)
}

func (cmd *jobsCommand) list(ctx context.Context, q *engine.Queue, _ []string) error {
	all, err := q.Items(ctx, cmd.state)
	if err != nil {
		return err
	}
	if !cmd.format.IsText() {
		return cmd.console.WriteJSON(all)
	}
	w := tabwriter.NewWriter(cmd.console.Stdout, 0, 0, 2, ' ', 0)
	for _, x := range all {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", cmd.printable(x.ID), x.State, x.Attempts, cmd.printable(string(x.Value)))
	}
	return w.Flush()
}

func (cmd *jobsCommand) printable(s string) string { return console.Printable(s) }

func (cmd *jobsCommand) show(ctx context.Context, q *engine.Queue, args []string) error {
	x, err := q.Item(ctx, args[0])
	if err != nil {
		return err
	}
	if !cmd.format.IsText() {
		return cmd.console.WriteJSON(x)
	}
	w := tabwriter.NewWriter(cmd.console.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		name string
		text *string
	}{{"id", &x.ID}, {"value", textOf(x.Value)}, {"state", &x.State}, {"priority", number(x.Priority)}, {"attempts", number(x.Attempts)},
		{"after", joined(x.After)}, {"worker", x.Worker}, {"lease_until", x.LeaseUntil}, {"error", x.Error}, {"result", textOf(x.Result)}, {"created", &x.Created}} {
		if row.text != nil {
			fmt.Fprintf(w, "%s\t%s\n", row.name, cmd.printable(*row.text))
		}
	}
	return w.Flush()
}

// textOf returns JSON as text, or nil for null.
func textOf(raw json.RawMessage) *string {
	if text := string(raw); text != "null" {
		return &text
	}
	return nil
}

func number(n int64) *string {
	text := strconv.FormatInt(n, 10)
	return &text
}

func joined(ids []string) *string {
	if len(ids) == 0 {
		return nil
	}
	text := strings.Join(ids, ", ")
	return &text
}

func (cmd *jobsCommand) add(ctx context.Context, q *engine.Queue, args []string) error {
	delay := int64(math.Round(min(cmd.delay*1000, math.MaxInt64/2)))
	id, err := q.Add(ctx, []byte(args[0]), effect.QueueAdd{ID: cmd.id, After: cmd.after, Priority: cmd.priority, DelayMS: delay})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.console.Stdout, id)
	return err
}

func (cmd *jobsCommand) retry(ctx context.Context, q *engine.Queue, ids []string) error {
	if cmd.dead == (len(ids) > 0) {
		return console.Usage("name tasks, or use --dead for all of them", "jobs retry takes ids or --dead")
	}
	if cmd.dead {
		all, err := q.Items(ctx, memstore.ItemDead)
		if err != nil {
			return err
		}
		for _, x := range all {
			ids = append(ids, x.ID)
		}
	}
	return cmd.update(ctx, q, effect.QueueRetry, ids)
}

func (cmd *jobsCommand) remove(ctx context.Context, q *engine.Queue, ids []string) error {
	return cmd.update(ctx, q, effect.QueueRemove, ids)
}

// update updates tasks one by one until one of them cannot be updated.
func (cmd *jobsCommand) update(ctx context.Context, q *engine.Queue, op string, ids []string) error {
	for _, id := range ids {
		if err := q.Update(ctx, op, id); err != nil {
			return err
		}
	}
	return nil
}
