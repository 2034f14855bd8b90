package tool

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Stats contains statistics about the calls of a tool.
type Stats struct {
	Calls, Failed int64
	P50, P99      time.Duration // percentiles of the handler's time, rounded up by at most a quarter
}

// stats counts calls by duration. The counters are allocated at the first call.
type stats struct{ counts atomic.Pointer[counts] }

type counts struct {
	calls, failed atomic.Int64
	// times counts calls by the duration of their handlers in microseconds. Each doubling of the
	// duration is divided into four steps.
	times [4 * 65]atomic.Int64
}

func (s *stats) addCall(took time.Duration, failed bool) {
	c := s.counts.Load()
	if c == nil {
		s.counts.CompareAndSwap(nil, &counts{})
		c = s.counts.Load()
	}
	c.calls.Add(1)
	if failed {
		c.failed.Add(1)
	}
	c.times[durationStep(took)].Add(1)
}

// durationStep returns the index of the step that contains a duration.
func durationStep(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 0))
	n := bits.Len64(us)
	if n < 3 {
		return int(us)
	}
	return 4*(n-2) + int(us>>(n-3)&3)
}

// upper returns the longest duration of a step.
func upper(i int) time.Duration {
	if i < 4 {
		return time.Duration(i) * time.Microsecond
	}
	n := i/4 + 2
	return time.Duration((uint64(i%4+5)<<(n-3))-1) * time.Microsecond
}

func (s *stats) current() Stats {
	c := s.counts.Load()
	if c == nil {
		return Stats{}
	}
	out := Stats{Calls: c.calls.Load(), Failed: c.failed.Load()}
	all := int64(0)
	for i := range c.times {
		all += c.times[i].Load()
	}
	seen, p50, p99 := int64(0), (all+1)/2, all-all/100
	for i := range c.times {
		before := seen
		seen += c.times[i].Load()
		if before < p50 && seen >= p50 {
			out.P50 = upper(i)
		}
		if before < p99 && seen >= p99 {
			out.P99 = upper(i)
		}
	}
	return out
}
