package daemon

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/ptyholder"
)

// NewShim returns the hidden command that hostd starts for each run. Its process holds the run,
// and continues when hostd stops.
func NewShim(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use: "shim", Short: "Keep a run on its terminal (hostd starts it)", Hidden: true,
		Args: console.ArgsBetween(0, 0, "concerto-relay hostd"),
		RunE: func(*cobra.Command, []string) error { return ptyholder.Main(a.Stdin, os.Stdout) },
	}
}
