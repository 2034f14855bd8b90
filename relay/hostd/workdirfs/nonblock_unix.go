//go:build unix

package workdirfs

import "syscall"

// nonblocking opens a FIFO without waiting for a writer, and a terminal without making it the
// controlling one.
const nonblocking = syscall.O_NONBLOCK | syscall.O_NOCTTY
