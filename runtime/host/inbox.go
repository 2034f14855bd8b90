package host

import (
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// What one batch may hold; a line larger than batchBytes comes alone.
const (
	batchMessages = 256
	batchBytes    = 1 << 20
)

// inbox holds the messages of one exchange between who reads them and the
// requests for more. It holds one batch; while that waits, the reader goroutine
// waits with the next, and the pipe slows the host.
type inbox struct {
	mu      sync.Mutex
	space   sync.Cond     // for the reader: the batch was taken, or nobody wants more
	ready   chan struct{} // for next: there is something to take
	ended   chan struct{} // closed when no message will come any more
	held    batch         // what waits
	any     bool          // something has come
	done    bool          // the terminal message has come
	discard bool          // the exchange is cancelled: messages are dropped
	failure *effect.Error // why no terminal message will come; given after what waits
	late    bool          // because the time was over
	again   bool          // another process is wanted: the host ended without having read the prompt,
	lost    *effect.Error // or it is lost, and may be gone on with; nil: it is not
	lasts   bool          // a lost one may be
}

func newInbox() *inbox {
	in := &inbox{ready: make(chan struct{}, 1), ended: make(chan struct{})}
	in.space.L = &in.mu
	return in
}

// put adds a batch, which is the inbox's from then on; it may wait until it fits. An
// exchange that has its terminal message, or has failed, takes none.
func (in *inbox) put(b batch, wait bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for wait && !in.closed() && !in.discard && !in.fits(&b) {
		in.space.Wait()
	}
	if in.closed() {
		return
	}
	in.any = true
	if !in.discard {
		in.join(b)
	}
	if b.terminal {
		in.done = true
		close(in.ended)
	}
	signal(in.ready)
}

func (in *inbox) fits(b *batch) bool {
	h := &in.held
	return len(h.msgs) == 0 || len(h.msgs)+len(b.msgs) <= batchMessages && h.size+b.size <= batchBytes
}

// closed says that no more messages are taken.
func (in *inbox) closed() bool { return in.done || in.failure != nil || in.again }

// join adds b to what waits; requests that it withdraws are taken out.
func (in *inbox) join(b batch) {
	h := &in.held
	from := len(h.msgs)
	if from == 0 {
		was := *h
		*h = b
		if was.lines != nil {
			h.lines = was.lines
			h.follow(&b)
		}
	} else {
		h.follow(&b)
		h.msgs = append(h.msgs, b.msgs...)
		h.size += b.size
		h.requests += b.requests
	}
	if b.takeBack && h.requests > 0 {
		h.withdraw(from)
	}
}

// withdraw takes out each withdraw at or after from with the request that it
// takes back, when that is there.
func (b *batch) withdraw(from int) {
	for i := from; i < len(b.msgs); i++ {
		m := &b.msgs[i]
		if m.ID == "" || hostmsg.Of(m.Type).Role != hostmsg.TakesBack {
			continue
		}
		at := slices.IndexFunc(b.msgs[:i], func(r effect.HostMessage) bool {
			return r.ID == m.ID && hostmsg.Of(r.Type).Waits()
		})
		if at >= 0 {
			b.msgs = slices.Delete(b.msgs, i, i+1)
			b.msgs = slices.Delete(b.msgs, at, at+1)
			b.requests--
			i -= 2
		}
	}
}

// state is what an inbox without messages is in.
type state uint8

const (
	waiting  state = iota // more may come
	complete              // the terminal message has been taken, or the exchange closed
	failed                // none will come; why says why
	untaken               // the prompt has not been read: another process is wanted
)

// take gives all that waits; when that is nothing, how things stand.
func (in *inbox) take() (batch, state) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case len(in.held.msgs) > 0:
		b := in.held
		in.held = batch{}
		in.space.Signal()
		return b, waiting
	case in.discard:
		return batch{}, complete
	case in.failure != nil:
		return batch{}, failed
	case in.again:
		return batch{}, untaken
	case in.done:
		return batch{}, complete
	}
	return batch{}, waiting
}

// quiet says that nothing has come that take has not given.
func (in *inbox) quiet() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.held.msgs) == 0 && !in.closed() && !in.discard
}

// fail says that no terminal message will come, and why, unless it has come or
// another failure has.
func (in *inbox) fail(e *effect.Error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.done && in.failure == nil {
		in.failure = e
		in.end()
	}
}

// expire is fail because the time is over: what waits is dropped. It gives false
// when the exchange had ended before.
func (in *inbox) expire(e *effect.Error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.done || in.failure != nil {
		return false
	}
	in.held = batch{}
	in.failure, in.late = e, true
	in.end()
	return true
}

// restart says that the host ended without having read the prompt. It gives
// false when that does not matter any more.
func (in *inbox) restart() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed() || in.discard || in.any {
		return false
	}
	in.again = true
	signal(in.ready)
	return true
}

// lose is restart of what is lost in the midst of the exchange, where that may be gone on with.
func (in *inbox) lose(e *effect.Error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed() || in.discard || !in.lasts {
		return false
	}
	in.again, in.lost = true, e
	signal(in.ready)
	return true
}

// whyLost is how the host was lost whose exchange another process is to go on with; nil when it was not.
func (in *inbox) whyLost() *effect.Error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.lost
}

// finish says that the terminal message has come, and was given.
func (in *inbox) finish() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.any, in.done = true, true
	close(in.ended)
}

// resume undoes restart: a new process has the prompt.
func (in *inbox) resume() {
	in.mu.Lock()
	in.again, in.lost = false, nil
	in.mu.Unlock()
}

// drain drops what is there and what will come. It says whether the terminal
// message is still to come.
func (in *inbox) drain() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.held, in.discard = batch{}, true
	in.space.Signal()
	return !in.closed()
}

// refuses says that no more messages are wanted.
func (in *inbox) refuses() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.closed() || in.discard
}

// dropping says that messages are dropped: the exchange is cancelled.
func (in *inbox) dropping() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.discard
}

// why is why the exchange failed before its terminal message; nil when it did
// not.
func (in *inbox) why() *effect.Error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.failure
}

// expired says that the exchange failed because its time was over; who ended it
// so sees to its process.
func (in *inbox) expired() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.late
}

func (in *inbox) end() {
	close(in.ended)
	in.space.Signal()
	signal(in.ready)
}
