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
	ringEvents = 256       // latest events of a run held in memory
	ringBytes  = 512 << 10 // bytes of their frames
	ringRuns   = 512       // runs with a ring; the least recently used lose theirs
)

// entry is an event in the form for apps.
type entry struct {
	run   string
	seq   int64
	typ   string
	frame []byte
}

// ring holds the latest events of a run: those after from, up to to.
type ring struct {
	run      string
	from, to int64
	all      []entry
	size     int
}

// hub notifies followers of new events and holds the latest events in memory.
type hub struct {
	mu    sync.Mutex
	rings map[string]*list.Element // of *ring
	used  *list.List               // most recently used first
	rest  map[*follower]struct{}   // followers of runs that they have not named
	named map[string]map[*follower]struct{}
	// states holds the prefixes that followers were notified of, if several servers write runs,
	// because notifications and own commits may arrive in any order. Otherwise nil.
	states map[string]runState
}

// runState is the state of a run that followers were notified of.
type runState struct {
	prefix int64
	exited bool // a check found that the run has ended
}

func newHub(shared bool) *hub {
	h := &hub{rings: map[string]*list.Element{}, used: list.New(), rest: map[*follower]struct{}{}, named: map[string]map[*follower]struct{}{}}
	if shared {
		h.states = map[string]runState{}
	}
	return h
}

// prefix returns the prefix of a run that followers were notified of.
func (h *hub) prefix(run string) (prefix int64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k, ok := h.states[run]
	return k.prefix, ok
}

// setExited records whether a checked run has ended.
func (h *hub) setExited(c store.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k, ok := h.states[c.Run]; ok {
		k.exited = c.Exited
		h.states[c.Run] = k
	}
}

// endedRuns returns the prefixes of known ended runs that no follower has named.
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

// forgetStates forgets those of these runs that have no new events and that no follower has named.
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

// publishNext is like publish for this server's own commits. ok is false if followers were not
// notified of the preceding events.
func (h *hub) publishNext(run string, before, after int64, events []entry) (follow []*follower, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.states[run]; before > 0 && h.states != nil && !ok {
		return nil, false
	}
	return h.publishLocked(run, before, after, events), true
}

// publish records that a run's prefix has grown and returns the run's followers, to be woken after
// the host's acknowledgement. events must be all events between the two prefixes, or nil.
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

// live sends an event without a sequence number to the run's followers.
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

// addToRing adds events to a run's ring.
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

// recent returns a run's events after a sequence number; ok is false if they must be read from the
// store.
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

// handleCommit updates the hub after a commit. The writer notifies the hosts, and then calls the
// returned function, which notifies the apps.
func (s *Server) handleCommit(all []store.Incoming, out *store.Appended) (then func()) {
	var follow []*follower
	for run, after := range out.Prefixes {
		before := out.Before[run]
		if after <= before {
			continue
		}
		some, ok := s.hub.publishNext(run, before, after, newEntries(run, before, after, all, out))
		if follow = append(follow, some...); !ok {
			s.others.schedule(checkRuns)
		}
		s.others.publishGrown(run, after)
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

// newEntries returns a batch's events of a run if they are all events between two prefixes,
// otherwise nil.
func newEntries(run string, before, after int64, all []store.Incoming, out *store.Appended) (events []entry) {
	next := before + 1
	for i := range all {
		e := all[i].Envelope
		if e.RunID != run || out.Outcomes[i] != (store.Outcome{}) || e.Seq != next || e.Type == protocol.RunGap {
			continue
		}
		shown := *e
		shown.HostID = all[i].HostID
		events = append(events, entry{run, e.Seq, e.Type, shown.Append(nil)})
		next++
	}
	if next != after+1 {
		return nil
	}
	return events
}
