//go:build unix

package profile

import (
	"syscall"
	"time"
)

// used is the processor time that the process has used. Time that other
// processes took is none of the program's.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return time.Since(started)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
