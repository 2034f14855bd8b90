// Package cputime measures the processor time of this process. Unlike clock time, it does not
// include the time of other processes.
package cputime

import "time"

// started is the start time of the process, for systems that count no processor time.
var started = time.Now()
