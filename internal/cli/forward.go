package cli

import (
	"errors"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// relayProgram is the program of the relay. It is a separate program so that concerto does not link
// the relay's dependencies.
const relayProgram = "concerto-relay"

func newRelay(a *console.Console) *cobra.Command {
	c := forwarding(a, "relay", "Follow, answer and approve runs from other devices", `Runs concerto-relay with the same arguments. The relay has two parts: a server, which stores runs
and shows them on other devices, and hostd, the daemon on each machine where agents run. Programs
share their runs with 'concerto run --share', or [relay] share = true in the manifest. Other
commands run under hostd with 'concerto relay run'.

'concerto relay --help' lists the commands.`, `  concerto relay serve                     start the server
  concerto relay hostd install             start the daemon of this machine
  concerto relay run -- claude             run a command under hostd
  concerto relay runs                      list runs and their requests
  concerto relay approve RUN REQUEST       approve a request`)
	c.AddCommand(newHostd(a))
	return c
}

func newHostd(a *console.Console) *cobra.Command {
	return forwarding(a, "hostd", "Start the daemon that shares the runs of this machine", `Runs 'concerto-relay hostd' with the same arguments.`,
		`  concerto relay hostd --server https://relay.example.com
  concerto relay hostd --help`, "hostd")
}

// forwarding returns a command that runs concerto-relay. The arguments before precede the command's
// own arguments.
func forwarding(a *console.Console, name, short, long, example string, before ...string) *cobra.Command {
	return &cobra.Command{
		Use: name + " [ARGS…]", Short: short, Long: long, Example: example,
		DisableFlagParsing: true, // the flags belong to concerto-relay
		RunE: func(_ *cobra.Command, args []string) error {
			return forward(a, append(before, args...))
		},
	}
}

// forward replaces this process by concerto-relay.
func forward(a *console.Console, args []string) error {
	program, err := relayFile(a)
	if err != nil {
		return err
	}
	err = procgroup.Exec(program, append([]string{relayProgram}, args...), a.Environ)
	return console.Usage("reinstall it: `"+installRelay+"`", "start %s: %v", program, err)
}

// installRelay is the shell command that installs concerto-relay from a checkout of the project.
const installRelay = "go install ./cmd/concerto-relay"

// relayFile finds concerto-relay next to this program, or else on PATH.
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
		return "", console.Usage("write the absolute path of the directory into PATH", "%s is in a directory that PATH names by a relative path", relayProgram)
	}
	return "", console.Usage("install it next to concerto or on PATH: `"+installRelay+"`",
		"could not start %s: executable not found next to concerto or in PATH", relayProgram)
}
