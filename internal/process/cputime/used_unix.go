//go:build unix

package cputime

import (
	"syscall"
	"time"
)

// Used returns the processor time of all threads of the process, in user code and in the system.
func Used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return time.Since(started)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
