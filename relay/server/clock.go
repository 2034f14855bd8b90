package server

import "time"

// Clock is the server's clock. Its time must never go backwards, even if the wall clock does,
// because timeouts and rates are measured with it.
type Clock interface {
	Now() time.Time
	// After calls do once in a new goroutine after a duration. stop reports whether it prevented
	// the call.
	After(d time.Duration, do func()) (stop func() bool)
}

// SystemClock returns a clock that starts at the current wall-clock time and then follows the
// monotonic clock.
func SystemClock() Clock { return system{time.Now()} }

type system struct{ start time.Time }

func (s system) Now() time.Time { return s.start.Add(time.Since(s.start)) }

func (s system) After(d time.Duration, do func()) func() bool { return time.AfterFunc(d, do).Stop }
