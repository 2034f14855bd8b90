//go:build !unix

package cputime

import "time"

// Used is the time that has passed since the process started: a busy machine
// counts too.
func Used() time.Duration { return time.Since(started) }
