package auth

import (
	"sync"
	"time"
)

// seldom limits equal audit records to one a minute, so that repeated refusals do not fill the log.
type seldom struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// maxTold limits the number of remembered records; above it the memory is cleared.
const maxTold = 10_000

func (s *seldom) may(what string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.last[what]; ok && now.Sub(at) < time.Minute {
		return false
	}
	if s.last == nil || len(s.last) >= maxTold {
		s.last = map[string]time.Time{}
	}
	s.last[what] = now
	return true
}
