package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Prints the version of the command, and of the compiled programs that it runs.",
		Args:  onePath(false),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "concerto %s\n", a.binary.version())
			return err
		},
	}
}
