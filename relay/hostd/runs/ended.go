package runs

import (
	"os"
	"time"
)

// Limits on the ended runs that remain listed and whose files remain, once the server has all their
// events. Runs beyond the limits are removed from the machine; the server still has their events.
const (
	MaxEnded       = 100
	EndedRetention = 24 * time.Hour
)

// endedRun is a run that has ended.
type endedRun struct {
	*run
	expired bool // EndedRetention has passed since the end
	stop    func() bool
}

// addEnded is called when the end of a run is committed.
func (m *Manager) addEnded(r *run) {
	g := &endedRun{run: r}
	m.mu.Lock()
	m.ended = append(m.ended, g)
	m.mu.Unlock()
	m.removeExpired()
	m.scheduleExpiry(g)
}

// scheduleExpiry marks a run as expired after EndedRetention, and removes it. If the run cannot be
// removed yet, it tries again later.
func (m *Manager) scheduleExpiry(g *endedRun) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return
	}
	g.stop = m.o.After(EndedRetention, func() {
		m.mu.Lock()
		g.expired = true
		m.mu.Unlock()
		m.removeExpired()
		if m.Has(g.id) {
			m.scheduleExpiry(g)
		}
	})
}

// stopTimers stops the expiry timers.
func (m *Manager) stopTimers() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.ended {
		if g.stop != nil {
			g.stop()
		}
	}
}

// removeExpired removes expired runs and their directories.
func (m *Manager) removeExpired() {
	for _, g := range m.takeExpired() {
		g.stop()
		m.o.Approvals.Forget(g.id)
		if err := os.RemoveAll(g.dir); err != nil {
			m.o.Log.Error("could not remove the files of a run", "run", g.id, "error", err)
		}
	}
}

// takeExpired removes the runs from the list that are expired or beyond the limit, and returns
// them.
func (m *Manager) takeExpired() (out []*endedRun) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return nil
	}
	over := len(m.ended) - m.o.MaxEnded
	var left []*endedRun
	for _, g := range m.ended {
		if (over > 0 || g.expired) && g.stop != nil && g.isRemovable() {
			over--
			delete(m.runs, g.id)
			out = append(out, g)
		} else {
			left = append(left, g)
		}
	}
	m.ended = left
	return out
}

// isRemovable reports whether the run has no followers and the server has all its events. Without a
// server, only the followers matter.
func (g *endedRun) isRemovable() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	stored, ok := g.m.o.Spool.Run(g.id)
	return g.followers == 0 && (g.m.o.NoServer || !ok || stored.Ended && stored.Acked >= stored.Last)
}
