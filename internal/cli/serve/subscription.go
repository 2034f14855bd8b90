package serve

// subscription is the subscription of a client to the events of a session.
type subscription struct {
	s    *session
	c    *client
	next int64 // number of the next event to send
}

// catchBatch is the maximum number of events that are read from the log at once.
const catchBatch = 256

// offer adds an event to the client's outbox if it is the next event and the outbox is not full.
// Otherwise the client receives the event later from the session's log. The caller holds the
// session's lock.
func (x *subscription) offer(number int64, text []byte) {
	x.c.out.mu.Lock()
	defer x.c.out.mu.Unlock()
	if x.next == number && !x.c.out.full() {
		x.c.out.add(outgoing{text: text})
		x.next++
		return
	}
	x.c.hasBacklog.Store(true)
}

// catchUp adds the missing events from the session's log to the client's outbox, until the outbox
// is full.
func (x *subscription) catchUp() {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	for x.s.subs[x.c] == x && x.next <= x.s.log.last() {
		from, to, events, last := x.s.log.after(x.next-1, catchBatch)
		x.c.out.mu.Lock()
		if to > 0 && !x.c.out.full() {
			x.c.out.add(outgoing{text: notification("session/event", gap(x.s.id, from, to))})
			x.next = to + 1
		}
		for _, e := range events {
			if x.c.out.full() {
				break
			}
			x.c.out.add(outgoing{text: notification("session/event", e)})
			x.next++
		}
		x.c.out.mu.Unlock()
		if x.next <= last {
			x.c.hasBacklog.Store(true) // the outbox is full
			return
		}
	}
}

// catchUp adds the missing events of all sessions to the client's outbox.
func (c *client) catchUp() {
	if !c.hasBacklog.Swap(false) {
		return
	}
	c.mu.Lock()
	all := make([]*subscription, 0, len(c.subs))
	for _, x := range c.subs {
		all = append(all, x)
	}
	c.mu.Unlock()
	for _, x := range all {
		x.catchUp()
	}
}

// subscribe subscribes c to the events after number after. If answers is true, c also answers the
// session's emits.
func (s *session) subscribe(c *client, after int64, answers bool) {
	s.mu.Lock()
	x := &subscription{s, c, max(0, after) + 1}
	s.subs[c] = x
	if answers {
		s.askers = append(without(s.askers, c), c)
	}
	s.mu.Unlock()
	c.mu.Lock()
	c.subs[s] = x
	c.mu.Unlock()
	x.catchUp()
}

// unsubscribe ends the subscription. It returns the number of the last event that was sent to the
// client.
func (s *session) unsubscribe(c *client) (cursor int64) {
	s.mu.Lock()
	if x := s.subs[c]; x != nil {
		cursor = x.next - 1
	}
	delete(s.subs, c)
	s.askers = without(s.askers, c)
	s.mu.Unlock()
	c.mu.Lock()
	delete(c.subs, s)
	c.mu.Unlock()
	return cursor
}

// without returns a copy of list without c.
func without(list []*client, c *client) []*client {
	var out []*client
	for _, x := range list {
		if x != c {
			out = append(out, x)
		}
	}
	return out
}
