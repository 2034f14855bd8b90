package vm

import (
	"cmp"
	"slices"
	"strings"
)

// Encoding of the beginning of a snapshot: the roots, which refer to everything else.

func (k *StateCodec) roots() {
	m := k.m
	for _, n := range []*int64{&m.stats.Copied, &m.stats.CopiedText, &m.stats.Requests, &m.counts.task, &m.counts.exchanges,
		&m.journaled.now.Consumed, &m.journaled.now.Ticks} {
		k.Int(n)
	}
	number(k, &m.pace.Left)
	number(k, &m.memory.asked)
	number(k, &m.memory.measured)
	number(k, &m.requests.bounds.running)
	k.tasks()
	k.requestsUnderWay()
	k.holdings()
	list(k, &m.hostStreams.open, k.stream)
	list(k, &m.hostStreams.asked, k.stream)
	k.storesHold()
	k.toolStates()
	k.owned()
	k.errSteps(&m.left)
}

func (k *StateCodec) stream(x **hostStream) { referRequired(k, entityStream, x, "a stream is missing") }

// tasks encodes or decodes the live tasks in the order of their creation, followed by the ended
// tasks that are still referenced.
func (k *StateCodec) tasks() {
	m := k.m
	var alive []*task
	for t := m.sched.oldest; t != nil; t = t.birth.newer {
		alive = append(alive, t)
	}
	one := func(t **task) { referRequired(k, entityTask, t, "a task is missing") }
	list(k, &alive, one)
	if k.reading {
		found := map[*task]bool{}
		for _, t := range alive {
			if k.require(!found[t], "a task lives twice") {
				found[t] = true
				m.sched.link(t)
			}
		}
	}
	codeUses(k, alive)
	referRequired(k, entityTask, &m.sched.main, "there is no main task")
	list(k, &m.ending.lost, one)
	list(k, &m.ending.unfinished, func(f **function) {
		n := 0
		if !k.reading {
			n = (*f).number
		}
		if below(k, &n, len(m.image.functions), "there is no such function") {
			*f = &m.image.functions[n]
		}
	})
}

// Tags for the receiver of a pending request's result.
const (
	ownerNone byte = iota
	ownerWait
	ownerScope
	ownerRun
	ownerBound
	ownerStream
	ownerAsk
	ownerKinds
)

func (f *pendingRequest) owner() byte {
	switch {
	case f.bound != nil:
		return ownerBound
	case f.run != nil:
		return ownerRun
	case f.ask != nil:
		return ownerAsk
	case f.stream != nil:
		return ownerStream
	case f.wait != nil:
		return ownerWait
	case f.scope != nil:
		return ownerScope
	}
	return ownerNone
}

// requestsUnderWay encodes or decodes the pending requests in the order in which they were made.
func (k *StateCodec) requestsUnderWay() {
	var all []*pendingRequest
	if !k.reading {
		all = make([]*pendingRequest, 0, len(k.m.requests.pending))
		for _, seq := range k.m.requests.underWay() {
			all = append(all, k.m.requests.pending[seq])
		}
	}
	list(k, &all, func(p **pendingRequest) {
		if k.reading {
			*p = new(pendingRequest)
		}
		k.pendingRequest(*p)
	})
	if k.reading {
		k.restored = all
	}
}

func (k *StateCodec) pendingRequest(f *pendingRequest) {
	k.Int(&f.effect)
	k.request(&f.request)
	referRequired(k, entityTask, &f.t, "a request has no owner")
	k.Bool(&f.closing)
	k.Bool(&f.cancelled)
	owner := f.owner()
	below(k, &owner, int(ownerKinds), "a request's owner is of no kind")
	switch owner {
	case ownerBound:
		referRequired(k, entityGroup, &f.bound, "a request has no race")
	case ownerRun:
		referRequired(k, entityRun, &f.run, "a request has no handler")
	case ownerAsk:
		referRequired(k, entityAsk, &f.ask, "a request has no message")
	case ownerStream:
		referRequired(k, entityStream, &f.stream, "a request has no stream")
	case ownerScope:
		referRequired(k, entityScope, &f.scope, "a request has no listen")
	case ownerWait:
		if !k.reading && f.wait != f.t.wait {
			k.refuse("a task waits for another request")
		}
	}
	if k.reading {
		k.later = append(k.later, func() { k.assignOwner(f, owner) })
	}
}

// assignOwner sets the reference to a pending request in its receiver, after everything has been
// decoded.
func (k *StateCodec) assignOwner(f *pendingRequest, owner byte) {
	var free **pendingRequest
	switch owner {
	case ownerNone:
		return
	case ownerBound:
		if !k.require(f.bound.bound != nil, "a race has no bound") {
			return
		}
		free = &f.bound.bound.sleep
	case ownerRun:
		free = &f.run.timer
	case ownerAsk:
		free = &f.ask.timer
	case ownerStream:
		free = &f.stream.next
	case ownerScope:
		free = &f.scope.next
	case ownerWait:
		if f.wait = f.t.wait; !k.require(f.wait != nil, "who made a request waits for nothing") {
			return
		}
		f.wait.request = f.request
		if f.wait.kind == waitOpen {
			k.m.requests.opening++
		}
		if f.wait.kind == waitUnwind {
			return // no code cancels the closing request
		}
		free = &f.wait.flight
	}
	if k.require(*free == nil, "somebody waits for two requests") {
		*free = f
	}
}

// holdings encodes or decodes the external resources that tasks own.
func (k *StateCodec) holdings() {
	type held struct {
		t   *task
		all []holding
	}
	var every []held
	for t, all := range k.m.holdings {
		every = append(every, held{t, all})
	}
	slices.SortFunc(every, func(a, b held) int {
		x, y := a.all[0], b.all[0]
		return cmp.Or(strings.Compare(string(x.closing.Kind()), string(y.closing.Kind())), cmp.Compare(x.id, y.id))
	})
	list(k, &every, func(h *held) {
		referRequired(k, entityTask, &h.t, "a resource has no owner")
		list(k, &h.all, func(x *holding) {
			k.Int(&x.id)
			k.request(&x.closing)
		})
		if k.require(len(h.all) > 0, "somebody holds nothing") && k.reading && k.err == nil {
			for _, x := range h.all {
				k.m.holdings.add(h.t, x)
			}
		}
	})
}
