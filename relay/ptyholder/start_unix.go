//go:build unix

package ptyholder

import (
	"os/exec"
	"syscall"
)

// ownSession has a command live on when we, or our terminal, end.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
