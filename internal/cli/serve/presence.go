package serve

import (
	"context"
	"sync"
	"time"
)

// presence records whether a client is connected.
type presence struct {
	present int           // number of connections and requests
	expired bool          // absent for longer than the grace period
	leaving []*time.Timer // actions for a client that does not reconnect
	// ending is locked during expire: a client that reconnects in the meantime is present
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
	c.leaving, c.expired = nil, false
}

// leave reverts arrive. While a client is not present, requests to it remain open for a while, and
// its sessions continue as configured.
func (c *client) leave(after time.Duration) {
	sessions := c.srv.sessionsOf(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.present--; c.present > 0 {
		return
	}
	c.away(after, c.expire)
	for _, s := range sessions {
		if s.linger != nil {
			c.away(*s.linger, func() { s.cancel(errDisconnected.Error()) })
		}
	}
}

// away calls do after the client was absent for a time. The caller holds the lock.
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

// forgettable reports whether the client has no sessions, requests or tools.
func (c *client) forgettable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.expired
}

// expire ends everything of a client that does not reconnect.
func (c *client) expire() {
	c.dropUnresponsive()
	c.cancelAll(errDisconnected)
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

// dropUnresponsive ends the requests to a client that no longer answers, and removes its tools.
func (c *client) dropUnresponsive() {
	c.mu.Lock()
	c.expired = true
	asked := c.questions
	c.questions = map[string]*question{}
	c.mu.Unlock()
	for id, q := range asked {
		q.answer <- answer{err: errDisconnected}
		c.withdraw(id, errDisconnected)
	}
	c.srv.config.Tools.As(c.owner()).Clear()
	c.srv.changed(c)
}

// resendQuestions adds the open questions that are no longer in the outbox, for a client that has
// reconnected.
func (c *client) resendQuestions() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.questions {
		if !c.out.holds(q.number) {
			q.number = c.out.Add(outgoing{text: q.text})
		}
	}
}
