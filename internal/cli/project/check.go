// Package project has the commands that work on sources: check, build, fmt and init.
package project

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/rerun"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/engine"
)

var checkForms = []string{"text", "json"}

func NewCheck(a *console.Console) *cobra.Command {
	var form string
	var watch, fix, diffs bool
	var audit program.AuditFlags
	var tools program.ToolFlags
	c := &cobra.Command{
		Use:   "check [PATH | -]",
		Short: "Look for mistakes without running",
		Long: `Checks a program and its manifest and shows every mistake with its place, the
reason and what to write instead. Says nothing when all is well.

  concerto check              the project here or above
  concerto check triage.conc  one file
  concerto check --watch      again whenever a file of it changes
  concerto check -            a program on standard input
  concerto check --fix        repairs what has one safe repair, and shows the rest
  concerto check --diff       shows what --fix would do, and writes nothing
  concerto check --format json  for editors and scripts, on stdout
  concerto check --audit audit.ndjson  and whether a run may record there

` + "`concerto explain CODE` tells more about one kind of mistake.",
		Args: console.OnePath(false),
		RunE: func(c *cobra.Command, args []string) error {
			p, _ := console.Path(c, args)
			if err := console.OneOf("--format", form, checkForms); err != nil {
				return err
			}
			if err := program.UsableAudit(a, &audit); err != nil {
				return err
			}
			s, err := program.Source(a, p, nil)
			if err != nil {
				return err
			}
			fix = fix || diffs
			switch {
			case s.Given != nil && watch:
				return console.Usage("name a file", "--watch has nothing to look at in what stands on standard input")
			case s.Given != nil && fix:
				return console.Usage("name a file", "--fix and --diff have no file in what stands on standard input")
			case watch && fix:
				return console.Usage("leave out one of them", "--watch changes nothing, --fix and --diff look once")
			case diffs && form == "json":
				return console.Usage("leave out one of them", "--diff and --format json both write to stdout")
			}
			if fix {
				found, err := applyFixes(c.Context(), a, s, &tools, diffs)
				if err != nil {
					return err
				}
				return showFound(a, found, form == "json")
			}
			if !watch {
				return check(c.Context(), a, s, &tools, form == "json")
			}
			ctx, signals := interrupt.Catch(c.Context())
			defer signals.Stop()
			<-signals.Ready
			var again analysis.Again
			return rerun.OnChange(ctx, a, false, func(_ context.Context, seen func(string)) error {
				s.Seen = seen
				tools.Watch(a, seen)
				return check(c.Context(), a, again.Request(s), &tools, form == "json")
			})
		},
	}
	c.Flags().BoolVar(&fix, "fix", false, "make the safe fixes of what is found, until none is left")
	c.Flags().BoolVar(&diffs, "diff", false, "show the safe fixes as a diff on stdout, and write nothing")
	c.Flags().BoolVar(&watch, "watch", false, "check again whenever a file of the program changes, until Ctrl-C")
	audit.Add(c)
	tools.Add(c)
	c.Flags().StringVar(&form, "format", "text", "`FORM` of the mistakes: text on stderr, or json on stdout")
	c.ValidArgsFunction = console.CompleteFiles("conc")
	console.CompleteFlag(c, "format", func() []string { return checkForms })
	return c
}

func check(ctx context.Context, a *console.Console, s engine.Source, f *program.ToolFlags, asJSON bool) error {
	found, err := engine.CheckWith(ctx, s, program.ToolSources(a, f, nil))
	if err != nil {
		return console.Refused(err)
	}
	return showFound(a, found, asJSON)
}

// showFound shows what a check has found.
func showFound(a *console.Console, found engine.Diagnostics, asJSON bool) error {
	if !asJSON {
		return a.ShowDiagnostics(found)
	}
	if err := diag.JSON(a.Stdout, found.Sorted()); err != nil {
		return err
	}
	if found.HasErrors() {
		return console.ExitError(console.ExitRefused)
	}
	return nil
}
