//go:build !unix

package profile

import "time"

// used is the time that has passed: a busy machine counts too.
func used() time.Duration { return time.Since(started) }
