package help

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

func NewVersion(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  concerto version`,
		Args:    console.OnePath(false),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.Stdout, "concerto %s\n", a.Binary.Version())
			return err
		},
	}
}
