package hosts

import (
	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// NewKeeper is the process that has the hosts of a durable run. The run starts it.
func NewKeeper(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:    "keeper",
		Short:  "Keep the hosts of a stored run while its process is gone",
		Long:   "A stored run starts this process with its first host.",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return keeper.Main(a.Stdin, a.Stdout, a.Stderr)
		},
	}
}
