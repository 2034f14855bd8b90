//go:build !unix

package holder

import (
	"errors"
	"os/exec"
)

// Launch fails: this system has no sessions.
func Launch(*exec.Cmd, string, any, any) error {
	return errors.New("a process that outlives this one needs Linux or macOS")
}
