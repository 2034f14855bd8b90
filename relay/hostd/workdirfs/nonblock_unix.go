//go:build unix

package workdirfs

import "syscall"

// nonblocking are flags for opening a file. They prevent that opening a FIFO waits for a writer,
// and that a terminal becomes the controlling terminal.
const nonblocking = syscall.O_NONBLOCK | syscall.O_NOCTTY
