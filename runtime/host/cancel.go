package host

import (
	"time"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// How long a cancelled host may take to send its terminal message.
const (
	defaultCancelGrace  = 5 * time.Second        // if cancel_grace is not set
	closingCancelGrace  = 500 * time.Millisecond // while the run is ending
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

// cancelHost cancels an exchange before its terminal message and then releases its slot. A host
// that supports cancellation receives a cancel message, and its process stays in the pool if it
// sends its terminal message in time. Any other process is stopped.
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

// awaitTerminal waits until no further message can come, and reports whether the terminal message
// has come.
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
