package auth

import (
	"sync"
	"time"
)

// limiter limits identical audit records to one a minute, so that repeated refusals do not fill the
// log.
type limiter struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// maxRecorded is the maximum number of records that a limiter remembers. When it is exceeded, the
// limiter forgets all of them.
const maxRecorded = 10_000

func (s *limiter) allow(what string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.last[what]; ok && now.Sub(at) < time.Minute {
		return false
	}
	if s.last == nil || len(s.last) >= maxRecorded {
		s.last = map[string]time.Time{}
	}
	s.last[what] = now
	return true
}
