package main

import (
	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/diag"
	"github.com/concerto-lang/concerto/internal/driver"
)

func (a *app) checkCommand() *cobra.Command {
	var form string
	c := &cobra.Command{
		Use:   "check [PATH]",
		Short: "Look for mistakes without running",
		Long: `Checks a program and its manifest and shows every mistake with its place, the
reason and what to write instead. Says nothing when all is well.

  concerto check              the project here or above
  concerto check triage.conc  one file
  concerto check --format json  for editors and scripts, on stdout

` + "`concerto explain CODE` tells more about one kind of mistake.",
		Args: onePath(false),
		RunE: func(c *cobra.Command, args []string) error {
			p, _ := path(c, args)
			if err := oneOf("--format", form, []string{"text", "json"}); err != nil {
				return err
			}
			return a.check(p, form == "json")
		},
	}
	c.Flags().StringVar(&form, "format", "text", "`FORM` of the mistakes: text on stderr, or json on stdout")
	return c
}

func (a *app) check(path string, asJSON bool) error {
	in, err := driver.Load(driver.Request{Path: path, Dir: a.dir})
	if err != nil {
		return refused(err)
	}
	found := driver.Check(in)
	if !asJSON {
		return a.show(found)
	}
	if err := diag.JSON(a.stdout, found.Sorted()); err != nil {
		return err
	}
	if found.HasErrors() {
		return exitError(exitRefused)
	}
	return nil
}
