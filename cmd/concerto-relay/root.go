package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// first lists the commands in the order of the help.
var first = []string{"serve", "hostd", "pair", "doctor", "run", "runs", "attach", "approve", "deny", "decisions", "user", "token", "audit"}

// root returns the root command with all subcommands. Each subcommand is in a file of its own.
func (a *app) root() *cobra.Command {
	var asked bool
	root := &cobra.Command{
		Use:               "concerto-relay",
		Short:             "Follow, answer and approve runs of agents from other devices",
		Example:           "  concerto-relay serve\n  concerto-relay run -- claude",
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              a.unknownCommand,
		RunE:              func(c *cobra.Command, _ []string) error { return a.printVersion(c, asked) },
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return a.settings(c) },
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.Flags().BoolVarP(&asked, "version", "v", false, "print the version")
	root.PersistentFlags().StringVar(&a.config, "config", "", "read settings from `FILE` instead of relay.toml")
	root.AddCommand(a.serveCommand(), a.hostdCommand(), a.runCommand(), a.runsCommand(), a.attachCommand(), a.approveCommand(), a.denyCommand(), decisionsCommand(a), a.shimCommand(), a.agentCommand(), a.doctorCommand(), a.pairCommand(), a.tokenCommand(), a.userCommand(), a.auditCommand())
	cmdline.AddAliases(root)
	cmdline.SetHelp(root, first, topics, usage)
	return root
}

// topics returns the help pages that belong to no single command.
func topics() []cmdline.Topic {
	return []cmdline.Topic{
		{Name: "settings", Short: "Where settings come from", Text: `
A setting is a flag, an environment variable or a key of relay.toml, in this order. The help of a
command names the variable of each flag. relay.toml is in $XDG_CONFIG_HOME/concerto, by default
~/.config/concerto; --config FILE reads another file. It has a table for each command, whose keys
are the names of the command's flags:

  [serve]
  listen = "0.0.0.0:8787"
  public-url = "https://relay.example"

  [hostd]
  server = "https://relay.example"
  root = ["/home/ann/src"]

doctor and pair use the table [hostd]. A link named relay-server or relay-hostd that points to
concerto-relay runs serve or hostd.
`},
		{Name: "exit-codes", Short: "The exit codes of concerto-relay", Text: `
  0     success
  1     the command failed
  2     the command was misused, or a setting is invalid
  69    serve: the server of the engine does not respond
  76    an audit log was changed

run and attach exit with the exit code of the run.
`},
	}
}

// printVersion prints the version if asked is set, and the usage otherwise. The command does not
// use cobra's --version flag: its template needs package text/template, with which the linker
// cannot remove unused exported methods, and the program becomes three megabytes larger.
func (a *app) printVersion(c *cobra.Command, asked bool) error {
	if !asked {
		return c.Help()
	}
	_, err := fmt.Fprintln(a.stdout, "concerto-relay", version())
	return err
}

// release is the version of the program. Release builds set it with -ldflags "-X main.release=…".
var release = "0.1.0-dev"

// version returns the release, the Go version and the platform.
func version() string {
	return fmt.Sprintf("%s (protocol %d, %s %s/%s)", release, protocol.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// group adds subcommands to a command that does nothing by itself.
func (a *app) group(c *cobra.Command, all ...*cobra.Command) *cobra.Command {
	c.Args = a.unknownCommand
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(all...)
	return c
}

// unknownCommand returns an error if args is not empty: its first element is no subcommand of c.
func (a *app) unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	hint := "`" + c.CommandPath() + " --help` lists the commands"
	if near := suggest.Nearest(args[0], names); near != "" {
		hint = "did you mean `" + c.CommandPath() + " " + near + "`?"
	}
	return usage(hint, "unknown command %q", args[0])
}

// argsBetween accepts between least and most arguments. Its error shows what the command takes, and
// an example.
func argsBetween(least, most int, example string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			what := strings.TrimSpace(c.Use[len(c.Name()):])
			if what == "" {
				what = "no arguments"
			}
			return usage("for example `"+example+"`", "%s takes %s", c.CommandPath(), what)
		}
		return nil
	}
}

// flagError converts an error of the flag parser into a usageError, which suggests the most similar
// flag.
func flagError(c *cobra.Command, err error) error {
	if choice, ok := errors.AsType[*cmdline.ChoiceError](err); ok {
		return usage(choice.Hint(), "%v", choice)
	}
	hint := "`" + c.CommandPath() + " --help` lists the flags"
	var none *pflag.NotExistError
	if errors.As(err, &none) {
		names := slices.DeleteFunc(flagsOf(c), func(name string) bool { f := c.Flag(name); return f != nil && cmdline.IsAlias(f) })
		if near := suggest.Nearest(none.GetSpecifiedName(), names); near != "" {
			hint = "did you mean --" + near + "?"
		}
		return usage(hint, "unknown flag --%s", none.GetSpecifiedName())
	}
	return usage(hint, "%v", err)
}

// flagsOf returns the names of all flags that a command defines.
func flagsOf(c *cobra.Command) (names []string) {
	add := func(f *pflag.Flag) {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	c.Flags().VisitAll(add)
	c.PersistentFlags().VisitAll(add) // flags that the subcommands of c accept too
	return names
}
