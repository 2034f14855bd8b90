// Package lockfile keeps a second process from what a first one uses.
package lockfile

import "errors"

// ErrHeld says that another process holds a lock.
var ErrHeld = errors.New("another process has it")
