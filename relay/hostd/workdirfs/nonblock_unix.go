//go:build unix

package workdirfs

import "syscall"

// nonblocking has a FIFO that took a file's place opened without waiting for a writer, and
// no terminal become ours.
const nonblocking = syscall.O_NONBLOCK | syscall.O_NOCTTY
