//go:build !unix && !windows

package disk

import (
	"fmt"
	"runtime"
)

// Lock returns an error, because the caller relies on the lock.
func (f osFile) Lock() error { return fmt.Errorf("files cannot be locked on %s", runtime.GOOS) }
