package host

import (
	"context"
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// appendReply adds the line of a response to dst.
func appendReply(dst []byte, r *effect.ExchangeReply) []byte {
	at := len(dst)
	o := jsonobject.Object{Bytes: append(dst, begunResponse...)}
	o.Text("in_reply_to", r.InReplyTo)
	if r.AnswerTo != "" {
		o.Raw("answer_to", json.RawMessage(r.AnswerTo))
	}
	switch {
	case r.Error != "":
		o.Text("error", r.Error)
	case len(r.Value) == 0:
		o.Raw("value", json.RawMessage("null"))
	default:
		o.Raw("value", r.Value)
	}
	return ndjson.End(o.End(), at)
}

// begunResponse is what every response begins with.
const begunResponse = `{"type":"` + hostmsg.Response + `"`

// reply puts a response in the process's queue. It waits only when the host
// leaves a full queue unread, until the exchange's timeout at most: then it
// gives that failure; who asked AtOnce gets ErrWaits. A reply that the process can no longer take is dropped;
// the next request for messages says what happened to it.
func (h *Hosts) reply(ctx context.Context, r *effect.ExchangeReply) error {
	ex, err := h.exchange(r.ID)
	if err != nil {
		return err
	}
	ex.journaled(ex.given.Load())
	line := appendReply(ex.takeBuffer(), r)
	defer ex.putBuffer(line)
	for {
		select {
		case <-ex.life:
			if f := ex.in.why(); f != nil {
				return f
			}
			if !ex.said(r, line) {
				h.remark("warn", ex.pool.cfg, "does not read its input; a response to its '%s' is dropped", r.InReplyTo)
			}
			return nil
		default:
		}
		if ex.said(r, line) {
			ex.course.Replied(r)
			return nil
		}
		if effect.IsAtOnce(ctx) {
			return effect.ErrWaits
		}
		select {
		case <-ex.process().out.room: // who has none holds what is said
		case <-ex.life:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// said sends a reply to the exchange's process, and reports whether it had room. After a process was replaced, the new one may
// not have asked the question yet: the reply is then kept for it.
func (ex *exchange) said(r *effect.ExchangeReply, text []byte) (ok bool) {
	ex.mu.Lock()
	p, again := ex.proc, ex.again
	ex.mu.Unlock()
	if again == nil {
		if _, ok = p.send(text, false); ok {
			p.pulse.answered(r.InReplyTo, r.AnswerTo)
		}
		return ok
	}
	if p != nil && p.kept.repeated(&line{short: text}) {
		return true
	}
	to, held := again.route(r)
	if held || p == nil {
		return true
	}
	if ok = p.sendReply(r, to); ok {
		again.sent(r)
		p.pulse.answered(r.InReplyTo, to)
	}
	return ok
}

// send sends a line of ours, in the vendor's words if the host is one, beyond the
// outbox's limit when force is set. It gives the offset of its first byte in all that
// was sent, and whether it fitted.
func (p *process) send(text []byte, force bool) (offset int64, ok bool) {
	return p.sendLine(line{short: text}, force)
}

func (p *process) sendLine(l line, force bool) (offset int64, ok bool) {
	if p.kept.repeated(&l) {
		return 0, true
	}
	t := p.words
	if t == nil {
		return p.out.put(l, force)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !force && p.out.full() {
		return 0, false
	}
	ours := l.bytes()
	s := t.a.Say(ours)
	f := p.saying(l.frame, ours)
	f.sides = p.kept.sides(s.Bridge)
	offset, ok = p.out.put(line{short: adapter.JoinLines(s.Lines), frame: f}, true)
	p.help.Perform(t.dated(s.Requests))
	p.door.answer(s.Bridge)
	return offset, ok
}

// keptBuffer is how large a buffer for replies may be to be kept.
const keptBuffer = 64 << 10

// takeBuffer gives the exchange's buffer for a reply, or none while another reply
// has it.
func (ex *exchange) takeBuffer() []byte {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	b := ex.buffer
	ex.buffer = nil
	return b
}

func (ex *exchange) putBuffer(b []byte) {
	if cap(b) > keptBuffer {
		return
	}
	ex.mu.Lock()
	ex.buffer = b[:0]
	ex.mu.Unlock()
}
