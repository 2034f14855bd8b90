package hosts

import (
	"errors"
	"io"
	"net"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// newHostBridge is the MCP server that an agent starts to reach the program's tools.
func newHostBridge(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:    "bridge SOCKET",
		Short:  "Connect an agent to the tools of a run",
		Long:   "Concerto lets agents with the transport acp start this command to reach the tools of a running program.",
		Hidden: true,
		Args:   console.Arguments(1, 1),
		RunE:   func(_ *cobra.Command, args []string) error { return bridge(args[0], a.Stdin, a.Stdout) },
	}
}

// bridge passes on what comes, until either side ends.
func bridge(path string, in io.Reader, out io.Writer) error {
	at, err := net.Dial("unix", path)
	if err != nil {
		return console.Usage("it is started by agents while a program runs", "there are no tools at %s: %v", path, errors.Unwrap(err))
	}
	defer at.Close()
	go func() {
		_, _ = io.Copy(at, in) // its end is the agent's
		at.(*net.UnixConn).CloseWrite()
	}()
	_, err = io.Copy(out, at)
	return err
}
