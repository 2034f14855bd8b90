//go:build unix

package main

import (
	"os"
	"syscall"
)

var windowChanged os.Signal = syscall.SIGWINCH
