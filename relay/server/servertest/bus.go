package servertest

import (
	"strings"
	"sync"
)

// Bus is a server.Bus for servers in one process. The zero value is ready to use.
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

// put queues a call of the subscriber. Queued calls run in order.
func (s *sub) put(call func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, call)
	if len(s.waiting) == 1 {
		go s.run()
	}
}

// run runs the queued calls.
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

// Publish calls the subscribers of a subject. Each subscriber has a goroutine, in which it receives
// messages in order.
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

// Subscribe calls do for each later message of a subject.
func (b *Bus) Subscribe(subject string, do func(subject string, body []byte)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs = append(b.subs, &sub{subject: subject, do: do})
	return nil
}

// Up reports whether the bus is not broken.
func (b *Bus) Up() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.down
}

// Break makes the bus drop all later messages.
func (b *Bus) Break() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = true
}

// Published returns the number of published messages of a kind, which is the part of the subject
// before the first dot.
func (b *Bus) Published(kind string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n[kind]
}
