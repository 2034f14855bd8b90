package host

import (
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// lifecycle records which exchange uses a process, and the state of the process from its start to
// its exit.
type lifecycle struct {
	segment        atomic.Pointer[segment] // segment of the newest exchange; nil before the first
	mu             lock[lifecycleLock]
	inbox          *inbox // inbox of the exchange that uses the process; nil for an idle process
	promptOffset   int64  // offset of the newest prompt in the bytes sent
	laterTurn      bool   // the newest prompt began a later turn of the exchange
	served         bool   // the process has completed an exchange
	failureCounted bool   // the start of the process was counted as failed
	retiring       bool   // the process is being ended, in every state
	state          processState
	failure        *effect.Error // why the output has ended; set in processClosed and processExited
}

// processState is the state of a process's output.
type processState uint8

const (
	processRunning     processState = iota
	processOutputEnded              // the output has ended for a reason that is not yet known
	processClosed                   // the output has ended, but the process need not have exited
	processExited                   // the output has ended because the process exited
)

// hasEnded reports whether the reason is known why the output has ended.
func (l *lifecycle) hasEnded() bool { return l.state >= processClosed }

// assign assigns the process to an exchange and reports whether the process has ended. sendPrompt
// sends the first line of the exchange and returns its offset in the bytes sent.
func (l *lifecycle) assign(in *inbox, sendPrompt func() int64) (ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inbox = in
	l.promptOffset, l.laterTurn = sendPrompt(), false
	return l.hasEnded()
}

// beginTurn records that the process was sent the prompt of a later turn of its exchange, at an
// offset in the bytes sent. It reports whether the process has ended.
func (l *lifecycle) beginTurn(offset int64) (ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.promptOffset, l.laterTurn = offset, true
	return l.hasEnded()
}

// release removes the process from its exchange. served reports whether the exchange was complete.
func (l *lifecycle) release(served bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inbox = nil
	l.served = l.served || served
}

// isIdle reports whether no exchange uses the process.
func (l *lifecycle) isIdle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inbox == nil
}

// currentExchange returns the inbox of the exchange that uses the process, or nil, and the segment
// of the newest exchange.
func (l *lifecycle) currentExchange() (*inbox, *segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inbox, l.segment.Load()
}

// hasServed reports whether the process has completed an exchange.
func (l *lifecycle) hasServed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.served
}

// canServe reports whether the process can serve further exchanges.
func (l *lifecycle) canServe() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == processRunning && !l.retiring
}

func (l *lifecycle) isRetiring() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retiring
}

// markRetiring records that the process is being ended. first reports whether this is the first
// call.
func (l *lifecycle) markRetiring() (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = !l.retiring
	l.retiring = true
	return first
}

// markOutputEnded records that the output has ended. retiring reports whether the process was being
// ended.
func (l *lifecycle) markOutputEnded() (retiring bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = max(l.state, processOutputEnded)
	return l.retiring
}

// recordEnd records the reason why the output has ended. It returns the inbox of the exchange that
// uses the process.
func (l *lifecycle) recordEnd(failure *effect.Error, exited bool) (in *inbox, retiring bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state, l.failure = processClosed, failure; exited {
		l.state = processExited
	}
	return l.inbox, l.retiring
}

// endState returns the reason why the output has ended. untouched reports whether the work on the
// newest prompt cannot have begun, because the process had completed an earlier exchange or turn
// and exited before it read the prompt. laterTurn reports whether that prompt began a later turn.
func (l *lifecycle) endState(consumed int64) (failure *effect.Error, untouched, laterTurn bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure, l.state == processExited && (l.served || l.laterTurn) && consumed <= l.promptOffset, l.laterTurn
}

// isLost reports whether the output has ended because the keeper was lost.
func (l *lifecycle) isLost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure != nil && isLostError(l.failure)
}

// countFailure counts the start as failed. first reports whether this is the first call.
func (l *lifecycle) countFailure() (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = !l.failureCounted
	l.failureCounted = true
	return first
}
