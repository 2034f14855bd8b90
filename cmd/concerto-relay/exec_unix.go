//go:build unix

package main

import "syscall"

// execProgram replaces this process by a program. It returns only if that fails.
func execProgram(path string, args, env []string) error { return syscall.Exec(path, args, env) }
