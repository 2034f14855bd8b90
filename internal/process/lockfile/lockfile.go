// Package lockfile prevents two processes from using the same resource.
package lockfile

import "errors"

// ErrHeld means that another process holds a lock.
var ErrHeld = errors.New("another process has it")
