package host

import (
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// Limits of one batch. A line longer than batchBytes forms a batch with no other line.
const (
	batchMessages = 256
	batchBytes    = 1 << 20
)

// inbox passes the messages of one exchange from the reader to the requests for messages. It holds
// one unread batch. Until that batch is read, the reader goroutine waits with the next batch, and
// then the full pipe blocks the host.
type inbox struct {
	turns    turns     // of the exchange
	exchange *exchange // nil for the initialisation of a process

	mu       lock[inboxLock]
	space    sync.Cond     // signals the reader that the batch was read, or that no further batch is needed
	ready    chan struct{} // signals nextMessages that takeBatch has a result
	ended    chan struct{} // closed when no message will come any more
	pending  batch         // messages that no request has read
	received bool          // at least one message has arrived
	state    inboxState
	discard  bool          // the exchange is cancelled: messages are dropped, in every state
	failure  *effect.Error // set in inboxFailed and inboxTimedOut
	lost     *effect.Error // set in inboxNeedsProcess if the process is lost and another may continue the exchange

	canContinue bool   // another process may continue the exchange after a loss
	meter       *meter // counts what the exchange uses; nil if nothing is counted
	unbounded   bool   // batches are added without waiting for room
	lastLine    int64  // number of the last line that a request has received; 0 if no keeper runs the process
}

// inboxState is what further messages an inbox expects.
type inboxState uint8

const (
	inboxOpen         inboxState = iota // more messages may come
	inboxNeedsProcess                   // none before another process has the prompt: the host exited before it read it, or is lost
	inboxComplete                       // none: the terminal message has arrived
	inboxFailed                         // no terminal message: failure is the reason
	inboxTimedOut                       // like inboxFailed, because a limit of the exchange was reached
)

func newInbox() *inbox {
	in := &inbox{ready: make(chan struct{}, 1), ended: make(chan struct{})}
	in.space.L = &in.mu
	return in
}

// addBatch adds a batch and takes ownership of it. If wait is true, addBatch blocks until the
// batch fits. It drops the batch and returns false if the terminal message or a failure came
// before, or if messages are dropped.
func (in *inbox) addBatch(b batch, wait bool) (kept bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for wait && !in.isClosed() && !in.discard && !in.hasRoomFor(&b) {
		in.space.Wait()
	}
	if in.isClosed() {
		return false
	}
	in.received = true
	if !in.discard {
		in.mergeBatch(b)
	}
	if b.hasTerminal {
		in.state = inboxComplete
		close(in.ended)
	}
	wakeOne(in.ready)
	return !in.discard
}

func (in *inbox) hasRoomFor(b *batch) bool {
	h := &in.pending
	return in.unbounded || len(h.msgs) == 0 || len(h.msgs)+len(b.msgs) <= batchMessages && h.size+b.size <= batchBytes
}

// isClosed reports whether the inbox drops further messages because the exchange is complete, has
// failed, or needs another process.
func (in *inbox) isClosed() bool { return in.state != inboxOpen }

// hasResult reports whether the exchange is complete or has failed.
func (in *inbox) hasResult() bool { return in.state >= inboxComplete }

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
		vendor := in.exchange != nil && in.exchange.pool.cfg.protocol().New != nil
		h.removeWithdrawn(from, vendor)
	}
}

// removeWithdrawn removes each withdraw message at index from or later, together with the request
// that it withdraws, if the batch contains that request. The program receives those of a vendor's
// agent that a person may answer, because each of them has a record.
func (b *batch) removeWithdrawn(from int, vendor bool) {
	for i := from; i < len(b.msgs); i++ {
		m := &b.msgs[i]
		if m.ID == "" || hostmsg.Lookup(m.Type).Role != hostmsg.Withdraws {
			continue
		}
		at := slices.IndexFunc(b.msgs[:i], func(r effect.HostMessage) bool {
			row := hostmsg.Lookup(r.Type)
			return r.ID == m.ID && row.Waits() && !(vendor && row.ByPerson())
		})
		if at >= 0 {
			b.msgs = slices.Delete(b.msgs, i, i+1)
			b.msgs = slices.Delete(b.msgs, at, at+1)
			b.requests--
			i -= 2
		}
	}
}

// takeBatch returns the pending batch, or the state if there is none. The state of a cancelled
// exchange is inboxComplete.
func (in *inbox) takeBatch() (batch, inboxState) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case len(in.pending.msgs) > 0:
		b := in.pending
		in.pending = batch{}
		if b.lines != nil {
			in.lastLine = b.lines.Last()
		}
		in.space.Signal()
		return b, inboxOpen
	case in.discard:
		return batch{}, inboxComplete
	}
	return batch{}, in.state
}

// setUnbounded sets whether batches are added without waiting until earlier ones are read.
func (in *inbox) setUnbounded(on bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.unbounded = on
	in.space.Signal()
}

// addOwn adds a message that the host did not send. kept reports whether a keeper runs the
// process. addOwn returns false if messages are dropped.
func (in *inbox) addOwn(m effect.HostMessage, kept bool) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.discard {
		return false
	}
	in.mergeOwn(batch{msgs: []effect.HostMessage{m}, size: len(m.Text)}, kept)
	return true
}

// addNotice is addOwn for a batch that is dropped if the exchange has ended.
func (in *inbox) addNotice(b batch, kept bool) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.isClosed() || in.discard {
		return false
	}
	in.received = in.received || b.requests > 0
	in.mergeOwn(b, kept)
	return true
}

// mergeOwn adds messages that are in no line of the host to the pending batch. Only the lines of
// the batch show a resumed run which lines of a kept process were received.
func (in *inbox) mergeOwn(b batch, kept bool) {
	if h := &in.pending; kept && h.lines == nil {
		h.lines = &effect.HostLines{First: in.lastLine + 1}
	}
	in.mergeBatch(b)
	wakeOne(in.ready)
}

// unreadSteers returns the pending messages that the host did not send.
func (in *inbox) unreadSteers() (all []*effect.SteeredNote) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i := range in.pending.msgs {
		if n := in.pending.msgs[i].Steering(); n != nil {
			all = append(all, n)
		}
	}
	return all
}

// onlySteered returns a batch with the messages of b that the host did not send, without lines of
// the host.
func (b *batch) onlySteered() (own batch) {
	for i := range b.msgs {
		if m := &b.msgs[i]; m.IsSteered() {
			own.msgs = append(own.msgs, *m)
			own.size += len(m.Text)
		}
	}
	if len(own.msgs) > 0 && b.lines != nil {
		own.lines = &effect.HostLines{First: b.lines.First}
	}
	return own
}

// isOver reports whether the exchange is complete, has failed, or is cancelled.
func (in *inbox) isOver() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.hasResult() || in.discard
}

// isLost reports whether the exchange needs another process.
func (in *inbox) isLost() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.state == inboxNeedsProcess
}

// isEmpty reports whether takeBatch would return neither messages nor a final state.
func (in *inbox) isEmpty() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.pending.msgs) == 0 && !in.isClosed() && !in.discard
}

// setFailure records the reason why no terminal message will come. It does nothing if the exchange
// is complete or has already failed.
func (in *inbox) setFailure(e *effect.Error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.fail(inboxFailed, e)
}

// fail makes inboxFailed or inboxTimedOut the state of an exchange that has no result yet.
func (in *inbox) fail(state inboxState, e *effect.Error) bool {
	if in.hasResult() {
		return false
	}
	in.state, in.failure = state, e
	close(in.ended)
	in.space.Signal()
	wakeOne(in.ready)
	return true
}

// failOnTimeout is like setFailure, but also drops the host's pending messages, which it returns.
// ok is false if the exchange had already ended.
func (in *inbox) failOnTimeout(e *effect.Error) (dropped []effect.HostMessage, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.fail(inboxTimedOut, e) {
		return nil, false
	}
	dropped = in.pending.msgs
	in.pending = in.pending.onlySteered()
	return dropped, true
}

// failAtLimit is like failOnTimeout, but the pending batch remains.
func (in *inbox) failAtLimit(e *effect.Error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.fail(inboxTimedOut, e)
}

// hasEnded reports whether the terminal message has arrived.
func (in *inbox) hasEnded() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.state == inboxComplete
}

// end returns a channel that is closed when no message will come any more, unless the program
// continues the exchange.
func (in *inbox) end() <-chan struct{} {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ended
}

// reopen records that the program continues the exchange, whose terminal message it has received.
func (in *inbox) reopen() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.state, in.ended = inboxOpen, make(chan struct{})
}

// requestProcess records that the host exited before it read the prompt; laterTurn reports whether
// that is the prompt of a later turn. It returns false if no other process is needed.
func (in *inbox) requestProcess(laterTurn bool) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.isClosed() || in.discard || in.received && !laterTurn {
		return false
	}
	in.state = inboxNeedsProcess
	wakeOne(in.ready)
	return true
}

// markLost records that the process was lost during the exchange. It returns false if no other
// process can continue the exchange.
func (in *inbox) markLost(e *effect.Error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.isClosed() || in.discard || !in.canContinue {
		return false
	}
	in.state, in.lost = inboxNeedsProcess, e
	wakeOne(in.ready)
	return true
}

// lostError returns the error of the lost process if another process must replace it, or nil.
func (in *inbox) lostError() *effect.Error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.lost
}

// markTerminal records that an earlier Concerto process has received the terminal message.
func (in *inbox) markTerminal() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.received, in.state = true, inboxComplete
	close(in.ended)
}

// clearRequest records that a new process has taken over the exchange.
func (in *inbox) clearRequest() {
	in.mu.Lock()
	if in.state == inboxNeedsProcess {
		in.state = inboxOpen
	}
	in.lost, in.lastLine = nil, 0
	if l := in.pending.lines; l != nil && len(l.Text) == 0 {
		l.First = 1 // what arrived in between belongs to the new process, of which no line was read
	}
	in.mu.Unlock()
}

// discardAll drops the pending messages, which it returns, and all future ones. unfinished reports
// whether the terminal message is still missing.
func (in *inbox) discardAll() (dropped []effect.HostMessage, unfinished bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	dropped = in.pending.msgs
	in.pending, in.discard = batch{}, true
	in.space.Signal()
	return dropped, !in.isClosed()
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

// hasTimedOut reports whether the exchange has timed out. In that case abort ends the process.
func (in *inbox) hasTimedOut() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.state == inboxTimedOut
}
