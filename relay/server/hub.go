package server

import (
	"cmp"
	"container/list"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

const (
	ringEvents = 256       // maximum number of latest events of a run in memory
	ringBytes  = 512 << 10 // maximum size of their frames in bytes
	ringRuns   = 512       // maximum number of runs with a ring
)

// entry is an event in the form in which apps receive it.
type entry struct {
	run   string
	seq   int64
	typ   string
	frame []byte
}

// ring holds the latest events of a run. Their sequence numbers are greater than from and at most
// to.
type ring struct {
	run      string
	from, to int64
	all      []entry
	size     int
}

// hub notifies followers of new events and holds the latest events of runs in memory.
type hub struct {
	mu    sync.Mutex
	rings map[string]*list.Element // the elements of used by run; each value is a *ring
	used  *list.List               // rings, the most recently used first
	rest  map[*follower]struct{}   // followers that follow runs without naming them
	named map[string]map[*follower]struct{}
	// states holds the prefixes up to which followers were notified, by run. It is needed if
	// several servers write runs, because notifications of other servers and commits of this server
	// may arrive in any order. It is nil if this is the only server.
	states map[string]runState
}

// runState describes what followers of a run were notified of.
type runState struct {
	prefix int64
	exited bool // a check has found that the run has ended
}

func newHub(shared bool) *hub {
	h := &hub{rings: map[string]*list.Element{}, used: list.New(), rest: map[*follower]struct{}{}, named: map[string]map[*follower]struct{}{}}
	if shared {
		h.states = map[string]runState{}
	}
	return h
}

// prefix returns the prefix of a run up to which followers were notified.
func (h *hub) prefix(run string) (prefix int64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k, ok := h.states[run]
	return k.prefix, ok
}

// setExited records from a check whether a run has ended.
func (h *hub) setExited(c store.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k, ok := h.states[c.Run]; ok {
		k.exited = c.Exited
		h.states[c.Run] = k
	}
}

// endedRuns returns the prefixes of the ended runs in states that no follower names.
func (h *hub) endedRuns() map[string]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]int64{}
	for run, k := range h.states {
		if k.exited && len(h.named[run]) == 0 {
			all[run] = k.prefix
		}
	}
	return all
}

// forgetStates removes runs from states. It retains runs whose prefix differs from the given one,
// because they have new events, and runs that a follower names.
func (h *hub) forgetStates(prefixes map[string]int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for run, prefix := range prefixes {
		if h.states[run].prefix == prefix && len(h.named[run]) == 0 {
			delete(h.states, run)
			h.forget(run)
		}
	}
}

// publishNext is like publish, for commits of this server. ok is false if followers were not yet
// notified of the events up to before.
func (h *hub) publishNext(run string, before, after int64, events []entry) (follow []*follower, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.states[run]; before > 0 && h.states != nil && !ok {
		return nil, false
	}
	return h.publishLocked(run, before, after, events), true
}

// publish records that a run's prefix has grown and returns the run's followers. The caller wakes
// them after it has acknowledged the events to the machine. events is nil, or contains all events
// after before up to after.
func (h *hub) publish(run string, before, after int64, events []entry) (follow []*follower) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.publishLocked(run, before, after, events)
}

// publishLocked implements publish. The caller holds mu.
func (h *hub) publishLocked(run string, before, after int64, events []entry) (follow []*follower) {
	if h.states != nil {
		k, ok := h.states[run]
		if ok && after <= k.prefix {
			return nil
		} else if ok && k.prefix != before {
			before, events = k.prefix, nil
		}
		h.states[run] = runState{after, k.exited}
	}
	for f := range h.rest {
		if f.announce(run, before) {
			follow = append(follow, f)
		}
	}
	for f := range h.named[run] {
		if _, twice := h.rest[f]; !twice && f.announce(run, before) {
			follow = append(follow, f)
		}
	}
	switch {
	case len(follow) == 0 || events == nil:
		h.forget(run)
	default:
		h.addToRing(run, before, after, events)
	}
	return follow
}

// live queues an event without a sequence number for the run's followers.
func (h *hub) live(run, typ string, frame []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for f := range h.rest {
		f.queueLive(run, typ, frame)
	}
	for f := range h.named[run] {
		if _, twice := h.rest[f]; !twice {
			f.queueLive(run, typ, frame)
		}
	}
}

func (h *hub) forget(run string) {
	if at := h.rings[run]; at != nil {
		h.used.Remove(at)
		delete(h.rings, run)
	}
}

// addToRing adds events to the ring of a run.
func (h *hub) addToRing(run string, before, after int64, events []entry) {
	at := h.rings[run]
	if at == nil {
		at = h.used.PushFront(&ring{run: run, from: before, to: before})
		h.rings[run] = at
	}
	h.used.MoveToFront(at)
	r := at.Value.(*ring)
	if r.to != before {
		*r = ring{run: run, from: before}
	}
	for _, e := range events {
		r.all, r.size = append(r.all, e), r.size+len(e.frame)
	}
	r.to = after
	drop := 0
	for len(r.all)-drop > ringEvents || r.size > ringBytes && drop < len(r.all) {
		r.from, r.size = r.all[drop].seq, r.size-len(r.all[drop].frame)
		drop++
	}
	r.all = slices.Delete(r.all, 0, drop)
	if len(h.rings) > ringRuns {
		last := h.used.Back()
		h.forget(last.Value.(*ring).run)
	}
}

// recent returns the events of a run after a sequence number. ok is false if they are not all in
// memory, and the caller must read them from the store.
func (h *hub) recent(run string, after int64) (all []entry, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.rings[run]
	if at == nil {
		return nil, false
	}
	r := at.Value.(*ring)
	if after < r.from || after > r.to {
		return nil, false
	}
	i, _ := slices.BinarySearchFunc(r.all, after+1, func(e entry, seq int64) int { return cmp.Compare(e.seq, seq) })
	return slices.Clone(r.all[i:]), true
}

// handleCommit updates the hub after a commit. It returns a function that wakes the followers; the
// writer calls it after it has acknowledged the events to the machines.
func (s *Server) handleCommit(all []store.Incoming, out *store.Appended) (then func()) {
	var follow []*follower
	for run, after := range out.Prefixes {
		before := out.Before[run]
		if after <= before {
			continue
		}
		some, ok := s.hub.publishNext(run, before, after, newEntries(run, before, after, all, out))
		if follow = append(follow, some...); !ok {
			s.peers.schedule(checkRuns)
		}
		s.peers.publishGrown(run, after)
	}
	settled := out.Settled
	return func() {
		for _, f := range follow {
			f.kick()
		}
		for i := range settled {
			s.notifyState(&settled[i].Command, string(settled[i].Why))
		}
		s.calls.observe(s, all)
		s.notifyWatcher(all, out)
	}
}

// newEntries returns the events of a run in a batch. It returns nil unless the batch contains all
// events of the run after before up to after.
func newEntries(run string, before, after int64, all []store.Incoming, out *store.Appended) (events []entry) {
	next := before + 1
	for i := range all {
		e := all[i].Envelope
		if e.RunID != run || out.Outcomes[i] != (store.Outcome{}) || e.Seq != next || e.Type == protocol.RunGap {
			continue
		}
		shown := *e
		shown.MachineID = all[i].MachineID
		events = append(events, entry{run, e.Seq, e.Type, shown.Append(nil)})
		next++
	}
	if next != after+1 {
		return nil
	}
	return events
}
