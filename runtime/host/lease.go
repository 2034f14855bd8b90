package host

import (
	"time"
)

// readLease decides which goroutine reads the output of a process. By default that is the process's
// reader goroutine. A goroutine that waits for messages (exchange.nextMessages) can acquire the
// lease and read itself, because waking another goroutine takes longer than handling a short
// message. During a flood of messages the reader goroutine retains the lease, so that reading and
// handling run in parallel.
//
// With only a reader goroutine, a question and its answer need 10 to 20 % more CPU time, and 1,000
// exchanges at once 36 to 73 % more.
type readLease struct {
	conn Conn

	mu            lock[leaseLock]
	state         leaseState
	requested     bool // a goroutine waits for the lease, and the reader's wait was interrupted
	interrupted   bool // the current read was interrupted
	recalled      bool // the goroutine that holds the lease must return it
	readerWatches bool // the reader goroutine waits until the holder stops reading
	uses          int  // number of times the lease was acquired
	flood         int  // number of small batches still missing until the flood counts as ended

	granted  chan bool     // the reader's answer to the goroutine that requested the lease
	returned chan struct{} // signals the reader that the lease was returned or that readerWatches changed
}

// leaseState specifies which goroutine has the lease and whether that goroutine is reading.
type leaseState uint8

const (
	readerBusy    leaseState = iota // the reader goroutine, handling a line
	readerWaiting                   // the reader goroutine, waiting for a line
	leaseHeld                       // another goroutine, not reading
	leaseReading                    // another goroutine, reading
)

const (
	// maxIdleLease limits the time for which another goroutine may hold the lease without reading.
	// Afterwards the reader takes the lease back, so that requests of agents are answered and the
	// end of the output is noticed.
	maxIdleLease = 250 * time.Millisecond
	// A batch of at least floodMessages messages starts a flood. The flood ends after floodCooldown
	// smaller batches.
	floodMessages = 16
	floodBytes    = 32 << 10
	floodCooldown = 3
)

// bindConn sets the connection.
func (r *readLease) bindConn(c Conn) {
	r.conn, r.granted, r.returned = c, make(chan bool), make(chan struct{}, 1)
}

// tryAcquire acquires the lease. It returns false during a flood and while the reader goroutine is
// handling a line.
func (r *readLease) tryAcquire() bool {
	r.mu.Lock()
	switch {
	case r.state == leaseHeld:
		r.startReading()
		r.mu.Unlock()
		return true
	case r.state == readerWaiting && r.flood == 0 && !r.requested:
		r.requested = true
		r.conn.Interrupt()
		r.mu.Unlock()
		return <-r.granted
	}
	r.mu.Unlock()
	return false
}

func (r *readLease) startReading() {
	r.state = leaseReading
	r.uses++
}

// stopReading ends the holder's reading. The holder retains the lease only if retain is true and
// the lease was not recalled.
func (r *readLease) stopReading(retain bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.interrupted {
		r.interrupted = false
		r.conn.Resume()
	}
	if r.recalled || !retain || r.flood > 0 {
		r.returnToReader()
		return
	}
	r.state = leaseHeld
	if r.readerWatches {
		r.readerWatches = false
		wakeOne(r.returned)
	}
}

func (r *readLease) returnToReader() {
	r.state, r.recalled, r.readerWatches = readerBusy, false, false
	wakeOne(r.returned)
}

// interruptReading interrupts the holder's read.
func (r *readLease) interruptReading() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == leaseReading {
		r.interrupted = true
		r.conn.Interrupt()
	}
}

// recall returns the lease to the reader goroutine. If the holder is reading, recall interrupts the
// read, and the lease is returned when the read has ended.
func (r *readLease) recall() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.state {
	case leaseHeld:
		r.returnToReader()
	case leaseReading:
		r.recalled, r.interrupted = true, true
		r.conn.Interrupt()
	}
}

// beginWait is called by the reader goroutine before it waits for a line while its batch is empty.
func (r *readLease) beginWait() {
	r.mu.Lock()
	r.state = readerWaiting
	r.mu.Unlock()
}

// endWait is called by the reader goroutine after its wait. gone reports whether another goroutine
// received the lease.
func (r *readLease) endWait(interrupted bool) (gone bool) {
	r.mu.Lock()
	asked := r.requested
	gone = asked && interrupted
	r.requested = false
	if asked || interrupted {
		r.conn.Resume()
	}
	r.state = readerBusy
	if gone {
		r.startReading()
	}
	r.mu.Unlock()
	if asked {
		r.granted <- gone
	}
	return gone
}

// awaitReturn is called by the reader goroutine. It waits until the lease is returned.
func (r *readLease) awaitReturn() {
	t := time.NewTimer(maxIdleLease)
	defer t.Stop()
	for seen := 0; ; {
		over := false
		select {
		case <-r.returned:
		case <-t.C:
			over = true
		}
		r.mu.Lock()
		if over && r.state == leaseHeld && r.uses == seen {
			r.state = readerBusy
		}
		if r.state == readerBusy {
			r.mu.Unlock()
			return
		}
		seen = r.uses
		if r.readerWatches = r.state == leaseReading; !r.readerWatches {
			t.Reset(maxIdleLease)
		}
		r.mu.Unlock()
	}
}

// noteBatch records the size of a delivered batch.
func (r *readLease) noteBatch(b *batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(b.msgs) >= floodMessages || b.size >= floodBytes {
		r.flood = floodCooldown
	} else if r.flood > 0 {
		r.flood--
	}
}
