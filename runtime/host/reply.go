package host

import (
	"context"
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/hostmsg"
	"github.com/concerto-lang/concerto/internal/ndjson"
)

func replyLine(r *effect.ExchangeReply) []byte {
	o := newObject(hostmsg.Response)
	o.text("in_reply_to", r.InReplyTo)
	if r.AnswerTo != "" {
		o.raw("answer_to", json.RawMessage(r.AnswerTo))
	}
	switch {
	case r.Error != "":
		o.text("error", r.Error)
	case len(r.Value) == 0:
		o.raw("value", json.RawMessage("null"))
	default:
		o.raw("value", r.Value)
	}
	return ndjson.Append(nil, o.end())
}

// reply puts a response in the process's queue. It waits only when the host
// leaves a full queue unread, until the exchange's timeout at most: then it
// gives that failure; who asked AtOnce gets ErrWaits. A reply that the process can no longer take is dropped;
// the next request for messages says what happened to it.
func (h *Hosts) reply(ctx context.Context, r *effect.ExchangeReply) error {
	ex, err := h.exchange(r.ID)
	if err != nil {
		return err
	}
	line := replyLine(r)
	for {
		p := ex.process()
		select {
		case <-ex.life:
			if f := ex.in.why(); f != nil {
				return f
			}
			if _, ok := p.send(line, false); !ok {
				h.remark("warn", ex.pool.cfg, "does not read its input; a response to its '%s' is dropped", r.InReplyTo)
			}
			return nil
		default:
		}
		if _, ok := p.send(line, false); ok {
			p.pulse.answered(r.InReplyTo, r.AnswerTo)
			return nil
		}
		if effect.IsAtOnce(ctx) {
			return effect.ErrWaits
		}
		select {
		case <-p.out.room:
		case <-ex.life:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
