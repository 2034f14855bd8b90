package runs

import (
	"os"
	"time"
)

// Of runs that have ended, and of which the server has all, so many are kept, so long: they are
// listed and followed, and their files read. Of older ones the server has the events, and there is
// nothing else.
const (
	MostEnded = 100
	KeptFor   = 24 * time.Hour
)

// gone is a run that has ended.
type gone struct {
	*run
	old  bool // its time is over
	stop func() bool
}

// over notes that a run's end is told.
func (m *Manager) over(r *run) {
	g := &gone{run: r}
	m.mu.Lock()
	m.gone = append(m.gone, g)
	m.mu.Unlock()
	m.sweep()
	m.age(g)
}

// age has a run be old after its time, and looked at again when it cannot be forgotten then.
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

// rest ends waiting for runs to be old.
func (m *Manager) rest() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.gone {
		if g.stop != nil {
			g.stop()
		}
	}
}

// sweep forgets runs, with their directories.
func (m *Manager) sweep() {
	for _, g := range m.dropped() {
		g.stop()
		m.o.Desk.Forget(g.id)
		if err := os.RemoveAll(g.dir); err != nil {
			m.o.Log.Error("what a run has left cannot be removed", "run", g.id, "error", err)
		}
	}
}

// dropped takes those out that are too old, or too many.
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

// told says whether the server has all of a run, or none is there to have it, and nobody follows it.
func (g *gone) told() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	known, ok := g.m.o.Spool.Run(g.id)
	return g.followers == 0 && (g.m.o.Alone || !ok || known.Ended && known.Acked >= known.Last)
}
