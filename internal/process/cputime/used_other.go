//go:build !unix

package cputime

import "time"

// Used is the time since the process started. It includes the time that a busy
// machine took from the process.
func Used() time.Duration { return time.Since(started) }
