package vm

import "github.com/concerto-lang/concerto/internal/data/effect"

// messages are those of an exchange that have come and wait to be dealt with.
type messages struct {
	queue  []effect.HostMessage
	queued int // in bytes of lines
}

// What may wait while the program is busy; beyond it the host's pipe fills up.
const (
	queueLimit = 4096    // messages
	queueBytes = 4 << 20 // of lines; the last batch may go beyond
)

func (q *messages) full() bool { return len(q.queue) >= queueLimit || q.queued >= queueBytes }

func (q *messages) add(m *effect.HostMessage) {
	q.queue = append(q.queue, *m)
	q.queued += len(m.Text)
}

// drop takes the first message off the queue.
func (q *messages) drop() {
	q.queued -= len(q.queue[0].Text)
	q.queue[0] = effect.HostMessage{}
	if q.queue = q.queue[1:]; len(q.queue) == 0 {
		q.queue = nil
	}
}

// takeBack removes the message with this id, and gives it, if there is one.
func (q *messages) takeBack(id string) (m effect.HostMessage, found bool) {
	for i := range q.queue {
		if q.queue[i].ID == id {
			m = q.queue[i]
			q.queued -= len(m.Text)
			q.queue = append(q.queue[:i:i], q.queue[i+1:]...)
			return m, true
		}
	}
	return m, false
}
