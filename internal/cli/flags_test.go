package cli

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/help"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/internal/term/cmdline/cmdlinetest"
)

func TestFlagsOfOneMeaningHaveOneName(t *testing.T) {
	cmdlinetest.Flags(t, newRoot(&console.Console{}, commands))
}

func TestHelpFitsOneScreen(t *testing.T) {
	cmdlinetest.Help(t, newRoot(&console.Console{}, commands), help.Topics())
}

func TestFormerNamesWork(t *testing.T) {
	cmdlinetest.Aliases(t, func() *cobra.Command { return newRoot(&console.Console{}, commands) })
}

// TestOneCommand checks that a command has the same help with and without the other commands. A
// command line creates only the command that it names.
func TestOneCommand(t *testing.T) {
	for _, row := range commands {
		c, _, err := newRoot(&console.Console{}, commandsFor([]string{row.name})).Find([]string{row.name})
		if err != nil || c.Name() != row.name {
			t.Errorf("the command line %q finds the command %q: %v", row.name, c.Name(), err)
			continue
		}
		among, _, _ := newRoot(&console.Console{}, commands).Find([]string{row.name})
		if got, want := cmdline.Help(c), cmdline.Help(among); got != want {
			t.Errorf("the help of %s differs without the other commands:\n%s\nwith them:\n%s", row.name, got, want)
		}
	}
}
