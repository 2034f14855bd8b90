//go:build unix

package console

import (
	"os"
	"syscall"
)

var windowChanged os.Signal = syscall.SIGWINCH
