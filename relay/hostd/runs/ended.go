package runs

import (
	"os"
	"time"
)

// Limits on the ended runs that stay listed with their files, once the server has all their events.
// Older ones are removed; the server still has their events.
const (
	MostEnded = 100
	KeptFor   = 24 * time.Hour
)

// endedRun is a run that has ended.
type gone struct {
	*run
	old  bool // EndedRetention has passed
	stop func() bool
}

// addEnded records that a run's end is committed.
func (m *Manager) over(r *run) {
	g := &gone{run: r}
	m.mu.Lock()
	m.gone = append(m.gone, g)
	m.mu.Unlock()
	m.sweep()
	m.age(g)
}

// scheduleExpiry marks the run as expired after EndedRetention, and repeats while it cannot be
// removed.
func (m *Manager) age(g *gone) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return
	}
	g.stop = m.o.After(KeptFor, func() {
		m.mu.Lock()
		g.old = true
		m.mu.Unlock()
		m.sweep()
		if m.Has(g.id) {
			m.age(g)
		}
	})
}

// stopTimers stops the expiry timers.
func (m *Manager) rest() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.gone {
		if g.stop != nil {
			g.stop()
		}
	}
}

// removeExpired removes expired runs and their directories.
func (m *Manager) sweep() {
	for _, g := range m.dropped() {
		g.stop()
		m.o.Desk.Forget(g.id)
		if err := os.RemoveAll(g.dir); err != nil {
			m.o.Log.Error("what a run has left cannot be removed", "run", g.id, "error", err)
		}
	}
}

// takeExpired removes and returns the runs that are expired or exceed the limit.
func (m *Manager) dropped() (out []*gone) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return nil
	}
	over := len(m.gone) - m.o.Ended
	var left []*gone
	for _, g := range m.gone {
		if (over > 0 || g.old) && g.stop != nil && g.told() {
			over--
			delete(m.runs, g.id)
			out = append(out, g)
		} else {
			left = append(left, g)
		}
	}
	m.gone = left
	return out
}

// isRemovable reports whether nobody follows the run and the server has all its events, or there is
// no server.
func (g *gone) told() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	known, ok := g.m.o.Spool.Run(g.id)
	return g.followers == 0 && (g.m.o.Alone || !ok || known.Ended && known.Acked >= known.Last)
}
