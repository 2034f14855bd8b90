//go:build unix

package runs

import "syscall"

// ownSession returns the attributes that start a process in a new session, so that the process
// continues when the terminal closes.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
