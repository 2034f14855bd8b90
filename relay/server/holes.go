package server

import (
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// holes tracks missing events of a machine that does not report gaps itself. If an event stays
// missing for HoleTimeout, the server writes a gap in its place, so that followers receive the
// later events.
type holes struct {
	mu sync.Mutex
	of map[string]*hole
}

type hole struct {
	prefix, end int64 // the events prefix+1 to end are missing
	since       time.Time
	filling     bool
}

// find finds the missing events from earlier connections of the machine.
func (hs *holes) find(h *machine) {
	all, err := h.srv.store.Holes(h.srv.ctx, h.id, "")
	if err != nil {
		h.srv.failed(err, protocol.Internal)
		return
	}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for _, one := range all {
		hs.of[one.Run] = &hole{prefix: one.From - 1, end: one.To, since: h.srv.clock.Now()}
	}
}

// stored updates the hole of a run after an event was stored. prefix is the run's new prefix.
func (hs *holes) stored(h *machine, e *protocol.Envelope, prefix int64) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	one := hs.of[e.RunID]
	switch now := h.srv.clock.Now(); {
	case one == nil && e.Seq > prefix:
		hs.of[e.RunID] = &hole{prefix: prefix, end: e.Seq - 1, since: now}
	case one == nil:
	case prefix > one.prefix: // some or all missing events have arrived
		delete(hs.of, e.RunID)
		if e.Seq > prefix {
			hs.of[e.RunID] = &hole{prefix: prefix, end: e.Seq - 1, since: now}
		} else {
			hs.of[e.RunID] = &hole{prefix: prefix, end: one.end, since: now}
		}
	case e.Seq <= one.end:
		one.end, one.since = e.Seq-1, now
	}
}

// sweep writes gaps for holes that are older than HoleTimeout.
func (hs *holes) sweep(h *machine, now time.Time) {
	hs.mu.Lock()
	var old []string
	for run, one := range hs.of {
		if !one.filling && now.Sub(one.since) >= protocol.HoleTimeout {
			one.filling = true
			old = append(old, run)
		}
	}
	hs.mu.Unlock()
	for _, run := range old {
		hs.fill(h, run)
	}
}

// fill writes a gap for a hole if its events are still missing.
func (hs *holes) fill(h *machine, run string) {
	all, err := h.srv.store.Holes(h.srv.ctx, h.id, run)
	if err != nil {
		h.srv.failed(err, protocol.Internal)
	}
	hs.mu.Lock()
	delete(hs.of, run)
	hs.mu.Unlock()
	if len(all) == 0 {
		return
	}
	e := protocol.New(protocol.RunGap, h.srv.clock.Now(), protocol.Gap{From: all[0].From, To: all[0].To, Reason: store.MachineSkipped})
	e.MachineID, e.RunID, e.Seq = h.id, run, all[0].To
	in := store.Incoming{MachineID: h.id, Gen: h.life.generation(), Envelope: &e, At: h.srv.now()}
	h.srv.writer.Write(h.srv.ctx, in, func(w store.Written) {
		if w.Err == nil && w.Refused == "" && !w.Stale {
			h.recheck(run, h.srv.clock.Now())
			h.acks.stored(h, run, w.Prefix)
		}
	})
}

// recheck searches for the next hole of a run after a gap is written.
func (h *machine) recheck(run string, since time.Time) {
	h.srv.work.Go(func() {
		all, err := h.srv.store.Holes(h.srv.ctx, h.id, run)
		if err != nil || len(all) == 0 {
			return
		}
		h.holes.mu.Lock()
		defer h.holes.mu.Unlock()
		if h.holes.of[run] == nil {
			h.holes.of[run] = &hole{prefix: all[0].From - 1, end: all[0].To, since: since}
		}
	})
}
