//go:build !linux

package cli

import (
	"fmt"
	"os"
	"os/exec"
)

// unprivileged runs a command. It does not drop privileges, so tests must run as an ordinary user.
func unprivileged(args []string) int {
	c := exec.Command(args[0], args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := c.Run()
	if c.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "unprivileged:", err)
		return 2
	}
	return c.ProcessState.ExitCode()
}
