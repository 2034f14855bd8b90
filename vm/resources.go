package vm

import (
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// An openResource is an external resource that a task has open, such as a model's stream. The
// library normally closes it. If the task is cancelled or ends by an error, the VM closes it.
type openResource struct {
	id      int64
	closing effect.Request
}

// openResources are the open resources of a run, by the task that owns each of them.
type openResources map[*task][]openResource

func (h *openResources) add(t *task, x openResource) {
	if *h == nil {
		*h = openResources{}
	}
	(*h)[t] = append((*h)[t], x)
}

// Release removes the resource with this number, because it is being closed. AskToOpen opened it,
// requests of the kind closing close it, and any task may own it.
func (a *Args) Release(closing effect.Kind, id int64) {
	a.vm.openResources.release(a.vm.sched.current, closing, id)
}

func (h openResources) release(t *task, closing effect.Kind, id int64) {
	same := func(x openResource) bool { return x.id == id && x.closing.Kind() == closing }
	owners := []*task{t}
	if !slices.ContainsFunc(h[t], same) { // another task owns it, because it was passed on
		owners = owners[:0]
		for o, open := range h {
			if slices.ContainsFunc(open, same) {
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

// transfer moves the resources of t to another task: a stream that a body of `race` or `await (…)`
// has opened outlives the body.
func (h openResources) transfer(t, to *task) {
	if open := h[t]; len(open) > 0 {
		h[to] = append(h[to], open...)
		delete(h, t)
	}
}

// closeResources closes the resources of t, which ended by an error. It does not wait for the
// closing and ignores its errors.
func (m *VM) closeResources(t *task) {
	reason := ""
	if r := t.raised; !r.cancelled {
		reason = value.Message(r.value)
	}
	for _, x := range slices.Clone(m.openResources[t]) {
		if o := m.hostStreams.streamOf(x); o != nil {
			o.close(t, reason)
		} else {
			m.stats.Requests++
			_, _ = t.performEffect(m.requests.ctx, x.closing)
		}
	}
	delete(m.openResources, t)
}
