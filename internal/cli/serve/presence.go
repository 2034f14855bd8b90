package serve

import (
	"context"
	"sync"
	"time"
)

// presence is whether a client is there.
type presence struct {
	present int           // connections and requests
	gone    bool          // for longer than the grace
	leaving []*time.Timer // what happens when it stays away
	// ending is held during goneFor: a client that reconnects in the meantime is present
	// afterwards, and none of its later actions are undone.
	ending sync.Mutex
}

// arrive records that a client is present: it has a connection, or a running request.
func (c *client) arrive() {
	c.ending.Lock()
	defer c.ending.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present++
	for _, t := range c.leaving {
		t.Stop()
	}
	c.leaving, c.gone = nil, false
}

// leave is the inverse of arrive. When a client is no longer present, requests to it stay open for
// a while, and its sessions continue as configured.
func (c *client) leave(after time.Duration) {
	sessions := c.srv.sessionsOf(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.present--; c.present > 0 {
		return
	}
	c.away(after, c.goneFor)
	for _, s := range sessions {
		if s.linger != nil {
			c.away(*s.linger, func() { s.cancel(errGone.Error()) })
		}
	}
}

// away does something once the client has been away for so long. The caller holds the
// lock.
func (c *client) away(after time.Duration, do func()) {
	t := time.AfterFunc(after, func() {
		c.ending.Lock()
		defer c.ending.Unlock()
		c.mu.Lock()
		away := c.present == 0
		c.mu.Unlock()
		if away {
			do()
		}
	})
	c.leaving = append(c.leaving, t)
}

// forgettable reports whether nothing of the client is left.
func (c *client) forgettable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// goneFor ends everything of a client that does not reconnect.
func (c *client) goneFor() {
	c.deaf()
	c.cancelAll(errGone)
}

// cancelAll cancels the client's requests.
func (c *client) cancelAll(why error) {
	c.mu.Lock()
	var working []context.CancelCauseFunc
	for _, cancel := range c.working {
		working = append(working, cancel)
	}
	c.mu.Unlock()
	for _, cancel := range working {
		cancel(why)
	}
}

// deaf handles a client that no longer answers: it ends the requests to it, and removes its tools.
func (c *client) deaf() {
	c.mu.Lock()
	c.gone = true
	asked := c.asked
	c.asked = map[string]*question{}
	c.mu.Unlock()
	for id, q := range asked {
		q.answer <- answer{err: errGone}
		c.withdraw(id, errGone)
	}
	c.srv.config.Tools.As(c.owner()).Clear()
	c.srv.changed(c)
}

// again adds the open questions that are no longer in the outbox, for a client that has
// reconnected.
func (c *client) again() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.asked {
		if !c.out.holds(q.number) {
			q.number = c.out.Add(outgoing{text: q.text})
		}
	}
}
