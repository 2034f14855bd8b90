// Package cputime measures the processor time of this process. Unlike clock time, it does not
// include the time of other processes.
package cputime

import "time"

// started is the start time of the process. It is used on systems that do not report processor
// time.
var started = time.Now()
