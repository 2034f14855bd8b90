package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The manual's chapter on the command names each command and each flag.
func TestManualNamesAllCommands(t *testing.T) {
	text, err := os.ReadFile("../../spec/18-cli.md")
	if err != nil {
		t.Fatal(err)
	}
	manual := string(text)
	root := (&app{}).root()
	flags := func(c *cobra.Command, set *pflag.FlagSet) {
		set.VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && f.Name != "version" && !strings.Contains(manual, "`--"+f.Name) && !strings.Contains(manual, "--"+f.Name+" ") {
				t.Errorf("%s: the manual does not name --%s", c.CommandPath(), f.Name)
			}
		})
	}
	flags(root, root.PersistentFlags())
	for _, c := range root.Commands() {
		if !strings.Contains(manual, "\nconcerto "+c.Name()+" ") && c.Name() != "help" {
			t.Errorf("the manual does not name `concerto %s`", c.Name())
		}
		flags(c, c.LocalNonPersistentFlags())
	}
}
