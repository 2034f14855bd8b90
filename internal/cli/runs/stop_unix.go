//go:build unix

package runs

import "syscall"

// stop stops a process as the terminal does for Ctrl-Z. It reports whether that is possible.
func stop(pid int) bool { return syscall.Kill(pid, syscall.SIGTSTP) == nil }
