package serve

import "context"

// arrive notes that a client is there: it has a connection, or a request of its goes on.
func (c *client) arrive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present++
	c.gone = false
}

// forgettable says that nothing of the client is there any more.
func (c *client) forgettable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
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
