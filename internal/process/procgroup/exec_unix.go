//go:build unix

package procgroup

import "syscall"

// Exec replaces the program of this process. It returns only if that fails.
func Exec(path string, args, env []string) error { return syscall.Exec(path, args, env) }
