package cli

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/cmdline/cmdlinetest"
	"github.com/concerto-lang/concerto/internal/cli/console"
)

func TestFlagsOfOneMeaningHaveOneName(t *testing.T) { cmdlinetest.Flags(t, root(&console.Console{})) }

func TestFormerNamesWork(t *testing.T) {
	cmdlinetest.Aliases(t, func() *cobra.Command { return root(&console.Console{}) })
}
