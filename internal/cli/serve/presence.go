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
	// ending is held while that happens: who comes back meanwhile is there after it, and
	// nothing of what it then does is taken away.
	ending sync.Mutex
}

// arrive notes that a client is there: it has a connection, or a request of its goes on.
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

// leave notes the end of what arrive noted. When nothing of a client is left, what waits
// for it stays open for a while, and its sessions go on as long as they say.
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

// forgettable says that nothing of the client is there any more.
func (c *client) forgettable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// goneFor ends all that has to do with a client that does not come back.
func (c *client) goneFor() {
	c.deaf()
	c.cancelAll(errGone)
}

// cancelAll cancels what the client has asked for.
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

// deaf says that the client answers no more: it ends what waits for it, and takes its
// tools away.
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

// again adds what was asked and is not in the outbox any more, for a client that has come
// back.
func (c *client) again() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.asked {
		if !c.out.holds(q.number) {
			q.number = c.out.Add(outgoing{text: q.text})
		}
	}
}
