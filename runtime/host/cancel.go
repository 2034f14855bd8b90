package host

import (
	"time"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// Maximum times for a cancelled host to send its terminal message.
const (
	defaultCancelGrace  = 5 * time.Second        // default of cancel_grace
	closingCancelGrace  = 500 * time.Millisecond // while Close is running
	defaultCancelReason = "cancelled"
)

func cancelLine(reason string) []byte {
	if reason == "" {
		reason = defaultCancelReason
	}
	o := jsonobject.New(hostmsg.Cancel)
	o.Text("reason", reason)
	return ndjson.Append(nil, o.End())
}

// cancelHost cancels an exchange that has no terminal message, and then releases its slot. A host
// that supports cancellation receives a cancel message. If it sends its terminal message in time,
// its process stays in the pool. Any other process is stopped.
func (ex *exchange) cancelHost(p *process, reason string) {
	defer ex.releaseSlot()
	if !p.announced.cancels {
		p.retire(0)
		return
	}
	p.sendMessage(cancelLine(reason), true)
	if ex.awaitTerminal() {
		p.release(true)
		return
	}
	p.retire(0)
}

// cancelWithin ends the process during an exchange. A host that supports cancellation receives a
// cancel message and has patience to react.
func (p *process) cancelWithin(reason string, patience time.Duration) {
	if !p.announced.cancels {
		p.retire(0)
		return
	}
	p.sendMessage(cancelLine(reason), true)
	p.retire(patience)
}

// awaitTerminal waits until no further message can arrive, and reports whether the terminal message
// has arrived.
func (ex *exchange) awaitTerminal() bool {
	t := time.NewTimer(ex.pool.cfg.cancelGrace())
	defer t.Stop()
	closing := ex.pool.hosts.closing
	for {
		select {
		case <-ex.inbox.ended:
			return ex.inbox.failureError() == nil
		case <-t.C:
			return false
		case <-closing:
			closing = nil
			t.Reset(closingCancelGrace)
		case <-ex.pool.hosts.kill:
			return false
		}
	}
}
