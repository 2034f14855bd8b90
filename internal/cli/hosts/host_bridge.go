package hosts

import (
	"errors"
	"io"
	"net"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// newHostBridge returns the command that an agent starts as an MCP server to reach the program's
// tools.
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

// bridge copies data in both directions between in and out and the socket at path, until the socket
// closes.
func bridge(path string, in io.Reader, out io.Writer) error {
	at, err := net.Dial("unix", path)
	if err != nil {
		return console.Usage("agents start this command while a program runs", "could not connect to the tools at %s: %v", path, errors.Unwrap(err))
	}
	defer at.Close()
	go func() {
		_, _ = io.Copy(at, in) // ends when the agent closes its output
		at.(*net.UnixConn).CloseWrite()
	}()
	_, err = io.Copy(out, at)
	return err
}
