package server

import "time"

// Clock is the server's time. What it gives must never go back: TTLs, silences and rates are
// measured by it, whatever becomes of the wall clock meanwhile.
type Clock interface {
	Now() time.Time
	// After calls something once, in a goroutine of its own, when a duration has passed. stop
	// says whether it came before.
	After(d time.Duration, do func()) (stop func() bool)
}

// SystemClock is the machine's clock as it was at the start, and what has passed since.
func SystemClock() Clock { return system{time.Now()} }

type system struct{ start time.Time }

func (s system) Now() time.Time { return s.start.Add(time.Since(s.start)) }

func (s system) After(d time.Duration, do func()) func() bool { return time.AfterFunc(d, do).Stop }
