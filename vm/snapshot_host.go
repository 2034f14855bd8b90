package vm

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/ir"
)

// Encoding of exchanges: listens with their handlers, and streams with their messages.

func (k *StateCodec) scopeBody(s *scope) {
	referRequired(k, entityTask, &s.t, "no task listens")
	number(k, &s.depth)
	pc, part := int32(s.pc), int32(0)
	k.pc(&pc, &part)
	s.pc = int(pc)
	number(k, &s.window)
	k.Slot(&s.host)
	if k.reading && !k.listens(s) {
		return
	}
	k.Int(&s.started)
	k.Int(&s.number)
	k.Int(&s.id)
	k.Bool(&s.open)
	k.messages(&s.messages)
	k.failure(&s.err)
	k.Bool(&s.over)
	refer(k, entityRun, &s.run)
	refer(k, entityDecision, &s.decision)
	k.Int(&s.effect)
	k.bytes(&s.partial)
	k.unsent(&s.unsent)
	if k.format >= 3 {
		k.Bool(&s.exited)
		k.Int(&s.dropped)
	}
}

// listens sets the listen and the host of a decoded scope. It returns false if the scope is
// invalid.
func (k *StateCodec) listens(s *scope) bool {
	if k.err != nil {
		return false
	}
	in, b := &k.m.image.code[s.pc], k.m.image.blockAt(s.pc)
	if !k.require(ir.Op(in.op) == ir.OpListenBegin && b.ir != nil && s.window == in.a && s.host.Kind() == value.KindHost, "a listen is at an instruction that begins none") {
		return false
	}
	s.l = &b.fn.listens[in.imm]
	p := s.host.Party()
	ok := len(p) > 0 && p[value.PartyIndex].Kind() == value.KindInt && uint64(p.Index()) < uint64(len(k.m.image.hostDecls))
	if k.require(ok, "a listen has no host") {
		s.decl = &k.m.image.hostDecls[p.Index()]
	}
	return ok
}

func (k *StateCodec) messages(q *messages) {
	list(k, &q.queue, k.message)
	number(k, &q.queued)
	codeUsed(k, &q.used)
}

func (k *StateCodec) message(m *effect.HostMessage) {
	k.Text(&m.Type)
	k.Text(&m.ID)
	k.Slot(&m.Payload)
	k.require(m.Payload.Map() != nil, "a message has no members")
	k.bytes(&m.Text)
	k.Bool(&m.Decided)
}

// unsent encodes or decodes a reply for which the host's queue had no space, or nil.
func (k *StateCodec) unsent(p **effect.ExchangeReply) {
	there := *p != nil
	k.Bool(&there)
	if !there {
		return
	}
	var r effect.Request = *p
	k.request(&r)
	if r, ok := r.(*effect.ExchangeReply); k.require(ok, "a reply is none") {
		*p = r
	}
}

// runCauses contains the causes that end a handler run. A snapshot stores their indexes.
var runCauses = []error{nil, errWithdrawn, errExpired, errLost}

func (k *StateCodec) runBody(r *handlerRun) {
	k.message(&r.message)
	refer(k, entityDecision, &r.decision)
	cause := 0
	for i, c := range runCauses {
		if r.cause == c {
			cause = i
		}
	}
	if below(k, &cause, len(runCauses), "a handler has ended for nothing") {
		r.cause = runCauses[cause]
	}
}

func (k *StateCodec) streamBody(x *hostStream) {
	refer(k, entityTask, &x.by)
	n := 0
	for i := range k.m.image.hostDecls {
		if x.decl == &k.m.image.hostDecls[i] {
			n = i
		}
	}
	if below(k, &n, len(k.m.image.hostDecls), "a stream is of no host") {
		x.decl = &k.m.image.hostDecls[n]
	}
	k.messages(&x.messages)
	k.Int(&x.id)
	k.Text(&x.session)
	if k.format >= 5 {
		k.Text(&x.workspace)
	}
	k.failure(&x.err)
	k.Bool(&x.over)
	list(k, &x.waiting, func(t **task) { referRequired(k, entityTask, t, "no task waits for a stream") })
	k.asks(x)
	k.Int(&x.effect)
	k.Bool(&x.closed)
	k.Text(&x.reason)
}

// asks encodes or decodes the unsettled messages in their order.
func (k *StateCodec) asks(x *hostStream) {
	open := x.asks.open()
	list(k, &open, func(p **ask) { referRequired(k, entityAsk, p, "a message to answer is missing") })
	if !k.reading {
		return
	}
	k.later = append(k.later, func() { // the messages are decoded later
		for _, a := range open {
			x.asks.add(a)
		}
	})
}

func (k *StateCodec) askBody(a *ask) {
	referRequired(k, entityStream, &a.of, "a message is of no stream")
	k.Text(&a.typ)
	k.Text(&a.id)
	k.Bool(&a.waits)
	k.Text(&a.answered)
	refer(k, entityDecision, &a.decision)
	refer(k, entityGroup, &a.work.group)
	number(k, &a.work.place)
}

// request encodes or decodes a request as JSON.
func (k *StateCodec) request(p *effect.Request) {
	kind, text := "", ""
	if !k.reading {
		kind = string((*p).Kind())
		raw, err := jsonwrite.Append(k.scratch[:0], *p)
		if err != nil {
			k.refuse("a request of kind %s: %v", kind, err)
		}
		k.scratch, text = raw, string(raw)
	}
	k.Text(&kind)
	k.Text(&text)
	if !k.reading || k.err != nil {
		return
	}
	row := effect.Lookup(effect.Kind(kind))
	if !k.require(row != nil, "a request is of no kind") {
		return
	}
	r := row.Request()
	if err := json.Unmarshal([]byte(text), r); err != nil {
		k.damaged("a request of kind %s: %v", kind, err)
		return
	}
	*p = r
}
