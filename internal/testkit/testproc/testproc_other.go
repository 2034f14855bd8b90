//go:build !linux

package testproc

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// AwaitFile waits for a file that another process makes: here nothing tells of it.
func AwaitFile(name string) error {
	for {
		if _, err := os.Stat(name); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

// Ended waits until processes have ended: here nothing tells of that.
func Ended(time.Duration, ...int) ([]int, error) {
	return nil, fmt.Errorf("wait for processes: %w", errors.ErrUnsupported)
}
