package vm

import (
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// A holding is an external resource that a task has open, such as a model's stream. The library
// normally closes it. If the task is cancelled or ends by an error, the VM closes it.
type holding struct {
	id      int64
	closing effect.Request
}

// holdings are the open resources of a run, by the task that owns each of them.
type holdings map[*task][]holding

func (h *holdings) add(t *task, x holding) {
	if *h == nil {
		*h = holdings{}
	}
	(*h)[t] = append((*h)[t], x)
}

// Release removes the resource with this number from the holdings, because it is being closed.
// AskToHold opened the resource, requests of the kind closing close it, and any task may own it.
func (a *Args) Release(closing effect.Kind, id int64) {
	a.vm.holdings.release(a.vm.sched.current, closing, id)
}

func (h holdings) release(t *task, closing effect.Kind, id int64) {
	same := func(x holding) bool { return x.id == id && x.closing.Kind() == closing }
	owners := []*task{t}
	if !slices.ContainsFunc(h[t], same) { // another task owns it, because it was passed on
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

// transfer moves the holdings of t to another task: a stream that a body of `race` or `await (…)`
// has opened outlives the body.
func (h holdings) transfer(t, to *task) {
	if held := h[t]; len(held) > 0 {
		h[to] = append(h[to], held...)
		delete(h, t)
	}
}

// closeHoldings closes the holdings of t, which ended by an error. It does not wait for the closing
// and ignores its errors.
func (m *VM) closeHoldings(t *task) {
	reason := ""
	if r := t.raised; !r.cancelled {
		reason = value.Message(r.value)
	}
	for _, x := range slices.Clone(m.holdings[t]) {
		if o := m.hostStreams.streamOf(x); o != nil {
			o.close(t, reason)
		} else {
			m.stats.Requests++
			_, _ = t.performEffect(m.requests.ctx, x.closing)
		}
	}
	delete(m.holdings, t)
}
