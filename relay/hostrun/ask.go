package hostrun

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/relay/client"
)

// errWithdrawn reports that the process has withdrawn its question.
var errWithdrawn = errors.New("the host withdrew the question")

// ask submits a message to users as a question. It does not block: other messages are handled while
// the question is open.
func (t *hostRun) ask(ctx context.Context, m *effect.HostMessage, payload json.RawMessage) {
	ctx, cancel := context.WithCancelCause(ctx)
	t.mu.Lock()
	if m.ID != "" {
		t.open[m.ID] = cancel
	}
	t.mu.Unlock()
	t.asking.Go(func() {
		a, err := t.o.Source.Ask(ctx, "", &effect.AskHost{Asking: effect.Asking{Host: t.o.Name, Type: m.Type}, Message: payload}, true)
		t.mu.Lock()
		delete(t.open, m.ID)
		t.mu.Unlock()
		withdrawn := ctx.Err() != nil
		cancel(nil)
		if withdrawn {
			return // the process no longer expects the answer
		}
		r := &effect.ExchangeReply{By: effect.ByRelay}
		var refused *effect.Error
		switch {
		case errors.As(err, &refused):
			r.Error = refused.Message
		case err != nil:
			r.Error = err.Error()
		case a == nil:
			r.Error = "the question could not be asked: no hostd is running"
		default:
			if r.Value = a.Value; hostmsg.Lookup(m.Type).Form == hostmsg.YesNo && !t.o.ACP {
				r.Value = simplify(a.Value)
			}
		}
		t.reply(m, r)
	})
}

// simplify converts a decision without details to "yes" or "no", which every host understands.
func simplify(v json.RawMessage) json.RawMessage {
	var d struct{ Decision, Scope, Reason string }
	switch {
	case json.Unmarshal(v, &d) != nil || d.Reason != "":
	case d.Decision == "allow" && d.Scope == "once":
		return json.RawMessage(`"yes"`)
	case d.Decision == "deny":
		return json.RawMessage(`"no"`)
	}
	return v
}

func (t *hostRun) reply(m *effect.HostMessage, r *effect.ExchangeReply) {
	r.ID, r.InReplyTo, r.AnswerTo = t.id, m.Type, m.ID
	if _, err := t.hosts.Perform(context.Background(), r); err != nil {
		t.print(client.Stderr, "an answer did not reach it: "+err.Error()+"\n")
	}
}

// withdraw cancels the question with a message id.
func (t *hostRun) withdraw(id string) {
	t.mu.Lock()
	cancel := t.open[id]
	delete(t.open, id)
	t.mu.Unlock()
	if cancel != nil {
		cancel(errWithdrawn)
	}
}

func (t *hostRun) cancelAll(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, cancel := range t.open {
		cancel(why)
	}
	clear(t.open)
}
