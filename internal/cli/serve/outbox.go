package serve

import (
	"slices"
	"sync"
)

// The bounds on the stored messages of a client: sent ones, so that it may resume, and unsent ones.
const (
	keptMessages = 1024
	keptBytes    = 8 << 20
)

// outbox contains the messages to a client, by number from 1.
type outbox struct {
	mu     sync.Mutex
	first  int64 // the number of kept[0]
	kept   []outgoing
	bytes  int           // of kept
	unsent int           // bytes that were not sent
	sent   int64         // the number of the last sent message
	told   bool          // a transport is attached: see attach
	resume bool          // sent messages are stored
	taken  int64         // the number of the last message being sent
	wake   chan struct{} // full if there may be messages to send
	room   chan struct{} // full after messages were sent
}

// outgoing is a message to a client.
type outgoing struct {
	text    []byte
	changed bool // it is `tools/changed`, of which only the last one matters
}

func newOutbox(resume bool) *outbox {
	return &outbox{first: 1, resume: resume, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// last is the number of the last message.
func (o *outbox) last() int64 { return o.first + int64(len(o.kept)) - 1 }

// Last is last, with the lock.
func (o *outbox) Last() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last()
}

// full reports whether messages that can wait elsewhere must do so. Messages that cannot are added
// in any case.
func (o *outbox) full() bool {
	return o.last()-o.sent >= keptMessages || o.unsent >= keptBytes
}

// Full is full, with the lock.
func (o *outbox) Full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.full()
}

// add adds a message. The caller holds the lock.
func (o *outbox) add(m outgoing) (number int64) {
	if n := len(o.kept); m.changed && n > 0 && o.kept[n-1].changed && o.last() > max(o.sent, o.taken) {
		o.kept[n-1] = m
		return o.last()
	}
	o.kept = append(o.kept, m)
	o.bytes += len(m.text)
	o.unsent += len(m.text)
	o.trim()
	signal(o.wake)
	return o.last()
}

// signal fills a channel that may be full already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Add is add, with the lock.
func (o *outbox) Add(m outgoing) (number int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.add(m)
}

// trim drops the oldest messages beyond the bounds. While a transport is attached, only sent
// messages are dropped: the transport disconnects a client that does not read.
func (o *outbox) trim() {
	n := 0
	for n < len(o.kept) {
		number := o.first + int64(n)
		wasTold := number <= o.sent
		over := len(o.kept)-n > keptMessages || o.bytes > keptBytes && len(o.kept)-n > 1
		if o.told && !wasTold || !over && (o.resume || !wasTold) {
			break
		}
		o.bytes -= len(o.kept[n].text)
		if !wasTold {
			o.unsent -= len(o.kept[n].text)
			o.sent = number
		}
		o.kept[n] = outgoing{}
		n++
	}
	o.first += int64(n)
	if o.kept = o.kept[n:]; cap(o.kept) > 4*keptMessages && len(o.kept) <= keptMessages {
		o.kept = slices.Clone(o.kept)
	}
}

// attach registers a transport that sends the messages after a number. lost is the last of those
// messages that is no longer stored, 0 if all are.
func (o *outbox) attach(after int64) (from, lost int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	after = max(0, min(after, o.last()))
	if after < o.first-1 {
		lost = o.first - 1
		from, after = after+1, lost
	}
	o.sent, o.taken, o.told, o.unsent = after, 0, true, 0
	for _, m := range o.kept[after+1-o.first:] {
		o.unsent += len(m.text)
	}
	signal(o.wake)
	return from, lost
}

// detach removes the transport.
func (o *outbox) detach() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = false
	o.trim()
}

// next returns the events to send, with the number of the first.
func (o *outbox) next() (number int64, batch []outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = o.last()
	return o.sent + 1, slices.Clone(o.kept[o.sent+1-o.first:])
}

// tell records that messages were sent, the first of which has the number.
func (o *outbox) tell(number int64, batch []outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if number != o.sent+1 {
		return // another transport has taken over
	}
	o.sent += int64(len(batch))
	for _, m := range batch {
		o.unsent -= len(m.text)
	}
	o.trim()
	signal(o.room)
}

// holds reports whether a message is still stored.
func (o *outbox) holds(number int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return number >= o.first
}
