package vm

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// A handler may ask the host whose exchange it serves. When all processes of
// that host are in such exchanges, the handler's own exchange would queue
// behind them while they wait for the handler's answer. Such a handler gets an
// error at once, instead of one when the exchanges time out.

// waitsForItself says whether each process of the host of s is in an exchange
// whose handler waits for s. Such exchanges belong to the task of s and to the
// tasks that await it.
func (s *scope) waitsForItself() bool {
	return s.decl.takenBy(s.t)
}

// takenBy says whether each process of the host is in an exchange that waits for
// the task.
func (d *Host) takenBy(t *task) bool { return d.heldBy(t, map[*task]bool{}) >= max(d.Instances, 1) }

// heldBy counts the exchanges with the host that t holds, or one who awaits t.
func (d *Host) heldBy(t *task, seen map[*task]bool) int {
	if seen[t] {
		return 0
	}
	seen[t] = true
	n := 0
	for _, o := range t.scopes {
		if o.decl == d {
			n++
		}
	}
	for _, x := range t.m.holdings[t] {
		if o := t.m.hostStreams.held(x); o != nil && o.decl == d {
			n++
		}
	}
	if t.group != nil {
		n += d.heldBy(t.group.t, seen)
	}
	for _, w := range t.watch {
		n += d.heldBy(w.waiter(), seen)
	}
	return n
}

func (s *scope) busy() value.Slot { return value.Err(programError(s.decl.busy())) }

func (d *Host) busy() *effect.Error {
	return effect.Errorf("HostError",
		"host '%s' is busy with the exchange whose handler asks it; ask another host, or allow more processes: instances = %d in [hosts.%s]",
		d.Name, max(d.Instances, 1)+1, d.Connector).With("host", d.Name)
}

// nowAwaited checks again, now that somebody awaits t, the exchanges that t and
// the tasks it waits for have asked for. It does nothing while no exchange is
// being opened: in a chain of tasks that each await the one before, it would
// otherwise go through the whole chain for each task.
func (t *task) nowAwaited() {
	w := t.wait
	if w == nil || t.m.opening == 0 {
		return
	}
	switch w.kind {
	case waitTask:
		w.task.nowAwaited()
	case waitGroup:
		for _, y := range w.group.members() {
			y.nowAwaited()
		}
	case waitOpen:
		if !w.refused && w.flight != nil && w.scope.waitsForItself() {
			w.refused = true
			w.flight.quit()
		}
	}
}
