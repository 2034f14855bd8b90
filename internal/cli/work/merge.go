package work

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/term/screen"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/runtime/merge"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// NewMerge returns the commands of merge queues.
func NewMerge(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "merge COMMAND",
		Short: "Merge many changes into a branch, each after its gate has passed",
		Long: `A merge queue merges changes into a branch. It tests several together, and if the gate fails, it
finds out which change is the culprit. The branch only ever moves to commits whose gate has passed,
and nothing of your checkout changes. [merge.X] in the manifest configures the queue X.`,
		Example: `  concerto merge submit main fix-login
  concerto merge run main
  concerto merge list main`,
		Args: console.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	add := adder(a, c)
	submit := &cobra.Command{Use: "submit QUEUE NAME|BRANCH", Short: "Submit the commits of a workspace or a branch, and print the id", Args: console.Arguments(2, 2),
		Long: `Submits the current commit of a workspace, or of a branch if there is no workspace of that name.
Submitting the same commit again does nothing; another commit replaces the change.`,
		Example: "  concerto merge submit main fix-login\n  concerto merge submit main feature/login --after fix-login --priority 1"}
	s := add(submit, (*workCommand).submit)
	submit.Flags().StringVar(&s.change.ID, "id", "", "use the id `ID` (default the name of the workspace or branch)")
	submit.Flags().StringVar(&s.change.Title, "title", "", "use the title `TITLE` (default the subject of the last commit)")
	submit.Flags().StringSliceVar(&s.change.After, "after", nil, "merge it only after the changes `A,B`")
	submit.Flags().IntVar(&s.change.Priority, "priority", 0, "merge it before changes of a lower priority than `N`")
	run := &cobra.Command{Use: "run QUEUE", Short: "Merge changes until nothing is left to try", Args: console.Arguments(1, 1),
		Long: `Prints a line for each result, and last 'N merged, M failed, K blocked, G gates'. The exit code is 1
if a change failed, or if the gate fails on the branch itself.`,
		Example: "  concerto merge run main\n  concerto merge run main --watch"}
	r := add(run, (*workCommand).run, "text", "json")
	run.Flags().BoolVar(&r.watch, "watch", false, "wait for further changes until Ctrl-C")
	add(&cobra.Command{Use: "list QUEUE", Short: "List the changes of a queue", Args: console.Arguments(1, 1),
		Example: "  concerto merge list main\n  concerto merge list main --format json"}, (*workCommand).changes, "text", "json")
	add(&cobra.Command{Use: "retry QUEUE ID…", Short: "Submit changes again that have failed", Args: console.Arguments(2, -1),
		Example: "  concerto merge retry main fix-login"}, (*workCommand).retry)
	add(&cobra.Command{Use: "drop QUEUE ID…", Short: "Drop changes from a queue", Args: console.Arguments(2, -1),
		Long:    "Marks the changes as dropped, and removes the refs that keep their commits.",
		Example: "  concerto merge drop main fix-login"}, (*workCommand).drop)
	return c
}

// urlOf returns the address of a pull request for output.
func urlOf(url *string) string {
	if url == nil {
		return "(its URL is not known)"
	}
	return *url
}

// queue returns the queue with a name.
func (cmd *workCommand) queue(name string) (*merge.Queue, error) {
	q, err := cmd.merges.Queue(name)
	if unknown, ok := errors.AsType[*workspace.Error](err); ok {
		return nil, console.Usage(unknown.Hint, "%s", unknown.Message)
	}
	return q, err
}

func (cmd *workCommand) submit(ctx context.Context, s *workspace.Store, args []string) error {
	q, err := cmd.queue(args[0])
	if err != nil {
		return err
	}
	id := ""
	if exists, err := s.Exists(args[1]); err != nil {
		return err
	} else if exists {
		w, err := s.Use(ctx, args[1])
		if err != nil {
			return err
		}
		id, err = q.Submit(ctx, w, cmd.change)
		if err != nil {
			return err
		}
	} else if id, err = q.SubmitBranch(ctx, args[1], cmd.change); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.console.Stdout, id)
	return err
}

func (cmd *workCommand) run(ctx context.Context, _ *workspace.Store, args []string) error {
	q, err := cmd.queue(args[0])
	if err != nil {
		return err
	}
	a := cmd.console
	print := func(format string, args ...any) {
		if cmd.format.IsText() {
			fmt.Fprintln(a.Stdout, terminal.Escape(fmt.Sprintf(format, args...)))
		}
	}
	o := merge.Run{Watch: cmd.watch}
	o.Landed = func(commit string, changes []*merge.Change) {
		for _, c := range changes {
			print("merged %s %s", c.ID, commit)
		}
	}
	o.Proposed = func(c *merge.Change) {
		print("proposed %s %s", c.ID, urlOf(c.URL))
	}
	o.Failed = func(c *merge.Change) { print("%s %s: %s", c.State, c.ID, c.Message) }
	if a.TTY.ErrScreen {
		o.Progress = func(now effect.QueueState) {
			text := q.Name() + "  " + now.String()
			a.Bottom().Show(func(int, int) []screen.Line { return []screen.Line{{Mark: "⇢", Text: text}} })
		}
	}
	end := a.BeginDrawing()
	report, err := q.Run(ctx, o)
	end()
	if err != nil && ctx.Err() != nil && cmd.watch {
		err = nil // Ctrl-C is how a watching run ends
	}
	for _, c := range report.Blocked {
		print("blocked %s: depends on %s", c.ID, report.BlockedBy[c.ID])
	}
	if err == nil || errors.As(err, new(*merge.GateFailed)) {
		print("%d merged, %d failed, %d blocked, %d gates", len(report.Merged), len(report.Failed), len(report.Blocked), report.Gates)
	}
	if err != nil {
		return err
	}
	if !cmd.format.IsText() {
		if err := a.WriteJSON(report); err != nil {
			return err
		}
	}
	if len(report.Failed) > 0 {
		return console.ExitError(console.ExitFailed)
	}
	return nil
}

func (cmd *workCommand) changes(ctx context.Context, _ *workspace.Store, args []string) error {
	q, err := cmd.queue(args[0])
	if err != nil {
		return err
	}
	all, err := q.List(ctx)
	if err != nil {
		return err
	}
	if !cmd.format.IsText() {
		return cmd.console.WriteJSON(append([]*merge.Change{}, all...))
	}
	if len(all) == 0 {
		cmd.console.Notef("no changes: `concerto merge submit %s NAME` submits one\n", q.Name())
	}
	w := tabwriter.NewWriter(cmd.console.Stdout, 0, 0, 2, ' ', 0)
	for _, c := range all {
		line := fmt.Sprintf("%s\t%s\t%s", c.ID, c.State, terminal.Escape(c.Title))
		if c.Message != "" {
			line += "\t" + terminal.Escape(c.Message)
		}
		fmt.Fprintln(w, line)
	}
	return w.Flush()
}

func (cmd *workCommand) retry(ctx context.Context, _ *workspace.Store, args []string) error {
	return cmd.each(args, func(q *merge.Queue, id string) error { return q.Retry(ctx, id) })
}

func (cmd *workCommand) drop(ctx context.Context, _ *workspace.Store, args []string) error {
	return cmd.each(args, func(q *merge.Queue, id string) error { return q.Drop(ctx, id) })
}

// each calls do for changes of a queue.
func (cmd *workCommand) each(args []string, do func(q *merge.Queue, id string) error) error {
	q, err := cmd.queue(args[0])
	if err != nil {
		return err
	}
	for _, id := range args[1:] {
		if err := do(q, id); err != nil {
			return err
		}
	}
	return nil
}

// merge merges one workspace.
func (cmd *workCommand) merge(ctx context.Context, s *workspace.Store, args []string) error {
	if cmd.into == "" {
		return console.Usage("use --into BRANCH", "no branch to merge into")
	}
	w, err := s.Use(ctx, args[0])
	if err != nil {
		return err
	}
	done, err := cmd.merges.Merge(ctx, w, merge.Single{Into: cmd.into, At: time.Now()})
	if err != nil {
		return err
	}
	if !cmd.format.IsText() {
		return cmd.console.WriteJSON(done)
	}
	if done.Proposed {
		_, err = fmt.Fprintln(cmd.console.Stdout, "proposed", w.Name, urlOf(done.URL))
		return err
	}
	_, err = fmt.Fprintln(cmd.console.Stdout, "merged", w.Name, done.Commit)
	return err
}
