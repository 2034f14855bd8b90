package servertest

import (
	"strings"
	"sync"
)

// Bus carries words between servers of one process. The zero value is ready.
type Bus struct {
	mu   sync.Mutex
	subs []*sub
	down bool
	n    map[string]int
}

type sub struct {
	subject string
	do      func(subject string, body []byte)

	mu      sync.Mutex
	waiting []func()
}

// put has a subscriber called behind what it is called with before, as a bus keeps the order.
func (s *sub) put(call func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, call)
	if len(s.waiting) == 1 {
		go s.run()
	}
}

// run calls until nothing waits.
func (s *sub) run() {
	for {
		s.mu.Lock()
		call := s.waiting[0]
		s.mu.Unlock()
		call()
		s.mu.Lock()
		s.waiting = s.waiting[1:]
		more := len(s.waiting) > 0
		s.mu.Unlock()
		if !more {
			return
		}
	}
}

// Publish calls who has subscribed, each in a goroutine of its own and in order.
func (b *Bus) Publish(subject string, body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return
	}
	if b.n == nil {
		b.n = map[string]int{}
	}
	kind, _, _ := strings.Cut(subject, ".")
	b.n[kind]++
	for _, s := range b.subs {
		if prefix, all := strings.CutSuffix(s.subject, ">"); s.subject == subject || all && strings.HasPrefix(subject, prefix) {
			s.put(func() { s.do(subject, body) })
		}
	}
}

// Subscribe has do called with what is published.
func (b *Bus) Subscribe(subject string, do func(subject string, body []byte)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs = append(b.subs, &sub{subject: subject, do: do})
	return nil
}

// Up says whether it works.
func (b *Bus) Up() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.down
}

// Break has it lose everything from now on.
func (b *Bus) Break() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = true
}

// Published is how much of a kind was published: the subject up to its first dot.
func (b *Bus) Published(kind string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n[kind]
}
