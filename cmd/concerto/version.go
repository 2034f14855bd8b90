package main

import (
	"fmt"
	"github.com/concerto-lang/concerto"
	"runtime"

	"github.com/spf13/cobra"
)

// release is the version of the command and of the language. Releases set
// it with -ldflags "-X main.release=…".
var release = "0.1.0-dev"

// version is the release with what it runs and was built with.
func version() string {
	return fmt.Sprintf("%s (IR %s, %s %s/%s)", release, concerto.IRVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Prints the version of the command, and of the compiled programs that it runs.",
		Args:  onePath(false),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "concerto %s\n", version())
			return err
		},
	}
}
