//go:build unix

package main

import "syscall"

// execProgram replaces the program of this process. It returns only if that fails.
func execProgram(path string, args, env []string) error { return syscall.Exec(path, args, env) }
