//go:build unix

package main

import "syscall"

// become has another program take the place of this one. It returns when that cannot be.
func become(path string, args, env []string) error { return syscall.Exec(path, args, env) }
