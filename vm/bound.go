package vm

import (
	"math"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// A bound limits the duration of a race. It is an element of the race that runs no code. When its
// time expires, the race results in nil and cancels its members, including a member that is
// computing. (A member that sleeps could not do that: it continues only after the computing member
// yields.) The time begins when the other members first wait, or after they have computed for a
// while. A bound may also be a host's message that the members handle. Such a bound expires when
// the host withdraws the message.

// bound is either a number of milliseconds or a message.
type bound struct {
	ms  int64
	ask *ask // the message; nil if the bound is a time
}

// NewBound returns a bound of ms milliseconds, as an element of a race.
func NewBound(ms int64) value.Slot { return value.NewHandle("Task", "", bound{ms: max(ms, 0)}) }

// boundOf returns the bound that an element of a race represents.
func boundOf(v value.Slot) (b bound, ok bool) {
	if h := v.Handle(); h != nil {
		b, ok = h.Object.(bound)
	}
	return b, ok
}

// bounding is the time bound of a group.
type bounding struct {
	ms    int64
	place int             // index of the bound among the elements
	sleep *pendingRequest // nil before it begins and after it ends
}

// bind adds a bound to the group. If a group has several time bounds, the shortest applies.
func (g *group) bind(b bound, place int) {
	g.open--
	if b.ask != nil {
		g.bindAsk(b.ask, place)
		return
	}
	if g.bound == nil {
		g.bound = &bounding{ms: math.MaxInt64}
		g.t.m.requests.bounds.unbegun = append(g.t.m.requests.bounds.unbegun, g)
	}
	if b.ms < g.bound.ms {
		g.bound.ms, g.bound.place = b.ms, place
	}
}

// bindAsk makes the message k a bound of the group: the race ends when k no longer needs an answer.
func (g *group) bindAsk(k *ask, place int) {
	if k.answered != "" {
		g.decided, g.winner = true, place
		return
	}
	g.ask, k.work = k, work{g, place}
	g.t.m.requests.bounds.running++
}

// work is the race that computes the answer to a message.
type work struct {
	group *group // nil if there is no such race
	place int    // index of the message among the group's elements
}

// end cancels the race, because the message no longer needs an answer.
func (w *work) end() {
	g := w.group
	if g == nil {
		return
	}
	w.detach()
	if !g.decided {
		g.decided, g.winner = true, w.place
		g.cancel()
	}
}

// detach detaches the message from the race.
func (w *work) detach() {
	w.group.t.m.requests.bounds.running--
	w.group.ask, w.group = nil, nil
}

// bounds are the bounds of all races of a run.
type bounds struct {
	unbegun []*group // groups whose time bound has not started
	running int      // number of bounds that have started and not ended
}

// beginBounds starts the time bounds that have not started.
func (m *VM) beginBounds() {
	for i, g := range m.requests.bounds.unbegun {
		if g.open > 0 && !g.decided {
			f := &pendingRequest{t: g.t, bound: g}
			m.startRequest(&effect.Sleep{Milliseconds: g.bound.ms}, f)
			g.bound.sleep = f
			m.requests.bounds.running++
		}
		m.requests.bounds.unbegun[i] = nil
	}
	m.requests.bounds.unbegun = m.requests.bounds.unbegun[:0]
}

// boundOver handles the end of the sleep of the group's bound: it expired or was cancelled.
func (g *group) boundOver(err error) {
	g.t.m.requests.bounds.running--
	g.bound.sleep = nil
	if err == nil && !g.decided {
		g.decided, g.winner = true, g.bound.place
		g.cancel()
	}
}

// endBound cancels the sleep if the race ends first.
func (g *group) endBound() {
	if g.ask != nil {
		g.ask.work.detach()
	}
	if g.bound != nil {
		g.bound.sleep.cancel()
	}
}
