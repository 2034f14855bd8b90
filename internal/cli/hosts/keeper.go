package hosts

import (
	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/process/confine"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// NewKeeper returns the command that a durable run starts as the parent process of its hosts.
func NewKeeper(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:    "keeper",
		Short:  "Run the hosts of a stored run, also without its process",
		Long:   "A stored run starts this process with its first host.",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return keeper.Main(a.Stdin, a.Stdout, a.Stderr, confine.Start)
		},
	}
}
