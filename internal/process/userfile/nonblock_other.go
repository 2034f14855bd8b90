//go:build !js

package userfile

import "syscall"

// nonblock makes opening a FIFO return at once.
const nonblock = syscall.O_NONBLOCK
