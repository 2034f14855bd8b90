// Package cputime tells how much processor time the process has used. Unlike the
// time of a clock, it does not include what other processes took.
package cputime

import "time"

// started is when the process has, for systems that count no processor time.
var started = time.Now()
