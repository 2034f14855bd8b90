package relaycli

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/term/cmdline/cmdlinetest"
)

func TestFlagsOfOneMeaningHaveOneName(t *testing.T) { cmdlinetest.Flags(t, root((&console.Console{}))) }

func TestHelpFitsOneScreen(t *testing.T) { cmdlinetest.Help(t, root((&console.Console{})), topics()) }

func TestFormerNamesWork(t *testing.T) {
	cmdlinetest.Aliases(t, func() *cobra.Command { return root((&console.Console{})) })
}
