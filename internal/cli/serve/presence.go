package serve

import (
	"context"
	"sync"
	"time"
)

// presence tracks whether a client is connected.
type presence struct {
	present int           // number of open connections and running requests
	expired bool          // the client was disconnected for longer than the grace period
	leaving []*time.Timer // timers of actions that run if the client does not reconnect
	// ending is locked while such an action runs. A client that reconnects at the same time is
	// registered only after the action, so that the action cannot affect the new connection.
	ending sync.Mutex
}

// arrive records a new connection or running request of the client, and stops the timers of
// leaving.
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

// leave reverts arrive. If the client has no other connection or request, leave starts timers.
// After the time after, requests to the client fail. Sessions are cancelled after their own time
// limit.
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

// away calls do if the client is still disconnected after the time after. The caller holds mu.
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

// forgettable reports whether the client has expired, so that it has no sessions, requests or
// tools.
func (c *client) forgettable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.expired
}

// expire ends the requests to and from a client that has not reconnected, and removes its tools.
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

// dropUnresponsive ends the requests to a client that no longer responds, and removes the client's
// tools.
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

// resendQuestions adds the open requests to a reconnected client to the outbox again, if the outbox
// no longer stores them.
func (c *client) resendQuestions() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.questions {
		if !c.out.holds(q.number) {
			q.number = c.out.Add(outgoing{text: q.text})
		}
	}
}
