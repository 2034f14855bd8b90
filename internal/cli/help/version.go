package help

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

func NewVersion(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Prints the version of the command, and of the compiled programs that it runs.",
		Args:  console.OnePath(false),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.Stdout, "concerto %s\n", a.Binary.Version())
			return err
		},
	}
}
