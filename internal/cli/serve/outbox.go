package serve

import (
	"slices"
	"sync"
)

// The limits of a client's stored messages: sent ones, so that it may resume, and unsent ones.
const (
	maxStoredMessages = 1024
	maxStoredBytes    = 8 << 20
)

// outbox contains the messages to a client, numbered from 1.
type outbox struct {
	mu       sync.Mutex
	first    int64 // the number of stored[0]
	stored   []outgoing
	bytes    int           // of stored
	unsent   int           // bytes that were not sent
	sent     int64         // the number of the last sent message
	attached bool          // a transport is attached: see attach
	resume   bool          // sent messages are stored
	sending  int64         // the number of the last message being sent
	wake     chan struct{} // contains an element if there may be messages to send
	room     chan struct{} // contains an element after messages were sent
}

// outgoing is a message to a client.
// it is `tools/changed`, of which only the last one is sent
type outgoing struct {
	text    []byte
	changed bool // it is `tools/changed`, of which only the last one matters
}

func newOutbox(resume bool) *outbox {
	return &outbox{first: 1, resume: resume, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// last returns the number of the last message. The caller holds the lock.
func (o *outbox) last() int64 { return o.first + int64(len(o.stored)) - 1 }

// Last returns the number of the last message.
func (o *outbox) Last() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last()
}

// full reports whether messages that can wait must do so. Other messages are added in any case. The
// caller holds the lock.
func (o *outbox) full() bool {
	return o.last()-o.sent >= maxStoredMessages || o.unsent >= maxStoredBytes
}

// Full is full for a caller without the lock.
func (o *outbox) Full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.full()
}

// add adds a message. The caller holds the lock.
func (o *outbox) add(m outgoing) (number int64) {
	if n := len(o.stored); m.changed && n > 0 && o.stored[n-1].changed && o.last() > max(o.sent, o.sending) {
		o.stored[n-1] = m
		return o.last()
	}
	o.stored = append(o.stored, m)
	o.bytes += len(m.text)
	o.unsent += len(m.text)
	o.trim()
	signal(o.wake)
	return o.last()
}

// signal adds an element to a channel unless it is full.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Add adds a message.
func (o *outbox) Add(m outgoing) (number int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.add(m)
}

// trim drops the oldest messages beyond the limits. While a transport is attached, it drops only
// sent messages, because the transport disconnects a client that does not read.
func (o *outbox) trim() {
	n := 0
	for n < len(o.stored) {
		number := o.first + int64(n)
		wasSent := number <= o.sent
		over := len(o.stored)-n > maxStoredMessages || o.bytes > maxStoredBytes && len(o.stored)-n > 1
		if o.attached && !wasSent || !over && (o.resume || !wasSent) {
			break
		}
		o.bytes -= len(o.stored[n].text)
		if !wasSent {
			o.unsent -= len(o.stored[n].text)
			o.sent = number
		}
		o.stored[n] = outgoing{}
		n++
	}
	o.first += int64(n)
	if o.stored = o.stored[n:]; cap(o.stored) > 4*maxStoredMessages && len(o.stored) <= maxStoredMessages {
		o.stored = slices.Clone(o.stored)
	}
}

// attach registers a transport that sends the messages after a number. lost is the last of those
// messages that is no longer stored, or 0.
func (o *outbox) attach(after int64) (from, lost int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	after = max(0, min(after, o.last()))
	if after < o.first-1 {
		lost = o.first - 1
		from, after = after+1, lost
	}
	o.sent, o.sending, o.attached, o.unsent = after, 0, true, 0
	for _, m := range o.stored[after+1-o.first:] {
		o.unsent += len(m.text)
	}
	signal(o.wake)
	return from, lost
}

// detach removes the transport.
func (o *outbox) detach() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.attached = false
	o.trim()
}

// next returns the messages to send, and the number of the first.
func (o *outbox) next() (number int64, batch []outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sending = o.last()
	return o.sent + 1, slices.Clone(o.stored[o.sent+1-o.first:])
}

// markSent records that messages were sent; number is the number of the first.
func (o *outbox) markSent(number int64, batch []outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if number != o.sent+1 {
		return // another transport has replaced this one
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
