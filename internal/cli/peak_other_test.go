//go:build !unix

package cli

import "errors"

// peakMemory is not available on this system.
func peakMemory() (int64, error) { return 0, errors.ErrUnsupported }
