package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/cmdline"
	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/editors"
	"github.com/concerto-lang/concerto/internal/cli/help"
	"github.com/concerto-lang/concerto/internal/cli/hosts"
	"github.com/concerto-lang/concerto/internal/cli/project"
	"github.com/concerto-lang/concerto/internal/cli/runner"
	"github.com/concerto-lang/concerto/internal/cli/runs"
	"github.com/concerto-lang/concerto/internal/cli/serve"
	"github.com/concerto-lang/concerto/internal/cli/tests"
	"github.com/concerto-lang/concerto/internal/cli/tools"
	"github.com/concerto-lang/concerto/runtime/world/logs"
)

const rootHelp = `Concerto orchestrates AI agents: small typed programs that talk to models,
supervise external agent programs (hosts), answer their questions and hand on
their results.

  concerto init triage            make a project that runs as it is
  concerto run triage.conc        run a program
  concerto check                  look for mistakes in the project here
  concerto test                   run the project's tests
  concerto build -o triage.conc-ir  compile it into one file

A PATH is a .conc file, a directory with a Concerto.toml, or, to run, a compiled
.conc-ir file; - is standard input for run and check. Without one, the
Concerto.toml here or above decides.

Exit codes: 0 success, 1 the program failed, 2 it did not compile or the command
was misused, 74 a run's journal cannot be written, 75 a run waits for an answer or a
time, 76 an audit log or a journal was changed or a replay left its tape, 130
interrupted.`

// commands are all commands of the program. The help, the completion and the manual pages list them.
var commands = []func(*console.Console) *cobra.Command{
	runner.NewRun,
	runs.NewRuns,
	hosts.NewKeeper,
	project.NewBuild,
	project.NewCheck,
	tests.NewTest,
	editors.NewRepl,
	editors.NewDap,
	project.NewFmt,
	editors.NewLsp,
	project.NewInit,
	hosts.NewHost,
	tools.NewMcp,
	serve.NewServe,
	tools.NewTools,
	runs.NewAudit,
	newRelay,
	help.NewExplain,
	help.NewDoc,
	help.NewVersion,
	help.NewCompletion,
	help.NewMan,
}

// root is the command with all its commands.
func root(a *console.Console) *cobra.Command {
	root := tree(a)
	cmdline.AddAliases(root, func() *cobra.Command { return tree(a) })
	return root
}

// tree is the command with its commands, without their former names.
func tree(a *console.Console) *cobra.Command {
	var chdir, overlay string
	var asked bool
	root := &cobra.Command{
		Use:           "concerto",
		Short:         "Run programs that orchestrate AI agents",
		Long:          rootHelp,
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
	root.Flags().BoolVar(&asked, "version", false, "version for concerto")
	f := root.PersistentFlags()
	f.StringVarP(&chdir, "directory", "C", "", "work as if started in `DIR`")
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "no warnings, only errors in the log")
	f.CountVarP(&a.Verbose, "verbose", "v", "say what is done, with the whole log; twice: and what is said to models")
	f.StringVar(&a.LogLevel, "log-level", "", "least `LEVEL` of log lines on stderr: debug, info, warn or error (default info)")
	f.StringVar(&overlay, "overlay", "", "take the texts of `FILE`, a JSON object by their paths, in place of the disk's: editors give what is not saved")
	_ = f.MarkHidden("overlay") // it is there
	for _, add := range commands {
		root.AddCommand(add(a))
	}
	console.CompleteFlag(root, "log-level", func() []string { return logs.Levels })
	return root
}

// about says which version this is, when that was asked, and else how the command is used. The
// flag is ours: with a template of cobra's, package text/template keeps the linker from leaving
// out any exported method.
func about(a *console.Console, c *cobra.Command, asked bool) error {
	if !asked {
		return c.Help()
	}
	_, err := fmt.Fprintln(a.Stdout, "concerto", a.Binary.Version())
	return err
}
