package guards

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/agents/guard/setup"
	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// setupCommand is one of the commands about the installation of hooks, with its options.
type setupCommand struct {
	console               *console.Console
	user, project, system bool
	dryRun, run           bool
	format                *cmdline.Format
}

// place returns the machine as the commands see it.
func (cmd *setupCommand) place() *setup.Place {
	a := cmd.console
	p := guardPlaces(a)
	return &setup.Place{Dir: a.Dir, Home: p.Home, State: p.State, Config: p.Config, Concerto: a.Binary.Executable, Environ: a.Environ, Getenv: a.Getenv}
}

// agents returns the agents that arguments name, or those that are installed.
func (cmd *setupCommand) agents(ctx context.Context, args []string) (all []*setup.Agent, err error) {
	for _, name := range args {
		if err := console.OneOf("AGENT", name, agentNames()); err != nil {
			return nil, err
		}
		all = append(all, setup.Find(name))
	}
	if len(args) > 0 {
		return all, nil
	}
	for _, a := range setup.Agents() {
		if _, _, err := a.Locate(ctx, cmd.place()); err == nil {
			all = append(all, &a)
		}
	}
	if all == nil {
		return nil, &notInstalled{fmt.Errorf("no supported agent is installed: PATH contains none of %s", strings.Join(programs(), ", "))}
	}
	return all, nil
}

// notInstalled is the error about agents that are not there.
type notInstalled struct{ error }

func agentNames() (names []string) {
	for _, a := range setup.Agents() {
		names = append(names, a.Name)
	}
	return names
}

func programs() (names []string) {
	for _, a := range setup.Agents() {
		names = append(names, a.Program)
	}
	return names
}

// level returns the level of the flags, or otherwise.
func (cmd *setupCommand) level(otherwise setup.Level) setup.Level {
	switch {
	case cmd.project:
		return setup.Project
	case cmd.system:
		return setup.System
	case cmd.user:
		return setup.User
	}
	return otherwise
}

// levelFlags adds the flags that select a level.
func (cmd *setupCommand) levelFlags(c *cobra.Command, verb string) {
	c.Flags().BoolVar(&cmd.user, "user", false, verb+" the settings of the user")
	c.Flags().BoolVar(&cmd.project, "project", false, verb+" the settings of the project, in the current directory")
	c.Flags().BoolVar(&cmd.system, "system", false, verb+" the settings of the system, which no agent of a user can change")
	c.MarkFlagsMutuallyExclusive("user", "project", "system")
}

func newInstall(a *console.Console) *cobra.Command {
	cmd := setupCommand{console: a}
	c := &cobra.Command{
		Use:   "install [AGENT...]",
		Short: "Add the hooks to the settings of agents, and check them",
		Long: `Adds the hooks to the settings of the agents, or of all supported agents that are installed, and
shows what changes. Everything else in the files stays as it is. Codex also trusts the hooks from
then on. If the user has no policy, one is created that decides only where a project has [guard].
Then, each agent is checked as with 'concerto guard check'.

The settings of the user, which is the default, apply in all projects, and an agent could change
them with a program of its own. Those of the system need the rights of root and are the strong
form. Those of a project start the program concerto from PATH.`,
		Example: `  concerto guard install --dry-run
  concerto guard install claude-code
  sudo concerto guard install --system`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error { return cmd.install(c.Context(), args) },
	}
	cmd.levelFlags(c, "change")
	c.Flags().BoolVar(&cmd.dryRun, "dry-run", false, "only show what would change")
	return c
}

func (cmd *setupCommand) install(ctx context.Context, args []string) error {
	if runtime.GOOS == "windows" {
		return errors.New("guard install is not supported on Windows yet")
	}
	agents, err := cmd.agents(ctx, args)
	if err != nil {
		return cmd.absent(err)
	}
	p, level := cmd.place(), cmd.level(setup.User)
	for _, a := range agents {
		if _, _, err := a.Locate(ctx, p); err != nil && a.CanCheck() {
			return cmd.absent(err)
		}
	}
	for _, a := range agents {
		changes, err := a.Plan(p, level)
		if err != nil {
			return cmd.absent(rights(err))
		}
		for _, c := range changes {
			cmd.show(&c)
		}
		if cmd.dryRun {
			continue
		}
		if err := a.Install(p, level, changes); err != nil {
			return rights(err)
		}
	}
	if cmd.dryRun {
		return nil
	}
	places := guardPlaces(cmd.console)
	if file := places.Distrusted(p.Dir); file != "" {
		fmt.Fprintf(cmd.console.Stderr, "concerto: the policy of %s allows nothing yet: `concerto guard trust` shows what it would allow, and trusts it\n", console.Printable(cmd.console.Relative(file)))
	}
	return cmd.check(ctx, agents)
}

// absent reports an agent that is not there, with the exit code for that.
func (cmd *setupCommand) absent(err error) error {
	var one *setup.NotFoundError
	var all *notInstalled
	var unchecked *setup.UncheckedError
	if errors.As(err, &unchecked) {
		return console.Usage("the hooks follow Cursor's documentation, and were not tried", "%v", err)
	}
	if errors.As(err, &one) || errors.As(err, &all) {
		return console.Usage("install it, or name another agent", "%v", err)
	}
	return err
}

// rights adds what to do to an error about missing rights.
func rights(err error) error {
	if errors.Is(err, os.ErrPermission) {
		return console.Usage("run the command with the rights of root, such as with sudo", "%v", err)
	}
	return err
}

// show prints the difference that a change makes.
func (cmd *setupCommand) show(c *setup.Change) {
	a := cmd.console
	name := c.Path
	if rest, ok := strings.CutPrefix(name, a.Getenv("HOME")+"/"); ok {
		name = "~/" + rest
	}
	if string(c.Before) == string(c.After) {
		fmt.Fprintf(a.Stdout, "%s: unchanged\n", name)
		return
	}
	for line := range strings.Lines(string(diff.Diff(name, c.Before, name, c.After))) {
		if strings.HasPrefix(line, "diff ") {
			continue
		}
		fmt.Fprintln(a.Stdout, console.Printable(strings.TrimSuffix(line, "\n")))
	}
}

func newUninstall(a *console.Console) *cobra.Command {
	cmd := setupCommand{console: a}
	c := &cobra.Command{
		Use:   "uninstall [AGENT...]",
		Short: "Remove the hooks from the settings of agents",
		Long: `Removes exactly what 'concerto guard install' has added: from all settings, or from those that a
flag selects. If an added text was changed since, nothing is removed, and the text is shown.`,
		Example: `  concerto guard uninstall
  concerto guard uninstall codex --project`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return cmd.uninstall(args) },
	}
	cmd.levelFlags(c, "change only")
	c.Flags().BoolVar(&cmd.dryRun, "dry-run", false, "only show what would change")
	return c
}

func (cmd *setupCommand) uninstall(args []string) error {
	if len(args) == 0 {
		args = agentNames()
	}
	p, found := cmd.place(), false
	for _, name := range args {
		if err := console.OneOf("AGENT", name, agentNames()); err != nil {
			return err
		}
		a := setup.Find(name)
		of, changes, err := a.PlanRemoval(p, cmd.level(""))
		if changed := (*setup.ChangedError)(nil); errors.As(err, &changed) {
			return console.Usage("remove these lines yourself, or restore them, and try again", "%v", err)
		}
		if err != nil {
			return rights(err)
		}
		found = found || len(of) > 0
		for _, c := range changes {
			cmd.show(&c)
		}
		if !cmd.dryRun {
			if err := a.Uninstall(p, of, changes); err != nil {
				return rights(err)
			}
		}
	}
	if !found {
		fmt.Fprintln(cmd.console.Stderr, "concerto: nothing is installed there")
	}
	return nil
}

func newCheck(a *console.Console) *cobra.Command {
	cmd := setupCommand{console: a}
	c := &cobra.Command{
		Use:   "check [AGENT...]",
		Short: "Verify with the agents themselves that the policy is enforced",
		Long: `Starts each agent, or all that are installed, in the current directory with its settings, and with
a scripted model on this machine, whose calls are harmless. Checks that a call that must be refused
is refused, that an allowed one runs, that a file is not written, and that calls are refused if the
hook crashes, does not decide, or if its answer is cut off. This uses no tokens and no network, and
takes some 5 to 15 seconds. Then lists which calls reach no hook in this place.

Exit codes: 0 the policy is enforced, 1 it is not, 2 the agent is not installed.`,
		Example: `  concerto guard check
  concerto guard check --launch claude-code
  concerto guard check --format json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			agents, err := cmd.agents(c.Context(), args)
			if err != nil {
				return cmd.absent(err)
			}
			return cmd.check(c.Context(), agents)
		},
	}
	c.Flags().BoolVar(&cmd.run, "launch", false, "start the agents as 'concerto guard run' does")
	cmd.format = cmdline.AddFormat(c, "text", "json")
	return c
}

// check checks agents and prints the results.
func (cmd *setupCommand) check(ctx context.Context, agents []*setup.Agent) error {
	ctx, signals := interrupt.Catch(ctx)
	defer signals.Stop()
	a, text := cmd.console, cmd.format == nil || cmd.format.IsText()
	all := []*setup.Check{}
	for _, agent := range agents {
		if !agent.CanCheck() && len(agents) > 1 {
			fmt.Fprintf(a.Stderr, "concerto: %v\n", &setup.UncheckedError{Agent: agent})
			continue
		}
		var report func(setup.Row)
		if text && agent.CanCheck() {
			path, version, err := agent.Locate(ctx, cmd.place())
			if err != nil {
				return cmd.absent(err)
			}
			fmt.Fprintf(a.Stdout, "%s %s (%s)\n", agent.Title, version, path)
			report = func(r setup.Row) { fmt.Fprint(a.Stdout, rowText(r)) }
		}
		c, err := agent.Check(ctx, cmd.place(), cmd.run, report)
		if err != nil {
			return cmd.absent(err)
		}
		all = append(all, c)
		if !c.Enforced {
			a.ExitCode = console.ExitFailed
		}
		if text {
			cmd.printCheck(c)
		}
	}
	if text {
		return nil
	}
	return a.WriteJSON(all)
}

func rowText(r setup.Row) string {
	if r.OK {
		return "  yes  " + r.Text + "\n"
	}
	return "  NO   " + r.Text + ": " + console.Printable(r.Got) + "\n"
}

func (cmd *setupCommand) printCheck(c *setup.Check) {
	out := cmd.console.Stdout
	fmt.Fprintln(out, "  not judged here:")
	for _, x := range c.Open {
		fmt.Fprintf(out, "       %s\n", console.Printable(x))
	}
	if c.Enforced {
		fmt.Fprintf(out, "The policy is enforced.\n")
		return
	}
	next := "`concerto guard install " + c.Agent + "` adds the hooks"
	if all, err := cmd.place().Installed(); err == nil && slices.ContainsFunc(all, func(i setup.Installed) bool { return i.Agent == c.Agent }) {
		next = "the hooks are installed, so see above what removes them"
		if setup.Find(c.Agent).CanRun() {
			next += "; `concerto guard run " + c.Agent + "` starts the agent with hooks that no settings of a project remove"
		}
	}
	fmt.Fprintf(out, "The policy is NOT enforced: %s.\n", next)
}

func newRun(a *console.Console) *cobra.Command {
	cmd := setupCommand{console: a}
	c := &cobra.Command{
		Use:   "run AGENT [ARGUMENTS...]",
		Short: "Start an agent with the hooks, whatever a project's settings are",
		Long: `Starts the agent with the hooks in its own arguments: neither settings of a project nor the agent
itself can remove them. No installation and no rights are needed. Arguments that could remove the
hooks are errors.`,
		Example: `  concerto guard run claude-code
  concerto guard run codex exec "fix the test"`,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
				return c.Help()
			}
			return cmd.start(args[0], args[1:])
		},
	}
	return c
}

func (cmd *setupCommand) start(name string, args []string) error {
	if err := console.OneOf("AGENT", name, agentNames()); err != nil {
		return err
	}
	agent, p := setup.Find(name), cmd.place()
	all, environ, err := agent.Launch(p, args)
	if refused := (*setup.RefusedError)(nil); errors.As(err, &refused) {
		return console.Usage("start the agent without it", "%v", err)
	}
	if err != nil {
		return cmd.absent(err)
	}
	path, err := procgroup.Find(agent.Program, p.Dir, p.Environ)
	if err != nil {
		return cmd.absent(&setup.NotFoundError{Agent: agent})
	}
	if err := os.Chdir(p.Dir); err != nil {
		return err
	}
	return procgroup.Exec(path, append([]string{filepath.Base(path)}, all...), slices.Concat(p.Environ, environ))
}
