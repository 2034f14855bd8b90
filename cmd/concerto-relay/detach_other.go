//go:build !unix

package main

import "syscall"

// ownSession lets a process outlive the terminal.
func ownSession() *syscall.SysProcAttr { return nil }
