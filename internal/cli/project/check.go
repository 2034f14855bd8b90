// Package project has the commands that work on sources: check, build, fmt and init.
package project

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runner/rerun"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/eval/dataset"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// checkCommand is the command check with its options.
type checkCommand struct {
	console           *console.Console
	format            *cmdline.Format
	watch, fix, diffs bool
	deny              bool
	audit             program.AuditFlags
	tools             program.ToolFlags
}

func NewCheck(a *console.Console) *cobra.Command {
	cmd := checkCommand{console: a}
	c := &cobra.Command{
		Use:   "check [PATH | -]",
		Short: "Check a program and its manifest for errors",
		Long: `Prints every error and warning with its place, the reason and the correction. Prints nothing if
there are none. 'concerto explain CODE' explains a diagnostic.`,
		Example: `  concerto check                check the project in this directory or above
  concerto check triage.conc    check one file
  concerto check -              check a program on standard input
  concerto check --fix          apply the safe fixes and print the remaining diagnostics
  concerto check --watch        check again whenever a file changes`,
		Args: console.OnePath(false),
		RunE: func(c *cobra.Command, args []string) error {
			path, _ := console.Path(c, args)
			return cmd.run(c.Context(), path)
		},
	}
	c.Flags().BoolVar(&cmd.fix, "fix", false, "apply the safe fixes, until none is left")
	c.Flags().BoolVar(&cmd.diffs, "diff", false, "print the safe fixes as a diff, and change no file")
	c.Flags().BoolVar(&cmd.watch, "watch", false, "check again whenever a file of the program changes, until Ctrl-C")
	c.Flags().BoolVar(&cmd.deny, "deny-warnings", false, "report warnings as errors")
	cmd.audit.Add(c)
	c.Flags().Lookup("audit").Usage = "check that a run can write the audit log `FILE`"
	c.Flags().Lookup("audit-sync").Usage = "fail if --audit is missing"
	cmd.tools.Add(c)
	cmd.format = cmdline.AddFormatUsage(c, "print as `FORMAT`: text on stderr, or json on stdout (default text)", "text", "json")
	c.ValidArgsFunction = console.CompleteFiles("conc")
	return c
}

func (cmd *checkCommand) run(parent context.Context, path string) error {
	if err := program.CheckAudit(cmd.console, &cmd.audit); err != nil {
		return err
	}
	s, err := program.Source(cmd.console, path, nil)
	if err != nil {
		return err
	}
	s.Data, s.DenyWarnings = dataset.Checker(0), cmd.deny
	fix := cmd.fix || cmd.diffs
	switch {
	case s.Inline != nil && cmd.watch:
		return console.Usage("name a file", "--watch cannot be used with standard input")
	case s.Inline != nil && fix:
		return console.Usage("name a file", "--fix and --diff cannot be used with standard input")
	case cmd.watch && fix:
		return console.Usage("leave one of them out", "--watch cannot be used with --fix or --diff")
	case cmd.diffs && !cmd.format.IsText():
		return console.Usage("leave one of them out", "--diff and --format json cannot be used together")
	}
	if fix {
		found, err := cmd.applyFixes(parent, s)
		if err != nil {
			return err
		}
		return cmd.showFound(found)
	}
	if !cmd.watch {
		return cmd.check(parent, cmd.console.WithCache(s, "checking", "result"))
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	<-signals.Ready
	var cache analysis.LoadCache
	return rerun.OnChange(ctx, cmd.console, false, func(_ context.Context, seen func(string)) error {
		s.Seen = seen
		cmd.tools.Watch(cmd.console, seen)
		return cmd.check(parent, cache.Request(s))
	})
}

func (cmd *checkCommand) check(ctx context.Context, s driver.Request) error {
	found, err := engine.CheckWith(ctx, s, program.ToolSources(cmd.console, &cmd.tools, nil))
	if err != nil {
		return console.SourceError(err)
	}
	return cmd.showFound(found)
}

// showFound prints the diagnostics of a check.
func (cmd *checkCommand) showFound(found diag.List) error {
	if cmd.format.IsText() {
		return cmd.console.ShowDiagnostics(found)
	}
	if err := diag.JSON(cmd.console.Stdout, found.Sorted()); err != nil {
		return err
	}
	if found.HasErrors() {
		return console.ExitError(console.ExitRefused)
	}
	return nil
}
