package vm

import (
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// A holding is something that a task has open in the world, such as a model's
// stream. The library closes it; when the task is cancelled or ends by an
// error, the VM does.
type holding struct {
	id      int64
	closing effect.Request
}

// holdings are those of a run, by the task that holds them.
type holdings map[*task][]holding

func (h *holdings) hold(t *task, x holding) {
	if *h == nil {
		*h = holdings{}
	}
	(*h)[t] = append((*h)[t], x)
}

// LetGo says that the thing which AskToHold opened under this number, and which
// requests of this kind close, is being closed, whichever task holds it.
func (a *Args) LetGo(closing effect.Kind, id int64) {
	a.vm.holdings.letGo(a.vm.sched.current, closing, id)
}

func (h holdings) letGo(t *task, closing effect.Kind, id int64) {
	same := func(x holding) bool { return x.id == id && x.closing.Kind() == closing }
	owners := []*task{t}
	if !slices.ContainsFunc(h[t], same) { // another task has handed it on
		owners = owners[:0]
		for o, held := range h {
			if slices.ContainsFunc(held, same) {
				owners = append(owners, o)
			}
		}
	}
	for _, o := range owners {
		if h[o] = slices.DeleteFunc(h[o], same); len(h[o]) == 0 {
			delete(h, o)
		}
	}
}

// pass hands what t holds to another task: a stream that a body of `race` or
// `await (…)` has opened outlives the body.
func (h holdings) pass(t, to *task) {
	if held := h[t]; len(held) > 0 {
		h[to] = append(h[to], held...)
		delete(h, t)
	}
}

// closeHoldings closes what t, which ended by an error, holds. Closing does not wait, and its errors no
// longer matter.
func (m *VM) closeHoldings(t *task) {
	reason := ""
	if r := t.raised; !r.cancelled {
		reason = value.Message(r.value)
	}
	for _, x := range slices.Clone(m.holdings[t]) {
		if o := m.hostStreams.held(x); o != nil {
			o.close(t, reason)
		} else {
			m.stats.Requests++
			_, _ = t.perform(m.requests.ctx, x.closing)
		}
	}
	delete(m.holdings, t)
}
