package pair

import (
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

// rateLimiter limits the number of attempts per minute for each key.
type rateLimiter struct {
	most   int
	mu     sync.Mutex
	of     map[string][]time.Time // times of the attempts by key, oldest first
	walked time.Time
}

// recent returns the times that are less than a minute old. It changes all.
func recent(all []time.Time, now time.Time) []time.Time {
	return slices.DeleteFunc(all, func(at time.Time) bool { return !at.After(now.Add(-time.Minute)) })
}

// begin counts an attempt. If there are too many, it returns a Refusal with the time to wait.
func (s *rateLimiter) begin(who string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string][]time.Time{}
	}
	if now.Sub(s.walked) >= time.Second { // removes old attempts at most once a second, which limits the cost of many concurrent attempts
		s.walked = now
		for w, all := range s.of {
			if s.of[w] = recent(all, now); len(s.of[w]) == 0 {
				delete(s.of, w)
			}
		}
	}
	got := recent(s.of[who], now)
	if len(got) >= s.most {
		s.of[who] = got
		return &httpguard.Refusal{Code: protocol.RateLimited, Why: "too many attempts within a minute: wait", After: got[0].Add(time.Minute).Sub(now)}
	}
	s.of[who] = append(got, now)
	return nil
}

// refund removes an attempt from the count of its key.
func (s *rateLimiter) refund(who string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.of[who], at); i >= 0 {
		s.of[who] = slices.Delete(s.of[who], i, i+1)
	}
}
