// Package work has the commands for workspaces, merges and queues of tasks.
package work

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/runconf"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/runtime/merge"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// workCommand is one of the work commands with its options.
type workCommand struct {
	console *console.Console
	format  *cmdline.Format // nil for a command without formats

	base, message, merged string
	force, dry            bool

	merges *merge.Merges
	into   string
	change merge.Submission
	watch  bool
}

func NewWork(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "work COMMAND",
		Short: "Open, compare, commit, merge and remove workspaces of agents",
		Long: `A workspace is a git worktree with a name, on a branch of its own. Opening a name again returns
the same workspace. Programs open them with std::work; hosts with isolate = "worktree" work in
workspaces, too. Your own checkout never changes. [workspace] in the manifest configures them.`,
		Example: `  concerto work open fix-login
  concerto work diff fix-login
  concerto work commit fix-login -m "Fix the login"
  concerto work merge fix-login --into main
  concerto work rm fix-login`,
		Args: console.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	add := adder(a, c)
	open := &cobra.Command{Use: "open NAME", Short: "Open a workspace, or create it, and print its directory", Args: console.Arguments(1, 1),
		Long: `Prints the directory of the workspace. A workspace that exists is opened as it is, and --base is
ignored.`,
		Example: "  cd \"$(concerto work open fix-login)\"\n  concerto work open fix-login --base origin/main"}
	opening := add(open, (*workCommand).open)
	open.Flags().StringVar(&opening.base, "base", "", "start from `REVISION` (default [workspace] base, or HEAD)")
	add(&cobra.Command{Use: "list", Short: "List workspaces with their changes", Args: console.Arguments(0, 0),
		Example: "  concerto work list\n  concerto work list --format json"}, (*workCommand).list, "text", "json")
	add(&cobra.Command{Use: "diff NAME", Short: "Print the changes of a workspace since its base", Args: console.Arguments(1, 1),
		Long:    "Prints all changes, committed or not, with new files and without ignored ones, as a patch.",
		Example: "  concerto work diff fix-login | git apply\n  concerto work diff fix-login --format json"}, (*workCommand).diff, "text", "json")
	commit := &cobra.Command{Use: "commit NAME -m TEXT", Short: "Commit all changes of a workspace, and print the commit", Args: console.Arguments(1, 1),
		Long: `Commits everything that 'work diff' shows and that is not committed yet. Prints nothing if there is
nothing to commit.`,
		Example: "  concerto work commit fix-login -m \"Fix the login\""}
	committing := add(commit, (*workCommand).commit)
	commit.Flags().StringVarP(&committing.message, "message", "m", "", "commit with the message `TEXT`")
	into := &cobra.Command{Use: "merge NAME --into BRANCH", Short: "Merge a workspace into a branch after its gate has passed", Args: console.Arguments(1, 1),
		Long: `Merges the commits of a workspace into a branch, without checking anything out, if the merged result
passes the gate of [workspace] or of the [merge.X] for that branch. Prints 'merged NAME COMMIT'.
To merge many changes, use a queue: see 'concerto merge'.`,
		Example: "  concerto work merge fix-login --into main\n  concerto work merge fix-login --into main --format json"}
	merging := add(into, (*workCommand).merge, "text", "json")
	into.Flags().StringVar(&merging.into, "into", "", "merge into `BRANCH`")
	remove := &cobra.Command{Use: "rm NAME…", Short: "Remove workspaces with their branches", Args: console.Arguments(1, -1),
		Long: `Removes the worktree and the branch. Without --force, a workspace with work that exists nowhere
else remains.`,
		Example: "  concerto work rm fix-login\n  concerto work rm --force try-1 try-2"}
	removing := add(remove, (*workCommand).remove)
	remove.Flags().BoolVar(&removing.force, "force", false, "also remove work that no other branch contains")
	clean := &cobra.Command{Use: "clean", Short: "Remove workspaces that are no longer needed", Args: console.Arguments(0, 0),
		Long: `Removes workspaces without changes, those whose creation was interrupted, and those whose worktree
is missing. Workspaces that a process uses, or that belong to a run that has not ended, remain.`,
		Example: "  concerto work clean --dry-run\n  concerto work clean --merged main"}
	cleaning := add(clean, (*workCommand).clean)
	clean.Flags().StringVar(&cleaning.merged, "merged", "", "also remove workspaces whose commits `BRANCH` contains")
	clean.Flags().BoolVar(&cleaning.dry, "dry-run", false, "only print what would be removed")
	return c
}

// action is what a command does.
type action func(cmd *workCommand, ctx context.Context, s *workspace.Store, args []string) error

// adder returns a function that adds a command to a group.
func adder(a *console.Console, group *cobra.Command) func(x *cobra.Command, run action, forms ...string) *workCommand {
	return func(x *cobra.Command, run action, forms ...string) *workCommand {
		cmd := &workCommand{console: a}
		x.RunE = func(c *cobra.Command, args []string) error { return cmd.with(c.Context(), args, run) }
		if len(forms) > 0 {
			cmd.format = cmdline.AddFormat(x, forms...)
		}
		group.AddCommand(x)
		return cmd
	}
}

// with runs a command with the workspaces of the project.
func (cmd *workCommand) with(parent context.Context, args []string, run action) error {
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	s, err := cmd.store()
	if err != nil {
		return err
	}
	defer s.Close()
	defer cmd.merges.Close()
	err = run(cmd, ctx, s, args)
	if ctx.Err() != nil && !cmd.watch {
		return context.Cause(ctx)
	}
	return cmd.fail(err)
}

// fail prints an error of workspaces or merges, and returns the error that ends the command.
func (cmd *workCommand) fail(err error) error {
	switch {
	case errors.Is(err, workspace.ErrDamaged):
		return console.Usage("remove the file if you no longer need it", "%v", err)
	case errors.Is(err, merge.ErrFile):
		return console.Usage("", "%v", err)
	}
	git, ok := errors.AsType[*workspace.Error](err)
	message, hint := "", ""
	switch {
	case err == nil:
		return nil
	case ok:
		message, hint = git.Message, git.Hint
	case errors.As(err, new(*merge.Conflict)), errors.As(err, new(*merge.GateFailed)):
		message = err.Error()
	default:
		return err
	}
	failed, _ := errors.AsType[*effect.Error](merge.ProgramError(err))
	if err := writeError(cmd.console, cmd.format, failed); err != nil {
		return err
	}
	cmd.console.Complain(message, hint)
	return console.ExitError(console.ExitFailed)
}

// store returns the workspaces of the project.
func (cmd *workCommand) store() (*workspace.Store, error) {
	a := cmd.console
	project, err := driver.ReadProject(a.Dir)
	if err != nil {
		return nil, console.SourceError(err)
	}
	if project == nil {
		return nil, console.Usage("create one with `concerto init`, or name a project with -C DIR", "no Concerto.toml in this directory or its parents")
	}
	root := project.Root
	p := workspace.Place{Root: root, From: root, Environ: a.Environ, Processes: a.Processes(), Log: func(line string) { a.Notef("info: %s\n", line) }}
	p.CommandEnviron, _ = procgroup.Inherit{}.Of(a.Environ)
	journals := ""
	p.IsPending = func(run, journal string) bool { return rundir.IsPending(journals, run, journal) }
	options := merge.Options{Log: p.Log}
	config, err := workspace.ParseConfig(project.Manifest.Workspace.Config)
	if err != nil {
		return nil, err
	}
	p.Worktrees, p.From = config.Worktrees, config.FromOf(root)
	run, err := runconf.Read(project.Manifest.Run.Config)
	if err != nil {
		return nil, err
	}
	journals = run.JournalRoot(root)
	options.Gate, options.GateTimeout = config.Gate, config.GateTimeout
	for _, m := range project.Manifest.Merges {
		if err := options.AddQueue(m.Name, m.Config); err != nil {
			return nil, err
		}
	}
	options.Store = workspace.NewStore(p)
	cmd.merges = merge.New(options)
	return options.Store, nil
}

func (cmd *workCommand) open(ctx context.Context, s *workspace.Store, args []string) error {
	w, err := s.Open(ctx, args[0], cmd.base)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.console.Stdout, w.Dir)
	return err
}

func (cmd *workCommand) list(ctx context.Context, s *workspace.Store, _ []string) error {
	all, err := s.List(ctx)
	if err != nil {
		return err
	}
	if !cmd.format.IsText() {
		return cmd.console.WriteJSON(all)
	}
	if len(all) == 0 {
		cmd.console.Notef("no workspaces: `concerto work open NAME` creates one\n")
	}
	w := tabwriter.NewWriter(cmd.console.Stdout, 0, 0, 2, ' ', 0)
	for _, x := range all {
		files := "files"
		if x.Changed == 1 {
			files = "file"
		}
		fmt.Fprintf(w, "%s\t%s\t+%d -%d in %d %s\t%s\t%s\n", x.Name, x.State, x.Additions, x.Deletions, x.Changed, files, x.Branch, console.Printable(x.Dir))
	}
	return w.Flush()
}

func (cmd *workCommand) diff(ctx context.Context, s *workspace.Store, args []string) error {
	w, err := s.Find(ctx, args[0])
	if err != nil {
		return err
	}
	if cmd.format.IsText() {
		return w.Patch(ctx, cmd.console.Stdout)
	}
	d, err := w.Diff(ctx)
	if err != nil {
		return err
	}
	return cmd.console.WriteJSON(d)
}

func (cmd *workCommand) commit(ctx context.Context, s *workspace.Store, args []string) error {
	if cmd.message == "" {
		return console.Usage("use -m TEXT", "the message of the commit is empty")
	}
	w, err := s.Use(ctx, args[0])
	if err != nil {
		return err
	}
	commit, err := w.Commit(ctx, cmd.message, time.Now(), false)
	if err != nil || commit == "" {
		return err
	}
	_, err = fmt.Fprintln(cmd.console.Stdout, commit)
	return err
}

func (cmd *workCommand) remove(ctx context.Context, s *workspace.Store, args []string) error {
	for _, name := range args {
		if err := s.Remove(ctx, name, cmd.force); err != nil {
			return err
		}
	}
	return nil
}

func (cmd *workCommand) clean(ctx context.Context, s *workspace.Store, _ []string) error {
	all, err := s.Clean(ctx, cmd.merged, cmd.dry)
	for _, x := range all {
		line := "removed " + x.Name
		if x.Reason != "" {
			line = "kept " + x.Name + ": " + x.Reason
		}
		if _, err := fmt.Fprintln(cmd.console.Stdout, line); err != nil {
			return err
		}
	}
	return err
}
