package server

import (
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// acks holds the acknowledgements that must be sent to a machine. It limits their rate for each
// run.
type acks struct {
	mu      sync.Mutex
	of      map[string]*ack
	pending []string // runs whose acknowledgement can be sent now
	timer   func() bool
	ended   bool
}

type ack struct {
	prefix int64
	sent   time.Time
	open   bool // prefix is not acknowledged yet
	listed bool
}

const ackEach = time.Second / protocol.AcksPerSecond

// stored records that the events of a run are committed up to prefix.
func (a *acks) stored(h *machine, run string, prefix int64) {
	now := h.srv.clock.Now()
	a.mu.Lock()
	one := a.of[run]
	if one == nil {
		one = &ack{}
		a.of[run] = one
	}
	one.prefix, one.open = prefix, true
	wait := one.sent.Add(ackEach).Sub(now)
	switch {
	case one.listed || a.ended:
	case wait <= 0:
		one.listed = true
		a.pending = append(a.pending, run)
	case a.timer == nil:
		a.timer = h.srv.clock.After(wait, func() { a.wake(h) })
	}
	kick := one.listed
	a.mu.Unlock()
	if kick {
		h.socket.kick()
	}
}

// wake makes the acknowledgements pending whose minimum interval has passed, and removes idle runs.
func (a *acks) wake(h *machine) {
	now := h.srv.clock.Now()
	a.mu.Lock()
	a.timer = nil
	next := time.Duration(0)
	for run, one := range a.of {
		wait := one.sent.Add(ackEach).Sub(now)
		switch {
		case !one.open && wait <= 0:
			delete(a.of, run)
		case one.open && !one.listed && wait <= 0:
			one.listed = true
			a.pending = append(a.pending, run)
		case one.open && !one.listed && (next == 0 || wait < next):
			next = wait
		}
	}
	if next > 0 && !a.ended {
		a.timer = h.srv.clock.After(next, func() { a.wake(h) })
	}
	a.mu.Unlock()
	h.socket.kick()
}

// send sends the pending acknowledgements and reports whether there were any.
func (a *acks) send(h *machine) bool {
	a.mu.Lock()
	pending := a.pending
	a.pending = nil
	all := make([]protocol.Ack, 0, len(pending))
	for _, run := range pending {
		one := a.of[run]
		all = append(all, protocol.Ack{RunID: run, LastSeq: one.prefix})
		one.sent, one.open, one.listed = h.srv.clock.Now(), false, false
	}
	a.mu.Unlock()
	for _, d := range all {
		e := protocol.New(protocol.RunAck, h.srv.clock.Now(), d)
		e.RunID = d.RunID
		h.socket.write(e.Append(nil))
	}
	return len(all) > 0
}

func (a *acks) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	if a.timer != nil {
		a.timer()
		a.timer = nil
	}
}
