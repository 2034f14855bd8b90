//go:build !unix

package runs

import "syscall"

// ownSession returns nil, because only Unix systems start a process in a session of its own.
func ownSession() *syscall.SysProcAttr { return nil }
