// Package cputime tells how much processor time the process has used, which
// unlike the clock does not count what other processes took.
package cputime

import "time"

// started is when the process has, for systems that count no processor time.
var started = time.Now()
