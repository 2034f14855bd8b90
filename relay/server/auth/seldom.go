package auth

import (
	"sync"
	"time"
)

// seldom lets the same be recorded once a minute, so that who is refused again and again does not
// fill the audit log.
type seldom struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// maxTold bounds how much is remembered; beyond, all is told again.
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
