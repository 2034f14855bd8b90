package hostcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/runtime/host"
)

// talk is one exchange with a host, from the prompt to a result or an error.
type talk struct {
	s       *session
	context json.RawMessage
	// answer, if not nil, returns the reply to the nth request of a type, where n starts at 0. If
	// answer or its result is nil, harmless returns the reply.
	answer func(m *effect.HostMessage, n int) *effect.ExchangeReply
	cancel bool // cancel the exchange after its first message, or after hesitate without a message

	received   map[string]int // number of received messages by type
	cancelSent bool           // a cancel message was sent
	until      time.Time
	since      int64  // number of bytes that the host had sent before the prompt
	result     []byte // message that ended the exchange; nil for a plain line
	typ        string // type of the message that ended the exchange; "" before
}

// terminal names the messages that end an exchange, for verdicts.
const terminal = "a result or an error"

// runExchange runs the exchange. It returns nil or the verdict of a failure; after a failure the
// process is stopped.
func (t *talk) runExchange() *Verdict {
	s := t.s
	if v := s.ready(); v != nil {
		return v
	}
	v := t.talk()
	if v != nil {
		s.endProcess()
	}
	return v
}

func (t *talk) talk() *Verdict {
	s := t.s
	t.received = map[string]int{}
	t.until = time.Now().Add(s.timeLimit())
	t.since = s.p.conn.BytesSent()
	prompt := host.PromptLine(&s.o.Config, &effect.ExchangeOpen{Host: s.o.Config.Name, Prompt: "concerto test: " + s.check, Context: t.context})
	if v := t.sendMessage(prompt); v != nil {
		return v
	}
	for t.typ == "" {
		if v := t.handleNext(); v != nil {
			return v
		}
	}
	return nil
}

// handleNext receives one line from the host and processes it.
func (t *talk) handleNext() *Verdict {
	s := t.s
	wait := time.Until(t.until)
	hesitates := t.cancel && !t.cancelSent && wait > hesitate
	if hesitates {
		wait = hesitate
	}
	e, came := s.p.receiveEvent(s.ctx, wait)
	switch {
	case !came && hesitates:
		return t.sendCancel()
	case !came && t.cancelSent:
		return t.fails(terminal+" within "+effect.Seconds(host.CancelWait(&t.s.o.Config).Seconds())+" of the cancel", "none")
	case !came:
		return t.fails(terminal, "no further output within %s", effect.Seconds(s.timeLimit().Seconds()))
	case e.err != nil:
		return t.fails(terminal, "%s", s.p.endReason(s.ctx, e.err))
	}
	m, is, err := host.Decode(e.line.Text)
	before := e.line.Offset < t.since
	if is {
		s.p.spoken = true
	} else if err == nil {
		s.plain = quoteLine(e.line.Text)
	}
	switch {
	case before: // the line belongs to the previous exchange, which has ended
		return nil
	case err != nil:
		return t.fails("a JSON object on each line", "%s", quoteLine(e.line.Text))
	case is:
		return t.handleLine(&m)
	case !s.p.spoken: // a plain line of a host that sends no messages is the result
		t.typ = hostmsg.Result
	}
	return nil
}

func (t *talk) handleLine(m *effect.HostMessage) *Verdict {
	row := hostmsg.Lookup(m.Type)
	if wrong := misshapen(row, m.Text); wrong != "" && !t.s.wrong[wrong] {
		t.s.wrong[wrong] = true // each fault is reported only once
		v := t.fails(wrong, "%s", quoteLine(m.Text))
		v.Hint = fmt.Sprintf("%s has %s (spec/host-protocol.md)", m.Type, shape(row))
		return v
	}
	n := t.received[m.Type]
	t.received[m.Type]++
	switch {
	case row.Terminal():
		t.typ, t.result = m.Type, bytes.Clone(m.Text)
	case t.cancel && !t.cancelSent:
		return t.sendCancel()
	case row.Waits() && !t.cancelSent:
		var r *effect.ExchangeReply
		if t.answer != nil {
			r = t.answer(m, n)
		}
		if r == nil {
			r = harmless(m)
		}
		r.InReplyTo, r.AnswerTo = m.Type, m.ID
		return t.sendMessage(host.ResponseLine(r))
	}
	return nil
}

func (t *talk) sendCancel() *Verdict {
	t.cancelSent = true
	t.until = time.Now().Add(host.CancelWait(&t.s.o.Config))
	return t.sendMessage(host.CancelLine("concerto test"))
}

func (t *talk) sendMessage(line []byte) *Verdict {
	if !t.s.p.sendLine(t.s.ctx, line, time.Until(t.until)) {
		return t.fails("a host that reads its input", "a line of %d bytes left unread", len(line))
	}
	return nil
}

func (t *talk) fails(expected, format string, args ...any) *Verdict {
	v := t.s.failed(expected, format, args...)
	return &v
}

// harmless returns a reply to any request of a host. It denies approvals and tool calls.
func harmless(m *effect.HostMessage) *effect.ExchangeReply {
	switch hostmsg.Lookup(m.Type).Form {
	case hostmsg.Inquiry:
		return &effect.ExchangeReply{Value: offeredAnswer(m)}
	case hostmsg.YesNo:
		return &effect.ExchangeReply{Value: []byte(`"no"`)}
	}
	return &effect.ExchangeReply{Error: "concerto test: no handler for " + m.Type}
}

// offeredAnswer returns the last answer that a question offers, or a text if it offers none.
func offeredAnswer(m *effect.HostMessage) json.RawMessage {
	var q struct{ Options []json.RawMessage }
	if json.Unmarshal(m.Text, &q) == nil && len(q.Options) > 0 {
		return q.Options[len(q.Options)-1]
	}
	return []byte(`"concerto test"`)
}

// isNot compares members of the result of a testable host with the expected values, given as JSON.
// It returns nil if they are equal.
func (t *talk) isNot(members ...string) *Verdict {
	if !t.s.ack.can(testable) {
		return nil
	}
	var got map[string]json.RawMessage
	if t.typ == hostmsg.Result {
		// Unmarshal's error is ignored, because a plain line has no members.
		_ = json.Unmarshal(t.result, &got)
	}
	for i := 0; i < len(members); i += 2 {
		if !equalJSON(got[members[i]], members[i+1]) {
			return t.fails("a result with "+members[i]+" "+quoteLine([]byte(members[i+1])), "%s", quoteLine(t.result))
		}
	}
	return nil
}

// testable is the capability that a host made with an SDK reports. Such a host answers the prompts
// of the checks.
const testable = "testable"

func equalJSON(got json.RawMessage, want string) bool {
	var a, b any
	return json.Unmarshal(got, &a) == nil && json.Unmarshal([]byte(want), &b) == nil && equalValues(a, b)
}

func equalValues(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}
