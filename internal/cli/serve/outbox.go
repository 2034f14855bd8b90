package serve

import (
	"slices"
	"sync"
)

// What of a client's messages is kept for it: those that it was told, so that it may
// resume, and those that it has not been told yet.
const (
	keptMessages = 1024
	keptBytes    = 8 << 20
)

// outbox is what the server says to a client, by number from 1.
type outbox struct {
	mu     sync.Mutex
	first  int64 // the number of kept[0]
	kept   []outgoing
	bytes  int           // of kept
	unsent int           // bytes that were not told yet
	sent   int64         // the last number that was told
	told   bool          // somebody is told: see attach
	resume bool          // what was told is kept
	taken  int64         // the last number that is about to be told
	wake   chan struct{} // full when there may be something to tell
	room   chan struct{} // full when something was told
}

// outgoing is a message to a client.
type outgoing struct {
	text    []byte
	changed bool // it is `tools/changed`, of which the last one says all
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

// full says that there is no room for what can wait elsewhere. Messages that cannot are
// added in any case.
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

// trim forgets the oldest messages that are too many. While somebody is told, only those
// that he was told are forgotten: who does not listen is cut by the transport.
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

// attach says that a transport tells the client what comes after a number. lost is the
// last of the messages after it that are not there any more, 0 when all are.
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

// detach says that nobody is told any more.
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

// tell says that messages were told, of which the first has the number.
func (o *outbox) tell(number int64, batch []outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if number != o.sent+1 {
		return // somebody else tells by now
	}
	o.sent += int64(len(batch))
	for _, m := range batch {
		o.unsent -= len(m.text)
	}
	o.trim()
	signal(o.room)
}

// holds says that a message was not forgotten.
func (o *outbox) holds(number int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return number >= o.first
}
