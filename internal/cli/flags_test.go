package cli

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/help"
	"github.com/concerto-lang/concerto/internal/term/cmdline/cmdlinetest"
)

func TestFlagsOfOneMeaningHaveOneName(t *testing.T) { cmdlinetest.Flags(t, root(&console.Console{})) }

func TestHelpFitsOneScreen(t *testing.T) {
	cmdlinetest.Help(t, root(&console.Console{}), help.Topics())
}

func TestFormerNamesWork(t *testing.T) {
	cmdlinetest.Aliases(t, func() *cobra.Command { return root(&console.Console{}) })
}
