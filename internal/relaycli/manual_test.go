package relaycli

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
)

// TestManualDescribesFlags checks that the tables of spec/36-relay-commands.md contain a row for
// each flag, with the text that --help prints.
func TestManualDescribesFlags(t *testing.T) {
	text, err := os.ReadFile("../../spec/36-relay-commands.md")
	if err != nil {
		t.Fatal(err)
	}
	manual := strings.ReplaceAll(string(text), `\|`, "|")
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" || f.Name == "version" { // all programs have the last two
				return
			}
			name, usage := pflag.UnquoteUsage(f)
			if f.Value.Type() == "bool" {
				name = ""
			}
			row := "| `" + strings.TrimSpace("--"+f.Name+" "+name) + "` | " + usage
			if !strings.Contains(manual, row) {
				t.Errorf("%s: spec/36-relay-commands.md has no row that starts with %s", c.CommandPath(), row)
			}
		})
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				visit(sub)
			}
		}
	}
	visit(root((&console.Console{})))
}
