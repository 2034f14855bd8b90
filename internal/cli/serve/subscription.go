package serve

// subscription is the subscription of a client to the events of a session.
type subscription struct {
	s    *session
	c    *client
	next int64 // the number of its next event
}

// catchBatch is the number of events that are read at once.
const catchBatch = 256

// offer sends the client an event if it is the next one and there is room. Otherwise the client
// receives it from the session's log when there is room. The caller holds the session's lock.
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

// catchUp sends the client the events that it has not received, while there is room.
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
			x.c.hasBacklog.Store(true) // there is no room
			return
		}
	}
}

// catchUp sends the client the events of all sessions that it has not received.
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

// subscribe sends the client the events of a session after a number, and then new ones.
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

// unsubscribe returns the number of the last event that was sent to the client.
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

// without returns list without c.
func without(list []*client, c *client) []*client {
	var out []*client
	for _, x := range list {
		if x != c {
			out = append(out, x)
		}
	}
	return out
}
