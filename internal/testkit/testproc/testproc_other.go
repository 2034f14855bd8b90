//go:build !linux

package testproc

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// AwaitFile waits for a file that another process creates. It is not supported on this system.
func AwaitFile(name string) error {
	for {
		if _, err := os.Stat(name); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

// AwaitExit waits until processes have exited. It is not supported on this system.
func AwaitExit(time.Duration, ...int) ([]int, error) {
	return nil, fmt.Errorf("wait for processes: %w", errors.ErrUnsupported)
}
