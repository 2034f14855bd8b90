package llm

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// secrets are the keys that a run has sent: what is taken out of everything that
// comes back, since providers, and proxies that serve several connections,
// quote keys in their messages. Safe for concurrent use.
type secrets struct {
	mu   sync.RWMutex
	keys []string
}

// add notes a key before it is sent.
func (s *secrets) add(key string) {
	s.mu.RLock()
	known := slices.Contains(s.keys, key)
	s.mu.RUnlock()
	if known {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.keys, key) {
		s.keys = append(s.keys, key)
		// One key may be a part of another.
		slices.SortFunc(s.keys, func(a, b string) int { return len(b) - len(a) })
	}
}

const hidden = "[key]"

// clean takes the keys out of an answer. It must be done before an excerpt can
// cut one in two.
func (s *secrets) clean(answer []byte) []byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, k := range s.keys {
		if bytes.Contains(answer, []byte(k)) {
			answer = bytes.ReplaceAll(answer, []byte(k), []byte(hidden))
		}
	}
	return answer
}

// hide takes the keys out of a text.
func (s *secrets) hide(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, k := range s.keys {
		text = strings.ReplaceAll(text, k, hidden)
	}
	return text
}
