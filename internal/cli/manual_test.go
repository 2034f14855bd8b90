package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// TestManualNamesAllCommands checks that the manual's chapters on the commands mention each visible
// command and flag.
func TestManualNamesAllCommands(t *testing.T) {
	manual := manual(t)
	root := newRoot(&console.Console{}, commands)
	flags := func(c *cobra.Command, set *pflag.FlagSet) {
		set.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && f.Name != "version" && !strings.Contains(manual, "`--"+f.Name) && !strings.Contains(manual, "--"+f.Name+" ") {
				t.Errorf("%s: the manual does not name --%s", c.CommandPath(), f.Name)
			}
		})
	}
	flags(root, root.PersistentFlags())
	for _, c := range root.Commands() {
		if c.Hidden {
			continue
		}
		if !strings.Contains(manual, "| `concerto "+c.Name()+" ") && !strings.Contains(manual, "| `concerto "+c.Name()+"`") && c.Name() != "help" {
			t.Errorf("the manual does not name `concerto %s`", c.Name())
		}
		flags(c, c.LocalNonPersistentFlags())
	}
}

// manual returns the text of the chapters on the commands.
func manual(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../../spec/[345][0-9]-*.md")
	if err != nil || len(files) != 22 {
		t.Fatal(files, err)
	}
	var all strings.Builder
	for _, f := range append(files, "../../spec/18-cli.md") {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// TestCommandsHaveScripts checks that a script runs each command and subcommand.
func TestCommandsHaveScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) < 100 {
		t.Fatalf("found %d scripts (error %v), want at least 100", len(files), err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if !strings.Contains(all.String(), sub.CommandPath()+" ") && !strings.Contains(all.String(), sub.CommandPath()+"\n") {
				t.Errorf("no script in testdata/script runs `%s`", sub.CommandPath())
			}
			visit(sub)
		}
	}
	visit(newRoot(&console.Console{}, commands))
}
