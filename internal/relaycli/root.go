package relaycli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/internal/relaycli/enrol"
	"github.com/concerto-lang/concerto/internal/relaycli/manage"
	"github.com/concerto-lang/concerto/internal/relaycli/runs"
	"github.com/concerto-lang/concerto/internal/relaycli/serve"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// first lists the commands in the order of the help.
var first = []string{"serve", "hostd", "pair", "doctor", "run", "runs", "attach", "approve", "deny", "decisions", "seal", "devices", "share", "page", "user", "token", "audit"}

// root returns the root command with all subcommands. Each subcommand is in a file of its own.
func root(a *console.Console) *cobra.Command {
	var asked bool
	root := &cobra.Command{
		Use:               "concerto-relay",
		Short:             "Follow, answer and approve runs of agents from other devices",
		Example:           "  concerto-relay serve\n  concerto-relay run -- claude",
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              a.UnknownCommand,
		RunE:              func(c *cobra.Command, _ []string) error { return printVersion(a, c, asked) },
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return a.Settings(c) },
	}
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(console.FlagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.Flags().BoolVarP(&asked, "version", "v", false, "print the version")
	root.PersistentFlags().StringVar(&a.Config, "config", "", "read settings from `FILE` instead of relay.toml")
	root.AddCommand(serve.NewServe(a), daemon.NewHostd(a), runs.NewRun(a), runs.NewRuns(a), runs.NewAttach(a), runs.NewApprove(a), runs.NewDeny(a), manage.NewDecisions(a), enrol.NewSeal(a), enrol.NewDevices(a), runs.NewShare(a), serve.NewPage(a), daemon.NewShim(a), runs.NewAgent(a), daemon.NewDoctor(a), daemon.NewPair(a, enrol.OfferAccount(a)), manage.NewToken(a), manage.NewUser(a), manage.NewAudit(a))
	cmdline.AddAliases(root)
	cmdline.SetHelp(root, first, topics, console.Usage)
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
  76    an audit log was changed, or a page differs

run and attach exit with the exit code of the run.
`},
	}
}

// printVersion prints the version if asked is set, and the usage otherwise. The command does not
// use cobra's --version flag: its template needs package text/template, with which the linker
// cannot remove unused exported methods, and the program becomes three megabytes larger.
func printVersion(a *console.Console, c *cobra.Command, asked bool) error {
	if !asked {
		return c.Help()
	}
	_, err := fmt.Fprintln(a.Stdout, "concerto-relay", version(a))
	return err
}

// version returns the release, the Go version and the platform.
func version(a *console.Console) string {
	return fmt.Sprintf("%s (protocol %d, %s %s/%s)", a.Release, protocol.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
