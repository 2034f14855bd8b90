package host

import (
	"time"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// How long a cancelled host may take to come to its terminal message.
const (
	drainTime   = 5 * time.Second        // when cancel_grace says nothing
	drainAtEnd  = 500 * time.Millisecond // when the run is ending
	plainReason = "cancelled"
)

func cancelLine(reason string) []byte {
	if reason == "" {
		reason = plainReason
	}
	o := jsonobject.New(hostmsg.Cancel)
	o.Text("reason", reason)
	return ndjson.Append(nil, o.End())
}

// cancel ends an exchange before its terminal message. A host that can be
// cancelled is told, and kept when it comes to its terminal message in time; any
// other process is ended. The host takes its next exchange after that.
func (ex *exchange) cancel(p *process, reason string) {
	defer ex.free()
	if !p.announced.cancels {
		p.retire(0)
		return
	}
	p.send(cancelLine(reason), true)
	if ex.drained() {
		p.rest(true)
		return
	}
	p.retire(0)
}

// drained waits until nothing more can come, and says whether the terminal
// message has.
func (ex *exchange) drained() bool {
	t := time.NewTimer(ex.pool.cfg.cancelGrace())
	defer t.Stop()
	closing := ex.pool.hosts.closing
	for {
		select {
		case <-ex.in.ended:
			return ex.in.why() == nil
		case <-t.C:
			return false
		case <-closing:
			closing = nil
			t.Reset(drainAtEnd)
		case <-ex.pool.hosts.kill:
			return false
		}
	}
}
