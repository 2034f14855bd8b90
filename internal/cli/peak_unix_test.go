//go:build unix

package cli

import (
	"runtime"
	"syscall"
)

// peakMemory returns the peak memory of the largest ended child process, in MiB.
func peakMemory() (int64, error) {
	var children syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children); err != nil {
		return 0, err
	}
	if runtime.GOOS == "darwin" { // in bytes there
		return int64(children.Maxrss) >> 20, nil
	}
	return int64(children.Maxrss) >> 10, nil
}
