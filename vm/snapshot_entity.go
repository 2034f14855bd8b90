package vm

import (
	"slices"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Encoding of the entities of a snapshot. Each entity is created from its head, and its contents
// are in its body.

// head encodes or decodes the data from which an entity is created.
func (k *StateCodec) head(e *entity) {
	number(k, &e.kind)
	switch e.kind {
	case entityString:
		e.p = k.stringHead(e.p)
	case entityArray:
		e.p = k.arrayHead(e.p)
	case entityMap:
		e.p = k.mapHead(e.p)
	case entityBlock:
		e.p = k.blockHead(e.p)
	case entityClosure:
		e.p = k.closureHead(e.p)
	case entityHashMap, entityLedger:
		e.p = k.storeHead(e.kind, e.p)
	case entityTask:
		e.p = k.taskHead(e.p)
	default:
		k.emptyHead(e)
	}
	k.require(e.p != nil, "something cannot be made")
}

// emptyHead creates an entity whose head contains only its kind.
func (k *StateCodec) emptyHead(e *entity) {
	if !k.reading {
		return
	}
	switch e.kind {
	case entityHandle:
		e.p = value.NewHandle("", "", nil).Ref
	case entityGroup:
		e.p = unsafe.Pointer(new(group))
	case entityRaised:
		e.p = unsafe.Pointer(new(raised))
	case entityScope:
		e.p = unsafe.Pointer(new(scope))
	case entityRun:
		e.p = unsafe.Pointer(new(handlerRun))
	case entityStream:
		e.p = unsafe.Pointer(new(hostStream))
	case entityAsk:
		e.p = unsafe.Pointer(new(ask))
	case entityDecision:
		e.p = unsafe.Pointer(new(openDecision))
	default:
		k.damaged("something is of no kind")
	}
}

// body encodes or decodes the contents of an entity.
func (k *StateCodec) body(e entity) {
	switch e.kind {
	case entityArray:
		k.arrayBody(e.p)
	case entityMap:
		k.mapBody(e.p)
	case entityBlock:
		k.blockBody(e.p)
	case entityClosure:
		k.slots(value.Slot{Ref: e.p}.Fields())
	case entityHandle:
		k.handleBody((*value.Handle)(e.p))
	case entityTask:
		k.taskBody((*task)(e.p))
	case entityGroup:
		k.groupBody((*group)(e.p))
	case entityRaised:
		k.raisedBody((*raised)(e.p))
	case entityScope:
		k.scopeBody((*scope)(e.p))
	case entityRun:
		k.runBody((*handlerRun)(e.p))
	case entityStream:
		k.streamBody((*hostStream)(e.p))
	case entityAsk:
		k.askBody((*ask)(e.p))
	case entityDecision:
		k.decisionBody((*openDecision)(e.p))
	}
}

// write encodes the whole state. The snapshot contains the heads of the entities, followed by the
// contents.
func (k *StateCodec) write() (heads, contents []byte, err error) {
	k.findStores()
	k.roots()
	for i := 0; i < len(k.entities) && k.err == nil; i++ {
		k.body(k.entities[i])
	}
	contents = k.out
	k.out = make([]byte, 0, len(contents)/2)
	k.writeUint(uint64(len(k.entities)))
	for i := range k.entities {
		k.head(&k.entities[i])
	}
	return k.out, contents, k.err
}

// read decodes what write encodes.
func (k *StateCodec) read(body []byte) error {
	k.reading, k.in = true, body
	list(k, &k.entities, k.head)
	if k.err == nil {
		k.roots()
	}
	for i := 0; i < len(k.entities) && k.err == nil; i++ {
		k.body(k.entities[i])
	}
	k.require(len(k.in) == 0, "there is data after the end")
	for _, f := range k.later {
		if k.err == nil {
			f()
		}
	}
	if k.err == nil {
		k.check()
	}
	return k.err
}

// check verifies that the decoded parts are consistent.
func (k *StateCodec) check() {
	alive := map[*task]bool{}
	for t := k.m.sched.oldest; t != nil; t = t.birth.newer {
		alive[t] = true
	}
	k.checkDecisions()
	for i := range k.entities {
		switch e := k.entities[i]; e.kind {
		case entityTask:
			k.checkTask((*task)(e.p), alive)
		case entityGroup:
			k.checkGroup((*group)(e.p), alive)
		case entityScope:
			s := (*scope)(e.p)
			// the last request of a closed listen may still be pending
			k.require(!s.open || slices.Contains(s.t.scopes, s) || s.t.state.ended || s.t.wait.scope == s, "a listen has no task")
		}
	}
}

func (k *StateCodec) checkTask(t *task, alive map[*task]bool) {
	k.require(alive[t] != t.state.ended, "a task neither lives nor has ended")
	if t.state.ended || k.err != nil {
		return
	}
	w := t.wait
	switch w.kind {
	case waitTask:
		k.require(slices.Contains(w.task.watch, watch{t: t}), "a task waits for one that does not know")
	case waitGroup:
		k.require(w.group.t == t, "a task waits for the group of another")
	case waitMessages, waitQuiet:
		k.require(w.scope.next != nil, "a listen waits for nothing")
	default:
		k.require(w.flight != nil || w.stream != nil || w.kind == waitUnwind, "a task waits for nothing")
	}
	for _, s := range t.scopes {
		k.require(s.t == t && k.framed(t, s), "a listen is in another task")
	}
	if w.scope != nil {
		k.require(w.scope.t == t && k.framed(t, w.scope), "a task waits for the listen of another")
	}
	if g := t.member.group; g != nil {
		k.require(t.member.index >= 0 && int(t.member.index) < len(g.tasks) && g.tasks[t.member.index] == t, "a task is no member of its group")
	}
	k.require(w.kind != waitUnwind && w.kind != waitQuiet || t.raised != nil, "no error is on its way")
}

// framed reports whether the stack of a task contains the frame of a listen.
func (k *StateCodec) framed(t *task, s *scope) bool {
	slots, depth := t.parkedSlots()
	for pc := t.pc(); pc > 0; {
		if depth == s.depth {
			return k.m.image.blockAt(pc).fn == k.m.image.blockAt(s.pc).fn
		}
		link := slots[depth].Bits
		pc, depth = int(uint32(link)/uint32(insSize))-1, depth-int(link>>linkBits)/int(slotSize)
	}
	return false
}

func (k *StateCodec) checkGroup(g *group, alive map[*task]bool) {
	if g.open == 0 { // the group has ended, and only references to it remain
		return
	}
	k.require(alive[g.t] && g.t.wait.kind == waitGroup && g.t.wait.group == g, "no task waits for a group")
	for i, t := range g.tasks {
		if t != nil {
			k.require(t.member.group == g && int(t.member.index) == i || slices.Contains(t.watch, watch{g: g, i: i}), "a group waits for a task that does not know")
		}
	}
}
