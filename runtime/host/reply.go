package host

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/continuity"
)

// approvalPrefix is the beginning of every response to an approval.
const approvalPrefix = continuity.ResponsePrefix + `,"in_reply_to":"` + hostmsg.Approval + `"`

// replyToHost puts a response into the process's queue. If the queue is full, it waits until the
// host reads, or fails when the exchange times out. With effect.WithNoWait it returns ErrWaits
// instead of waiting. A response that the process can no longer receive is dropped; the next
// request for messages returns the reason.
func (h *Hosts) replyToHost(ctx context.Context, r *effect.ExchangeReply) error {
	ex, err := h.lookupExchange(r.ID)
	if err != nil {
		return err
	}
	ex.ackJournaled(ex.deliveredLine.Load())
	line := continuity.AppendReply(ex.acquireBuffer(), r)
	defer ex.returnBuffer(line)
	for {
		select {
		case <-ex.life.Done():
			if f := ex.inbox.failureError(); f != nil {
				return f
			}
			if !ex.tryReply(r, line) {
				h.logf("warn", ex.pool.cfg, "does not read its input; a response to its '%s' is dropped", r.InReplyTo)
			}
			return nil
		default:
		}
		if ex.tryReply(r, line) {
			ex.history.RecordReply(r)
			return nil
		}
		if effect.IsNoWait(ctx) {
			return effect.ErrWaits
		}
		select {
		// the process is not nil here, because tryReply holds the reply while there is no process
		case <-ex.currentProcess().out.senderSpace:
		case <-ex.life.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tryReply sends a reply to the exchange's process. ok is false if the queue is full. A new process
// that continues the exchange may not have asked the question yet; in that case tryReply holds the
// reply until it does.
func (ex *exchange) tryReply(r *effect.ExchangeReply, text []byte) (ok bool) {
	ex.mu.Lock()
	p, handover := ex.proc, ex.handover
	ex.mu.Unlock()
	if handover == nil {
		if _, ok = p.sendMessage(text, false); ok {
			p.noteReply(r.AnswerTo)
			p.silence.countReply(r.InReplyTo, r.AnswerTo)
		}
		return ok
	}
	if p != nil && p.keeper.alreadySent(&line{short: text}) {
		return true
	}
	to, held := handover.RouteReply(r)
	if held || p == nil {
		return true
	}
	if ok = p.forwardReply(r, to); ok {
		handover.MarkSent(r)
		p.noteReply(to)
		p.silence.countReply(r.InReplyTo, to)
	}
	return ok
}

// sendMessage sends a line of Concerto's protocol, translated if the process is a vendor's agent.
// force ignores the limit of the outbox. offset is the number of bytes sent before the line. ok
// reports whether the line was accepted.
func (p *process) sendMessage(text []byte, force bool) (offset int64, ok bool) {
	return p.sendLine(line{short: refuseInput(p, text)}, force)
}

// refuseInput returns a reply to the host. If the reply approves an action with a changed input
// that a rule denies, the result is the denial: an answer cannot permit what the rules deny.
func refuseInput(p *process, text []byte) []byte {
	if p.rules == nil || !bytes.HasPrefix(text, []byte(approvalPrefix)) {
		return text
	}
	var sent struct {
		AnswerTo json.RawMessage `json:"answer_to"`
		Value    struct {
			Input json.RawMessage `json:"input"`
		} `json:"value"`
	}
	if json.Unmarshal(text, &sent) != nil || len(sent.Value.Input) == 0 ||
		!p.rules.Forbids(hostpolicy.ParseRequest(jsonwrite.MustEncode(map[string]json.RawMessage{"args": sent.Value.Input}))) {
		return text
	}
	why := "the changed input is " + p.cfg.denialReason()
	p.hosts.logf("warn", p.cfg, "does not receive the approval of %s: %s", sent.AnswerTo, why)
	return continuity.AppendReply(nil, &effect.ExchangeReply{InReplyTo: hostmsg.Approval, AnswerTo: string(sent.AnswerTo), Value: value.AppendString(nil, why)})
}

// sendLine sends a line and returns its offset in the bytes sent. If an earlier Concerto process
// has sent it, the offset is -1: the host may have read it.
func (p *process) sendLine(l line, force bool) (offset int64, ok bool) {
	if p.keeper.alreadySent(&l) {
		return -1, true
	}
	t := p.translation
	if inPage || t == nil {
		return p.out.enqueueLine(l, force)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !force && p.out.isFull() {
		return 0, false
	}
	if l.begins != nil {
		t.since = l.begins.offset
	}
	ours := l.concat()
	s := t.adapter.ToAgent(ours)
	f := p.frameTranslated(l.frame, l.hide(ours))
	f.sides = p.keeper.bridgeSides(s.Bridge)
	offset, ok = p.out.enqueueLine(line{short: adapter.JoinLines(s.Lines), frame: f, secrets: l.secrets}, true)
	p.service.PerformRequests(t.stampLastLine(s.Requests))
	p.bridge.sendLines(s.Bridge)
	for _, x := range s.Lost {
		p.outside.reportLost(x, t.lastLine)
	}
	return offset, ok
}

// maxReplyBuffer is the maximum capacity, in bytes, of a reply buffer that is reused.
const maxReplyBuffer = 64 << 10

// acquireBuffer returns the exchange's reply buffer, or nil while another reply uses the buffer.
func (ex *exchange) acquireBuffer() []byte {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	b := ex.replyBuffer
	ex.replyBuffer = nil
	return b
}

func (ex *exchange) returnBuffer(b []byte) {
	if cap(b) > maxReplyBuffer {
		return
	}
	ex.mu.Lock()
	ex.replyBuffer = b[:0]
	ex.mu.Unlock()
}
