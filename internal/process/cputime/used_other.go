//go:build !unix

package cputime

import "time"

// Used returns the time since the process started. On a busy machine this includes the time of
// other processes.
func Used() time.Duration { return time.Since(started) }
