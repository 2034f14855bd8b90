package host

import (
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// Limits of one batch. A line longer than batchBytes is a batch of its own.
const (
	batchMessages = 256
	batchBytes    = 1 << 20
)

// inbox passes the messages of one exchange from the reader to the requests for messages. It holds
// one batch. While that is unread, the reader goroutine waits with the next one, and the pipe
// blocks the host.
type inbox struct {
	mu          sync.Mutex
	space       sync.Cond     // for the reader: the batch was read, or no more is needed
	ready       chan struct{} // for nextMessages: takeBatch returns something
	ended       chan struct{} // closed when no message will come any more
	pending     batch         // not read
	received    bool          // a message has come
	hasTerminal bool
	discard     bool          // the exchange is cancelled: messages are dropped
	failure     *effect.Error // why no terminal message will come; returned after pending
	timedOut    bool          // failure is a timeout
	// another process is needed: the host exited before it read the prompt, or is lost
	needsProcess bool
	lostErr      *effect.Error // set if the host is lost and another process may continue
	canContinue  bool          // another process may continue after a loss
}

func newInbox() *inbox {
	in := &inbox{ready: make(chan struct{}, 1), ended: make(chan struct{})}
	in.space.L = &in.mu
	return in
}

// addBatch adds a batch and takes ownership of it. With wait it blocks until the batch fits. After
// the terminal message or a failure it drops the batch.
func (in *inbox) addBatch(b batch, wait bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for wait && !in.isClosed() && !in.discard && !in.hasRoomFor(&b) {
		in.space.Wait()
	}
	if in.isClosed() {
		return
	}
	in.received = true
	if !in.discard {
		in.mergeBatch(b)
	}
	if b.hasTerminal {
		in.hasTerminal = true
		close(in.ended)
	}
	wakeOne(in.ready)
}

func (in *inbox) hasRoomFor(b *batch) bool {
	h := &in.pending
	return len(h.msgs) == 0 || len(h.msgs)+len(b.msgs) <= batchMessages && h.size+b.size <= batchBytes
}

// isClosed reports whether further messages are dropped because the exchange is complete, failed,
// or needs a process.
func (in *inbox) isClosed() bool { return in.hasTerminal || in.failure != nil || in.needsProcess }

// mergeBatch appends b to the pending batch and removes requests that b withdraws.
func (in *inbox) mergeBatch(b batch) {
	h := &in.pending
	from := len(h.msgs)
	if from == 0 {
		was := *h
		*h = b
		if was.lines != nil {
			h.lines = was.lines
			h.appendLines(&b)
		}
	} else {
		h.appendLines(&b)
		h.msgs = append(h.msgs, b.msgs...)
		h.size += b.size
		h.requests += b.requests
	}
	if b.hasWithdrawal && h.requests > 0 {
		h.removeWithdrawn(from)
	}
}

// removeWithdrawn removes each withdraw message at or after from, together with its request, if the
// request is in the batch.
func (b *batch) removeWithdrawn(from int) {
	for i := from; i < len(b.msgs); i++ {
		m := &b.msgs[i]
		if m.ID == "" || hostmsg.Of(m.Type).Role != hostmsg.Withdraws {
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

// inboxState is the state of an inbox that has no messages.
type inboxState uint8

const (
	inboxOpen         inboxState = iota // more messages may come
	inboxComplete                       // the terminal message was read, or the exchange closed
	inboxFailed                         // no more will come; see failureError
	inboxNeedsProcess                   // the prompt was not read: another process is needed
)

// takeBatch returns the pending batch, or the state if there is none.
func (in *inbox) takeBatch() (batch, inboxState) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case len(in.pending.msgs) > 0:
		b := in.pending
		in.pending = batch{}
		in.space.Signal()
		return b, inboxOpen
	case in.discard:
		return batch{}, inboxComplete
	case in.failure != nil:
		return batch{}, inboxFailed
	case in.needsProcess:
		return batch{}, inboxNeedsProcess
	case in.hasTerminal:
		return batch{}, inboxComplete
	}
	return batch{}, inboxOpen
}

// isEmpty reports whether takeBatch has nothing new to return.
func (in *inbox) isEmpty() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.pending.msgs) == 0 && !in.isClosed() && !in.discard
}

// setFailure records why no terminal message will come. It does nothing if the exchange is complete
// or has failed.
func (in *inbox) setFailure(e *effect.Error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.hasTerminal && in.failure == nil {
		in.failure = e
		in.notifyEnd()
	}
}

// failOnTimeout is like setFailure, but also drops the pending batch. It returns false if the
// exchange had ended before.
func (in *inbox) failOnTimeout(e *effect.Error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.hasTerminal || in.failure != nil {
		return false
	}
	in.pending = batch{}
	in.failure, in.timedOut = e, true
	in.notifyEnd()
	return true
}

// requestProcess records that the host exited before it read the prompt. It returns false if no
// other process is needed.
func (in *inbox) requestProcess() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.isClosed() || in.discard || in.received {
		return false
	}
	in.needsProcess = true
	wakeOne(in.ready)
	return true
}

// markLost records that the process was lost in the middle of the exchange. It returns false if no
// other process can continue.
func (in *inbox) markLost(e *effect.Error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.isClosed() || in.discard || !in.canContinue {
		return false
	}
	in.needsProcess, in.lostErr = true, e
	wakeOne(in.ready)
	return true
}

// lostError returns the error of the lost process that another one must replace, or nil.
func (in *inbox) lostError() *effect.Error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.lostErr
}

// markTerminal records that the terminal message has come and was returned before.
func (in *inbox) markTerminal() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.received, in.hasTerminal = true, true
	close(in.ended)
}

// clearRequest records that a new process has the exchange.
func (in *inbox) clearRequest() {
	in.mu.Lock()
	in.needsProcess, in.lostErr = false, nil
	in.mu.Unlock()
}

// discardAll drops pending and future messages. It reports whether the terminal message has not
// come.
func (in *inbox) discardAll() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.pending, in.discard = batch{}, true
	in.space.Signal()
	return !in.isClosed()
}

// refusesMessages reports whether further messages are dropped.
func (in *inbox) refusesMessages() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.isClosed() || in.discard
}

// isDiscarding reports whether messages are dropped because the exchange is cancelled.
func (in *inbox) isDiscarding() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.discard
}

// failureError returns the failure of the exchange, or nil.
func (in *inbox) failureError() *effect.Error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.failure
}

// hasTimedOut reports whether the exchange failed by its timeout; then abort ends its process.
func (in *inbox) hasTimedOut() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.timedOut
}

func (in *inbox) notifyEnd() {
	close(in.ended)
	in.space.Signal()
	wakeOne(in.ready)
}
