package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/editors"
	"github.com/concerto-lang/concerto/internal/cli/engines"
	"github.com/concerto-lang/concerto/internal/cli/help"
	"github.com/concerto-lang/concerto/internal/cli/hosts"
	"github.com/concerto-lang/concerto/internal/cli/hosts/guards"
	"github.com/concerto-lang/concerto/internal/cli/project"
	"github.com/concerto-lang/concerto/internal/cli/project/deps"
	"github.com/concerto-lang/concerto/internal/cli/project/doctor"
	"github.com/concerto-lang/concerto/internal/cli/runner"
	"github.com/concerto-lang/concerto/internal/cli/runs"
	"github.com/concerto-lang/concerto/internal/cli/serve"
	"github.com/concerto-lang/concerto/internal/cli/tests"
	"github.com/concerto-lang/concerto/internal/cli/tests/evals"
	"github.com/concerto-lang/concerto/internal/cli/tools"
	"github.com/concerto-lang/concerto/internal/cli/work"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/runtime/world/logs"
)

// first lists the commands that a newcomer needs, in the order in which help shows them.
var first = []string{"init", "run", "check", "test", "fmt", "build", "repl", "doc", "explain", "runs", "host", "tools", "mcp", "serve", "relay"}

// commandRow is a row of the table of commands. create returns it with its flags and subcommands.
type commandRow struct {
	name     string
	create   func(*console.Console) *cobra.Command
	needsAll bool // the command describes the other commands
}

// commands lists all commands of the program. The help, the completion and the manual pages use it.
var commands = []commandRow{
	{name: "run", create: runner.NewRun},
	{name: "runs", create: runs.NewRuns},
	{name: "steer", create: runs.NewSteer},
	{name: "report", create: runs.NewReport},
	{name: "top", create: runs.NewTop},
	{name: "budget", create: runs.NewBudget},
	{name: "submit", create: engines.NewSubmit},
	{name: "worker", create: engines.NewWorker},
	{name: "engine", create: engines.NewEngine},
	{name: "queue", create: engines.NewQueue},
	{name: "schedule", create: engines.NewSchedule},
	{name: "work", create: work.NewWork},
	{name: "merge", create: work.NewMerge},
	{name: "jobs", create: work.NewJobs},
	{name: "keeper", create: hosts.NewKeeper},
	{name: "build", create: project.NewBuild},
	{name: "check", create: project.NewCheck},
	{name: "graph", create: project.NewGraph},
	{name: "test", create: tests.NewTest},
	{name: "eval", create: evals.NewEval},
	{name: "repl", create: editors.NewRepl},
	{name: "dap", create: editors.NewDap},
	{name: "fmt", create: project.NewFmt},
	{name: "lsp", create: editors.NewLsp},
	{name: "playground", create: editors.NewPlayground},
	{name: "init", create: project.NewInit},
	{name: "add", create: deps.NewAdd},
	{name: "remove", create: deps.NewRemove},
	{name: "update", create: deps.NewUpdate},
	{name: "why", create: deps.NewWhy},
	{name: "vendor", create: deps.NewVendor},
	{name: "verify", create: deps.NewVerify},
	{name: "doctor", create: doctor.New},
	{name: "host", create: hosts.NewHost},
	{name: "guard", create: guards.New},
	{name: "mcp", create: tools.NewMcp},
	{name: "serve", create: serve.NewServe},
	{name: "tools", create: tools.NewTools},
	{name: "models", create: project.NewModels},
	{name: "audit", create: runs.NewAudit},
	{name: "relay", create: newRelay},
	{name: "explain", create: help.NewExplain},
	{name: "doc", create: help.NewDoc},
	{name: "version", create: help.NewVersion},
	{name: "completion", create: help.NewCompletion, needsAll: true},
	{name: "man", create: help.NewMan, needsAll: true},
}

// commandsFor returns the commands that the command line args requires. If args begins with the
// name of a command, only that command is created, because the flags of all commands take as long
// as the start of a program. The version needs none.
func commandsFor(args []string) []commandRow {
	if len(args) == 1 && args[0] == "--version" {
		return nil
	}
	for i, c := range commands {
		if len(args) > 0 && c.name == args[0] && !c.needsAll {
			return commands[i : i+1]
		}
	}
	return commands
}

// newRoot returns the root command with the given commands.
func newRoot(a *console.Console, commands []commandRow) *cobra.Command {
	var chdir, overlay string
	var asked bool
	root := &cobra.Command{
		Use:           "concerto",
		Short:         "Run programs that orchestrate AI agents",
		Example:       "  concerto init triage\n  concerto run triage",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          console.UnknownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return about(a, c, asked) },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return a.ApplyFlags(chdir, overlay)
		},
	}
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(console.FlagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.Flags().BoolVar(&asked, "version", false, "print the version")
	f := root.PersistentFlags()
	f.StringVarP(&chdir, "directory", "C", "", "run in the directory `DIR`")
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "print no warnings and no progress, and log only errors")
	f.CountVarP(&a.Verbose, "verbose", "v", "log everything; -vv also logs the conversations with models")
	f.StringVar(&a.LogLevel, "log-level", "", "set the minimum `LEVEL` of the log: debug, info, warn or error (default info)")
	f.BoolVar(&a.NoCache, "no-cache", false, "compile or check the program, even if it has not changed since")
	f.StringVar(&overlay, "overlay", "", "read sources from `FILE`, a JSON object of texts by path, before the disk: editors pass unsaved files")
	_ = f.MarkHidden("overlay") // the flag was added above
	for _, c := range commands {
		root.AddCommand(c.create(a))
	}
	cmdline.SetHelp(root, first, help.Topics, console.Usage)
	cmdline.AddAliases(root)
	console.CompleteFlag(root, "log-level", func() []string { return logs.Levels })
	return root
}

// about prints the version if asked is true, and otherwise the usage. It replaces cobra's own
// version flag. Cobra formats the version with package text/template, which prevents the linker
// from removing unused exported methods.
func about(a *console.Console, c *cobra.Command, asked bool) error {
	if !asked {
		return c.Help()
	}
	_, err := fmt.Fprintln(a.Stdout, "concerto", a.Binary.Version())
	return err
}
