package cli

import (
	"errors"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// relayProgram is the program of the relay. It is apart, as this one is not to carry
// what only the relay needs.
const relayProgram = "concerto-relay"

func newRelay(a *console.Console) *cobra.Command {
	c := forwarding(a, "relay", "Follow, answer and approve runs from anywhere", `Starts `+"`concerto-relay`"+` with the same arguments: the server to which hosts report
their runs, and the commands to follow, answer and approve runs.

  concerto relay serve           the server
  concerto relay run -- claude   start a run at this machine's hostd
  concerto relay runs            what runs
  concerto relay approve RUN REQUEST
  concerto relay --help          all there is`)
	c.AddCommand(newHostd(a))
	return c
}

func newHostd(a *console.Console) *cobra.Command {
	return forwarding(a, "hostd", "Report this machine's runs to a relay", `Starts `+"`concerto-relay hostd`"+` with the same arguments: the daemon that runs agents on
this machine and reports them, and programs run with --share, to a relay.

  concerto relay hostd --server https://relay.example.com
  concerto relay hostd --help          all there is`, "hostd")
}

// forwarding is a command that concerto-relay does, with before ahead of the arguments.
func forwarding(a *console.Console, name, short, long string, before ...string) *cobra.Command {
	return &cobra.Command{
		Use: name + " [ARGS…]", Short: short, Long: long,
		DisableFlagParsing: true, // they are the other program's
		RunE: func(_ *cobra.Command, args []string) error {
			return forward(a, append(before, args...))
		},
	}
}

// forward becomes concerto-relay.
func forward(a *console.Console, args []string) error {
	program, err := relayFile(a)
	if err != nil {
		return err
	}
	err = syscall.Exec(program, append([]string{relayProgram}, args...), a.Environ)
	return console.Usage("install it anew: `"+installRelay+"`", "start %s: %v", program, err)
}

// installRelay is how concerto-relay is installed, in a checkout as README.md says.
const installRelay = "go install ./cmd/concerto-relay"

// relayFile finds concerto-relay: beside this program, else on PATH.
func relayFile(a *console.Console) (string, error) {
	if a.Binary.Executable != "" {
		at := a.Binary.Executable
		if real, err := filepath.EvalSymlinks(at); err == nil {
			at = real
		}
		for _, dir := range []string{filepath.Dir(a.Binary.Executable), filepath.Dir(at)} {
			if path, err := exec.LookPath(filepath.Join(dir, relayProgram)); err == nil {
				return path, nil
			}
		}
	}
	path, err := exec.LookPath(relayProgram)
	switch {
	case err == nil:
		return filepath.Abs(path)
	case errors.Is(err, exec.ErrDot):
		return "", console.Usage("put its directory into PATH by its whole name", "%s is in a directory that PATH names relative to this one", relayProgram)
	}
	return "", console.Usage("put it beside concerto or on PATH; `"+installRelay+"` installs it",
		"there is no %s: it is a program of its own", relayProgram)
}
