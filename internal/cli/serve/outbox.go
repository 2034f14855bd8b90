package serve

import (
	"slices"
	"sync"
)

// Limits on the stored messages of a client. Sent messages are stored so that the client can
// resume; unsent messages are stored until they can be sent.
const (
	maxStoredMessages = 1024
	maxStoredBytes    = 8 << 20
)

// outbox contains the messages to a client, numbered from 1.
type outbox struct {
	mu       sync.Mutex
	first    int64 // number of the message stored[0]
	stored   []outgoing
	bytes    int           // total size of stored, in bytes
	unsent   int           // size of the unsent messages, in bytes
	sent     int64         // number of the last sent message
	attached bool          // a transport is attached; see attach
	resume   bool          // sent messages are stored until the limits are reached
	sending  int64         // number of the last message that the transport has begun to send
	wake     chan struct{} // contains an element if new messages may have to be sent
	room     chan struct{} // contains an element after messages were sent
}

// outgoing is a message to a client.
type outgoing struct {
	text    []byte
	changed bool // the message is `tools/changed`; of several unsent ones, only the last is sent
}

func newOutbox(resume bool) *outbox {
	return &outbox{first: 1, resume: resume, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// last returns the number of the last message. The caller holds mu.
func (o *outbox) last() int64 { return o.first + int64(len(o.stored)) - 1 }

// Last returns the number of the last message.
func (o *outbox) Last() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last()
}

// full reports whether the outbox is full. Messages that can wait must then not be added; all
// others are added nevertheless. The caller holds mu.
func (o *outbox) full() bool {
	return o.last()-o.sent >= maxStoredMessages || o.unsent >= maxStoredBytes
}

// Full is full for callers that do not hold mu.
func (o *outbox) Full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.full()
}

// add adds a message and returns its number. The caller holds mu.
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

// signal adds an element to c if c is empty.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Add is add for callers that do not hold mu.
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

// attach registers a transport that sends the messages after number after. If some of these
// messages are no longer stored, from and lost are the first and the last of their numbers;
// otherwise both are 0.
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

// next returns the messages to send and the number of the first of them.
func (o *outbox) next() (number int64, batch []outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sending = o.last()
	return o.sent + 1, slices.Clone(o.stored[o.sent+1-o.first:])
}

// markSent records that a batch was sent. number is the number of its first message.
func (o *outbox) markSent(number int64, batch []outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if number != o.sent+1 {
		return // another transport has been attached in the meantime
	}
	o.sent += int64(len(batch))
	for _, m := range batch {
		o.unsent -= len(m.text)
	}
	o.trim()
	signal(o.room)
}

// holds reports whether the message with the given number is still stored.
func (o *outbox) holds(number int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return number >= o.first
}
