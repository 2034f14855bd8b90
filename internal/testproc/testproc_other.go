//go:build !linux

package testproc

import (
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
