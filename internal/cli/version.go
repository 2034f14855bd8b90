package cli

import (
	"fmt"
	"github.com/concerto-lang/concerto/internal/engine"
	"runtime"

	"github.com/spf13/cobra"
)

// version is the release with what it runs and was built with.
func (b binary) version() string {
	return fmt.Sprintf("%s (IR %s, %s %s/%s)", b.release, engine.IRVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (a *app) versionCommand() *cobra.Command {
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
