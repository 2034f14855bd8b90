package main

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/term/cmdline/cmdlinetest"
)

func TestFlagsOfOneMeaningHaveOneName(t *testing.T) { cmdlinetest.Flags(t, (&app{}).root()) }

func TestHelpFitsOneScreen(t *testing.T) { cmdlinetest.Help(t, (&app{}).root(), topics()) }

func TestFormerNamesWork(t *testing.T) {
	cmdlinetest.Aliases(t, func() *cobra.Command { return (&app{}).root() })
}
