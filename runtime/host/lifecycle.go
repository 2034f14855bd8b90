package host

import (
	"sync"
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// lifecycle is which exchange has a process, and how far the process is from its start to its end.
type lifecycle struct {
	turn     atomic.Pointer[turn] // of the newest exchange; nil before the first
	mu       sync.Mutex
	cur      *inbox // of the exchange that has the process
	promptAt int64  // where its prompt begins in all that was sent
	served   bool   // it has completed an exchange
	counted  bool   // as a start that failed
	retiring bool
	silent   bool // its output has ended
	ended    bool // and the reader knows why
	exited   bool // because the process has
	failure  *effect.Error
}

// begin gives the process to an exchange and reports whether it has ended meanwhile. sendPrompt sends what begins
// the exchange and returns where that is in all that was sent.
func (l *lifecycle) begin(in *inbox, sendPrompt func() int64) (ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cur = in
	l.promptAt = sendPrompt()
	return l.ended
}

// rest takes the process back from its exchange.
func (l *lifecycle) rest(served bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cur = nil
	l.served = l.served || served
}

// idle reports whether no exchange has the process.
func (l *lifecycle) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cur == nil
}

// current returns the inbox of the exchange that has the process, nil between exchanges, and the turn of the newest one.
func (l *lifecycle) current() (*inbox, *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cur, l.turn.Load()
}

// hasServed reports whether the process has completed an exchange.
func (l *lifecycle) hasServed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.served
}

// canServe reports whether more is to come from the process.
func (l *lifecycle) canServe() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.silent && !l.retiring
}

func (l *lifecycle) isRetiring() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retiring
}

// retire notes that the process is made to end, and reports whether it is the first to say so.
func (l *lifecycle) retire() (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = !l.retiring
	l.retiring = true
	return first
}

// silence notes that the output has ended, and reports whether the process was retiring.
func (l *lifecycle) silence() (retiring bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = true
	return l.retiring
}

// end notes why the output has ended. It returns the inbox of the exchange that has the process.
func (l *lifecycle) end(failure *effect.Error, exited bool) (in *inbox, retiring bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.exited, l.failure = true, exited, failure
	return l.cur, l.retiring
}

// outcome is why the output has ended, and reports whether the exchange's work cannot have begun: the process had served
// before, and has exited when it had read no more than consumed.
func (l *lifecycle) outcome(consumed int64) (failure *effect.Error, untouched bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure, l.exited && l.served && consumed <= l.promptAt
}

// countFailure counts that the start failed, and reports whether it is the first to do so.
func (l *lifecycle) countFailure() (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = !l.counted
	l.counted = true
	return first
}
