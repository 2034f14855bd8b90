package host

import (
	"sync"
	"time"
)

// role decides who reads what a process says. At first, and whenever nobody waits
// for its messages, that is its reader goroutine. Who waits for them
// (exchange.next) takes the role and reads them itself: to be woken by another
// goroutine takes longer than all the rest of a short message. In a flood it is
// the reader's again, so that reading and handling go on beside each other.
type role struct {
	conn Conn

	mu    sync.Mutex
	held  holding
	asked bool // one waits for it, and the reader has been interrupted
	woken bool // the borrower has been interrupted
	due   bool // the borrower is to give it back
	watch bool // the reader wants to hear when the borrower leaves off reading
	uses  int  // by borrowers, so far
	flood int  // so many small batches in a row make it no flood any more

	given chan bool     // the reader's answer to the one who asked
	back  chan struct{} // for the reader: the role has come back, or watch
}

// holding says who has the role, and what for.
type holding uint8

const (
	works    holding = iota // the reader, which is busy
	idles                   // the reader, which waits for a line and has none in hand
	lent                    // a borrower, who does not read at present
	borrowed                // a borrower, who reads
)

const (
	// lease is how long a borrower may go without reading: longer, and the reader
	// takes the role back. What the host asks of its adapter is then answered, and
	// its end seen, whatever the borrower does.
	lease = 250 * time.Millisecond
	// A batch of so much is one of a flood, which is over after so many small ones.
	floodMessages = 16
	floodBytes    = 32 << 10
	floodSettles  = 3
)

// of makes it the role of who reads c.
func (r *role) of(c Conn) { r.conn, r.given, r.back = c, make(chan bool), make(chan struct{}, 1) }

// borrow takes the role from the reader, or takes it up again. It gives false when the
// reader has something in hand, or should go on.
func (r *role) borrow() bool {
	r.mu.Lock()
	switch {
	case r.held == lent:
		r.use()
		r.mu.Unlock()
		return true
	case r.held == idles && r.flood == 0 && !r.asked:
		r.asked = true
		r.conn.Interrupt()
		r.mu.Unlock()
		return <-r.given
	}
	r.mu.Unlock()
	return false
}

func (r *role) use() {
	r.held = borrowed
	r.uses++
}

// leave ends a borrower's reading. It keeps the role, unless it is wanted back.
func (r *role) leave(keep bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.woken {
		r.woken = false
		r.conn.Resume()
	}
	if r.due || !keep || r.flood > 0 {
		r.giveBack()
		return
	}
	r.held = lent
	if r.watch {
		r.watch = false
		signal(r.back)
	}
}

func (r *role) giveBack() {
	r.held, r.due, r.watch = works, false, false
	signal(r.back)
}

// wake interrupts a borrower that reads.
func (r *role) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == borrowed {
		r.woken = true
		r.conn.Interrupt()
	}
}

// reclaim has the role go back to the reader: at once, or as soon as the borrower
// has left off reading, which is interrupted.
func (r *role) reclaim() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.held {
	case lent:
		r.giveBack()
	case borrowed:
		r.due, r.woken = true, true
		r.conn.Interrupt()
	}
}

// idle is the reader's: it will wait for a line, and has none in hand.
func (r *role) idle() {
	r.mu.Lock()
	r.held = idles
	r.mu.Unlock()
}

// busy is the reader's: its waiting has ended, interrupted or with a line. It
// gives true when the role has gone to the one who asked for it.
func (r *role) busy(interrupted bool) (gone bool) {
	r.mu.Lock()
	asked := r.asked
	gone = asked && interrupted
	r.asked = false
	if asked || interrupted {
		r.conn.Resume()
	}
	r.held = works
	if gone {
		r.use()
	}
	r.mu.Unlock()
	if asked {
		r.given <- gone
	}
	return gone
}

// await is the reader's: it waits until the role has come back.
func (r *role) await() {
	t := time.NewTimer(lease)
	defer t.Stop()
	for seen := 0; ; {
		over := false
		select {
		case <-r.back:
		case <-t.C:
			over = true
		}
		r.mu.Lock()
		if over && r.held == lent && r.uses == seen {
			r.held = works
		}
		if r.held == works {
			r.mu.Unlock()
			return
		}
		seen = r.uses
		if r.watch = r.held == borrowed; !r.watch {
			t.Reset(lease)
		}
		r.mu.Unlock()
	}
}

// handed takes note of how much was handed on at once.
func (r *role) handed(b *batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(b.msgs) >= floodMessages || b.size >= floodBytes {
		r.flood = floodSettles
	} else if r.flood > 0 {
		r.flood--
	}
}
