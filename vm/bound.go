package vm

import (
	"math"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// A bound limits how long a race may take. It is an element of the race that
// runs no code. When its time is over, the race gives nil and cancels its
// members, including one that is computing: a member that merely sleeps could
// act only once the computing one gives way. The time begins when the other
// members first wait, or have computed for a while. A bound may also be a message
// that the members work on: its time is over when the host takes it back.

// bound is what the value stands for: so many milliseconds, or a message.
type bound struct {
	ms  int64
	ask *ask // nil: it is a time
}

// NewBound makes a bound of so many milliseconds, as an element of a race.
func NewBound(ms int64) value.Slot { return value.NewHandle("Task", "", bound{ms: max(ms, 0)}) }

// boundOf gives the bound that an element of a race stands for.
func boundOf(v value.Slot) (b bound, ok bool) {
	if h := v.Handle(); h != nil {
		b, ok = h.Object.(bound)
	}
	return b, ok
}

// bounding is the bound of a group.
type bounding struct {
	ms    int64
	place int             // which element it is
	sleep *pendingRequest // nil before it begins and after it is over
}

// bind gives the group its bound; of several, the shortest.
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

// bindAsk gives the group a message that it works on.
func (g *group) bindAsk(k *ask, place int) {
	if k.answered != "" {
		g.decided, g.winner = true, place
		return
	}
	g.ask, k.work = k, work{g, place}
	g.t.m.requests.bounds.running++
}

// work is the race that works on a message.
type work struct {
	group *group // nil: none does
	place int    // of the message among its elements
}

// end cancels the race: nobody wants what comes of it.
func (w *work) end() {
	g := w.group
	if g == nil {
		return
	}
	w.leave()
	if !g.decided {
		g.decided, g.winner = true, w.place
		g.cancel()
	}
}

// leave ends the message's hold on the race.
func (w *work) leave() {
	w.group.t.m.requests.bounds.running--
	w.group.ask, w.group = nil, nil
}

// bounds are those of a run.
type bounds struct {
	unbegun []*group // whose time has not begun
	running int      // how many whose time runs
}

// beginBounds begins the time of the bounds that wait for it.
func (m *VM) beginBounds() {
	for i, g := range m.requests.bounds.unbegun {
		if g.open > 0 && !g.decided {
			f := &pendingRequest{t: g.t, bound: g}
			m.start(&effect.Sleep{Milliseconds: g.bound.ms}, f)
			g.bound.sleep = f
			m.requests.bounds.running++
		}
		m.requests.bounds.unbegun[i] = nil
	}
	m.requests.bounds.unbegun = m.requests.bounds.unbegun[:0]
}

// boundOver hears that the sleep of the group's bound is over, or was ended.
func (g *group) boundOver(err error) {
	g.t.m.requests.bounds.running--
	g.bound.sleep = nil
	if err == nil && !g.decided {
		g.decided, g.winner = true, g.bound.place
		g.cancel()
	}
}

// endBound ends the sleep, when the race is over before.
func (g *group) endBound() {
	if g.ask != nil {
		g.ask.work.leave()
	}
	if g.bound != nil {
		g.bound.sleep.quit()
	}
}
