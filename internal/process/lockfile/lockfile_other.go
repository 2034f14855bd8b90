//go:build !unix && !windows

package lockfile

import (
	"fmt"
	"os"
	"runtime"
)

// Lock does nothing: this system has no file locks.
func Lock(string) (unlock func() error, err error) { return func() error { return nil }, nil }

// LockOpen returns an error, because the caller relies on the lock.
func LockOpen(*os.File) error { return fmt.Errorf("files cannot be locked on %s", runtime.GOOS) }

// Held returns false: this system has no file locks.
func Held(string) (bool, error) { return false, nil }

// IsDead returns false: this system does not report it.
func IsDead(int) bool { return false }
