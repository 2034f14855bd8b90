package engines

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// queueCommand is one of the queue commands with its options.
type queueCommand struct {
	console             *console.Console
	format              *cmdline.Format
	concurrency, perKey int
}

func NewQueue(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "queue COMMAND",
		Short: "Limit, pause and list the queues of an engine",
		Long: `Each run of an engine is in a queue, and each worker claims runs from some queues. The limits of a
queue hold over all workers. A run counts while a worker executes it; waiting runs do not count.`,
		Example: `  concerto queue set batch --concurrency 4 --per-key 1
  concerto queue pause batch
  concerto queue list`,
		Args: console.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd := &queueCommand{console: a}
	set := &cobra.Command{Use: "set NAME", Short: "Set the limits of a queue", Args: console.Arguments(1, 1),
		Long:    "Sets how many runs of a queue are in progress at the same time, over all workers. 0 means no limit.",
		Example: "  concerto queue set batch --concurrency 4\n  concerto queue set batch --per-key 2",
		RunE: func(c *cobra.Command, args []string) error {
			return cmd.set(c.Context(), args[0], c.Flags().Changed)
		}}
	set.Flags().IntVar(&cmd.concurrency, "concurrency", 0, "run at most `N` runs of the queue at once; 0 means no limit")
	set.Flags().IntVar(&cmd.perKey, "per-key", 0, "run at most `N` runs with the same key at once; 0 means no limit")
	pause := func(name, short, long string, paused bool) *cobra.Command {
		return &cobra.Command{Use: name + " NAME", Short: short, Args: console.Arguments(1, 1), Long: long, Example: "  concerto queue " + name + " batch",
			RunE: func(c *cobra.Command, args []string) error { return cmd.pause(c.Context(), args[0], paused) }}
	}
	list := &cobra.Command{Use: "list", Short: "List the queues", Args: console.NoArguments,
		Example: "  concerto queue list\n  concerto queue list --format json",
		RunE:    func(c *cobra.Command, _ []string) error { return cmd.list(c.Context()) }}
	cmd.format = cmdline.AddFormat(list, "text", "json")
	for _, x := range []*cobra.Command{
		set,
		pause("pause", "Pause a queue", "In a paused queue, no run starts or resumes. Runs in progress continue until they wait or end.", true),
		pause("resume", "Resume a paused queue", "Workers claim the runs of the queue again.", false),
		list,
	} {
		locate.AddEngineFlag(a, x)
		c.AddCommand(x)
	}
	return c
}

func (cmd *queueCommand) set(ctx context.Context, name string, isSet func(flag string) bool) error {
	if err := locate.CheckQueue(name); err != nil {
		return err
	}
	var limits [2]*int
	for i, l := range []struct {
		flag  string
		value *int
	}{{"concurrency", &cmd.concurrency}, {"per-key", &cmd.perKey}} {
		if !isSet(l.flag) {
			continue
		}
		if *l.value < 0 {
			return console.Usage("0 means no limit", "invalid value %d for --%s", *l.value, l.flag)
		}
		limits[i] = l.value
	}
	if limits == [2]*int{} {
		return console.Usage("for example: concerto queue set "+name+" --concurrency 4", "queue set requires --concurrency or --per-key")
	}
	e, err := locate.Engine(ctx, cmd.console, locate.Client)
	if err != nil {
		return err
	}
	return e.SetQueue(ctx, name, limits[0], limits[1])
}

func (cmd *queueCommand) pause(ctx context.Context, name string, paused bool) error {
	if err := locate.CheckQueue(name); err != nil {
		return err
	}
	e, err := locate.Engine(ctx, cmd.console, locate.Client)
	if err != nil {
		return err
	}
	return e.PauseQueue(ctx, name, paused)
}

func (cmd *queueCommand) list(ctx context.Context) error {
	e, err := locate.Engine(ctx, cmd.console, locate.Reader)
	if err != nil {
		return err
	}
	all, err := e.Queues(ctx)
	if err != nil {
		return err
	}
	if !cmd.format.IsText() {
		return cmd.console.WriteJSON(all)
	}
	w := tabwriter.NewWriter(cmd.console.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "QUEUE\tSTATE\tCONCURRENCY\tPER KEY\tREADY\tRUNNING\tWAITING\tOLDEST\tWORKERS")
	for _, q := range all {
		state, oldest := "active", "-"
		if q.Paused {
			state = "paused"
		}
		if q.OldestReadyS != nil {
			oldest = time.Duration(*q.OldestReadyS * float64(time.Second)).Round(time.Second).String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%d\n", q.Queue, state, limitText(q.Concurrency), limitText(q.PerKey), q.Ready, q.Running, q.Waiting, oldest, q.Workers)
	}
	return w.Flush()
}

func limitText(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
