//go:build !unix

package main

import "syscall"

// ownSession has a process live on when our terminal is closed.
func ownSession() *syscall.SysProcAttr { return nil }
