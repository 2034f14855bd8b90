package vm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// handler is a loaded message handler: a block of code that uses the registers of its function.
type handler struct {
	info   *ir.Handler
	schema *value.Type // type of the parameter; nil if it is dynamic
	entry  int
}

// handlerRun is one execution of a handler. It can be cancelled separately from its task: when the
// host withdraws the message, or when the question's time limit expires.
type handlerRun struct {
	message  effect.HostMessage
	cause    error           // reason why the run was cancelled; nil if it was not
	timer    *pendingRequest // timer of the question's time limit; nil if there is none
	decision *openDecision
}

// The causes for which a handler run is cancelled.
var (
	errWithdrawn = errors.New("withdrawn by the host")
	errExpired   = errors.New("the question's time limit has expired")
	errLost      = errors.New("the exchange is lost")
)

// cancel sets the cause for which the run must end. Its task unwinds at its next check.
func (r *handlerRun) cancel(cause error) { r.cause = cause }

// startHandler stores a message in its handler's parameter and jumps to the block.
func (t *task) startHandler(s *scope, h *handler, m *effect.HostMessage) (st status, again bool) {
	payload := m.Payload
	if h.schema != nil {
		v, errs := ConvertMessage(nil, payload, h.schema)
		if len(errs) > 0 {
			st = t.rejectMessage(s, m, schema.Join(errs))
			return st, st == running
		}
		payload = v
	}
	t.beginRun(s, m)
	*t.slot(uint8(h.info.Param)) = payload
	t.setPC(h.entry)
	return running, false
}

// beginRun removes a message that needs an answer from the queue, and starts its time limit.
func (t *task) beginRun(s *scope, m *effect.HostMessage) *effect.HostMessage {
	run := s.spare
	if run == nil {
		run = new(handlerRun)
	}
	s.spare, s.run = nil, run
	*run = handlerRun{message: *m}
	m = &run.message // removing the message from the queue clears the queue's copy
	s.drop()
	run.decision = t.beginDecision(m, false)
	if ms := s.timeLimit(m.Type); ms > 0 {
		f := &pendingRequest{t: t, run: run}
		t.m.startRequest(&effect.Sleep{Milliseconds: ms}, f)
		run.timer = f
	}
	t.entered(Span{SpanHandler, m.Type, s.id, m.Number})
	if d := t.debugger(); d != nil {
		d.BeforeHandler(Scene{t}, s.decl.Name, m)
	}
	return m
}

// timeLimit returns the time limit for an answer to a message type, in milliseconds; 0 means none.
func (s *scope) timeLimit(typ string) int64 {
	if hostmsg.Lookup(typ).Timed {
		return int64(s.decl.QuestionTimeout * 1000)
	}
	return 0
}

// ConvertMessage converts a host's message to the type t, for example the type of a handler's
// parameter. The `id` of a host's message is an Int or a String. If `id` is a String in the type,
// ConvertMessage converts an Int to text.
func ConvertMessage(p *value.Pace, payload value.Slot, t *value.Type) (value.Slot, []schema.FieldError) {
	v, errs := schema.ConvertIn(p, payload, t)
	misfit := slices.ContainsFunc(errs, func(e schema.FieldError) bool { return e.Path == "id" })
	if id, _ := payload.Map().GetString("id"); misfit && id.Kind() == value.KindInt {
		m := value.NewMap(payload.Map().Len())
		payload.Map().Each(func(k, v value.Slot) bool {
			m.Set(k, v)
			return true
		})
		m.SetString("id", value.String(value.Text(id)))
		if v2, fewer := schema.ConvertIn(p, m.Slot(), t); len(fewer) < len(errs) {
			return v2, fewer
		}
	}
	return v, errs
}

// stopTimer stops a run's timer.
func (r *handlerRun) stopTimer() {
	r.timer.cancel()
}

// expire handles the expiry of the timer.
func (r *handlerRun) expire(err error) {
	if err == nil {
		r.cancel(errExpired)
	}
}

// rejectMessage reports a message that does not fit its handler's parameter.
func (t *task) rejectMessage(s *scope, m *effect.HostMessage, problem string) status {
	st := s.notice("listen:invalid", m, func(p *value.Map) { p.SetString("error", value.String(problem)) })
	if st == running && hostmsg.Lookup(m.Type).Waits() {
		st = t.replyToMessage(s, m, effect.ByNone, nil, "invalid "+m.Type+": "+problem)
	}
	return st
}

// notice emits {host, type, message} on a channel. fill may add further members.
func (s *scope) notice(channel string, m *effect.HostMessage, fill func(*value.Map)) status {
	p := value.NewMap(4)
	p.SetString("host", value.String(s.decl.Name))
	p.SetString("type", value.String(m.Type))
	p.SetString("message", m.Payload)
	if fill != nil {
		fill(p)
	}
	return s.t.emit(s.output(channel, p))
}

// handleUnhandled processes a message that has no handler.
func (t *task) handleUnhandled(s *scope, m *effect.HostMessage) (st status, again bool) {
	row := hostmsg.Lookup(m.Type)
	switch row.Unhandled {
	case hostmsg.Gathered:
		for _, name := range []string{"text", "chunk"} {
			if v, ok := m.Payload.Map().GetString(name); ok && v.Kind() == value.KindString {
				of, _ := m.Payload.Map().GetString("message")
				st = t.accumulate(s, v.AsString(), of)
				break
			}
		}
		return st, st == running
	case hostmsg.Removed: // dispatchMessage has removed the pieces
		return running, true
	}
	if row.ByPerson() && t.m.config.AskPerson {
		if _, isSet := s.decl.defaultAnswer(row); !isSet || slices.Contains(s.decl.Assumed, row.Default) {
			return t.askPerson(s, m), false
		}
	}
	st = t.answerUnhandled(s, m, row)
	return st, st == running
}

// answerUnhandled reports a message that has no handler. If the message needs an answer,
// answerUnhandled sends the declared default answer, or an error if there is none.
func (t *task) answerUnhandled(s *scope, m *effect.HostMessage, row *hostmsg.Message) (st status) {
	if st = s.notice("listen:unhandled", m, nil); st == running && row.Waits() {
		answer, ok := s.decl.defaultAnswer(row)
		if ok {
			st = t.replyToMessage(s, m, effect.ByDefault, answer, "")
		} else {
			problem := "nothing handles " + m.Type + " messages"
			if row.ByPerson() {
				problem += ", and no person can be asked"
			}
			st = t.replyToMessage(s, m, effect.ByNone, nil, problem)
		}
	}
	return st
}

// gathered is the partial result of a host that streams its result.
type gathered struct {
	text     []byte
	messages []gatheredMessage // parts of text in their order; text of no message is in none
}

// gatheredMessage is a part of the partial result that belongs to one message of the host.
type gatheredMessage struct {
	id         string
	start, end int // in bytes
}

// gatheredMessageSize is the size of a gatheredMessage in memory, with an id of common length.
const gatheredMessageSize = 80

// accumulate appends a piece to the partial result of a host that streams its result. of is the ID
// of the message to which it belongs, if that is a String.
func (t *task) accumulate(s *scope, piece string, of value.Slot) status {
	g := &s.partial
	start := len(g.text)
	if n := start + len(piece); n > cap(g.text) {
		// When the array grows, the pieces are copied, so that both the old and the new memory are
		// in use.
		n += n / 4
		if st := t.reserveMemory(n); st != running {
			return st
		}
		g.text = append(make([]byte, 0, n), g.text...)
	}
	g.text = append(g.text, piece...)
	if of.Kind() != value.KindString || piece == "" {
		return running
	}
	if last := len(g.messages) - 1; last >= 0 && g.messages[last].id == of.AsString() && g.messages[last].end == start {
		g.messages[last].end = len(g.text)
		return running
	}
	id := strings.Clone(of.AsString()) // not a part of the message's line
	if n := len(g.messages); n == cap(g.messages) {
		if st := t.reserveMemory(2*n*gatheredMessageSize + len(id)); st != running {
			return st
		}
	}
	g.messages = append(g.messages, gatheredMessage{id, start, len(g.text)})
	return running
}

// remove removes the pieces of the messages that a host's message retracts. It ignores IDs of other
// messages.
func (g *gathered) remove(payload value.Slot) {
	ids, _ := payload.Map().GetString("messages")
	if ids.Kind() != value.KindArray || len(g.messages) == 0 {
		return
	}
	retracted := map[string]bool{}
	for i := range ids.Array().Len {
		if id := ids.Array().At(i); id.Kind() == value.KindString {
			retracted[id.AsString()] = true
		}
	}
	kept, removed, next := g.messages[:0], 0, 0 // next is the end of the last part that was removed
	for _, m := range g.messages {
		size := m.end - m.start
		if retracted[m.id] {
			if removed > 0 {
				copy(g.text[next-removed:], g.text[next:m.start])
			}
			removed, next = removed+size, m.end
			continue
		}
		kept = append(kept, gatheredMessage{m.id, m.start - removed, m.end - removed})
	}
	if removed > 0 {
		copy(g.text[next-removed:], g.text[next:])
		g.text = g.text[:len(g.text)-removed]
	}
	clear(g.messages[len(kept):])
	g.messages = kept
}

// replyToMessage answers a message with v, or with an error if problem is not "". by is the kind of
// the party that answers. A reply to a host that has exited is dropped, because the host's next
// message reports the exit. If the host's queue is full, sendReply sends it later.
func (t *task) replyToMessage(s *scope, m *effect.HostMessage, by string, v json.RawMessage, problem string) status {
	r := &effect.ExchangeReply{ID: s.id, InReplyTo: m.Type, AnswerTo: m.ID, Value: v, Error: problem, By: by}
	t.m.stats.Requests++
	if err := t.recordReply(s.decl.Name, m.Payload, s.decision, r, func() Place { return s.handlerPlace(m.Type) }); err != nil {
		return t.decisionFailed(err)
	}
	if t.isAlone() {
		_, err := t.performEffect(t.m.requests.ctx, r)
		return t.replySent(s, r, err)
	}
	_, err := t.performEffect(t.m.requests.atOnce, r)
	if errors.Is(err, effect.ErrWaits) {
		s.unsent = r
		t.m.stats.Requests-- // startRequest counts the request again
		return running
	}
	return t.replySent(s, r, err)
}

// replySent continues after a reply.
func (t *task) replySent(s *scope, r *effect.ExchangeReply, err error) status {
	if err == nil {
		return running
	}
	var e *effect.Error
	if errors.As(err, &e) {
		s.replyFailed(r, e)
		return running
	}
	if t.cancelled() {
		return raising
	}
	return t.failRun(err)
}

// sendReply parks the task until the host's queue has space for the unsent reply. Other tasks
// continue.
func (t *task) sendReply(s *scope) status {
	w := &wait{kind: waitReply, scope: s}
	f := &pendingRequest{t: t, wait: w}
	t.m.startRequest(s.unsent, f)
	w.flight = f
	return t.park(w)
}

// endRun removes the handler run from its listen after the handler's block has ended. It returns
// the listen and the message.
func (t *task) endRun() (*scope, *effect.HostMessage) {
	s := t.innermost()
	r := s.run
	r.stopTimer()
	s.run, s.decision = nil, r.decision
	t.endDecision(r.decision)
	t.leftSpan()
	if r.timer == nil { // a pending timer still refers to the run
		s.spare = r
	}
	t.setPC(s.pc + 1)
	return s, &r.message
}

// inBlock reports whether the current frame executes a handler's block. A program that executes
// BlockEnd or BlockReply outside of one is invalid.
func (t *task) inBlock() bool {
	s := t.innermost()
	return s != nil && s.run != nil && s.depth == t.depth()
}

func opBlockEnd(t *task, in *ins) status {
	if !t.inBlock() {
		return t.badOperand(in)
	}
	if t.cancelled() {
		return raising
	}
	v := value.Flatten(*t.slot(in.a))
	if t.innermost().run.message.Type == hostmsg.Result {
		return resultChecked(t, v)
	}
	if v.IsResult() {
		if v.Variant() == value.VariantErr {
			// No region of the block may catch this error, because the handler has returned it as
			// its value.
			t.raised = &raised{value: value.Flatten(v.Fields()[0]), trace: callsOf(call{pc: int32(t.pc())})}
			t.setPC(t.innermost().pc + 1)
			return raising
		}
		v = value.Flatten(v.Fields()[0])
	}
	s, m := t.endRun()
	if v.IsNil() {
		return t.noAnswer(s, m)
	}
	if st := t.replyToMessage(s, m, effect.ByHandler, t.json(v), ""); st != running {
		return st
	}
	return t.processMessages(s)
}

// noAnswer continues the listen after a handler that returned nil. If the host awaits an answer,
// noAnswer logs that the host receives none.
func (t *task) noAnswer(s *scope, m *effect.HostMessage) status {
	if hostmsg.Lookup(m.Type).Waits() {
		t.m.stats.Requests++
		_, err := t.performEffect(t.m.requests.ctx, &effect.Log{Level: "warn", Message: fmt.Sprintf("host '%s': the handler of \"%s\" returned nil, which is no answer: the host waits for one", s.decl.Name, m.Type)})
		if err != nil && t.cancelled() {
			return raising
		} else if err != nil {
			return t.failRun(err)
		}
	}
	return t.processMessages(s)
}

func opBlockReply(t *task, in *ins) status {
	v := *t.slot(in.a)
	if !t.inBlock() || !v.IsResult() {
		return t.badOperand(in)
	}
	if t.cancelled() {
		return raising
	}
	s, m := t.endRun()
	var st status
	if payload := v.Fields()[0]; v.Variant() == value.VariantErr {
		st = t.replyToMessage(s, m, effect.ByTools, nil, value.Message(payload))
	} else {
		st = t.replyToMessage(s, m, effect.ByTools, value.AppendJSON(nil, payload), "")
	}
	if st != running {
		return st
	}
	return t.processMessages(s)
}

// runCancelled continues the listen after a handler run was cancelled and its frames were removed.
// If the question expired, the host receives the timeout's answer. A withdrawn message is not
// answered.
func (t *task) runCancelled(s *scope) status {
	cause := s.run.cause
	_, m := t.endRun()
	if cause == errExpired {
		answer, problem := s.decl.timeoutAnswer(m.Type)
		if st := t.replyToMessage(s, m, effect.ByTimeout, answer, problem); st != running {
			return st
		}
	}
	return t.processMessages(s)
}

// A person may answer a host's message that neither a handler nor a default of the program answers.
// The VM treats the question to the person as a handler run without a block: the host can withdraw
// the message, and its time limit can expire.

// questionOf describes a message of type typ as a question for a person.
func (s *scope) questionOf(typ string) effect.Asking {
	return effect.Asking{Host: s.decl.Name, Type: typ, Within: s.timeLimit(typ)}
}

// askPerson asks a person to answer the first queued message.
func (t *task) askPerson(s *scope, m *effect.HostMessage) status {
	m = t.beginRun(s, m)
	r := &effect.AskHost{Asking: s.questionOf(m.Type), Message: value.AppendJSON(nil, m.Payload)}
	return t.request(r, &wait{kind: waitPerson, scope: s})
}

// personAnswered continues the listen with a person's answer. If no person could be asked, it
// treats the message as unhandled.
func (t *task) personAnswered(w *wait) status {
	s, m := t.endRun()
	var st status
	var unanswered *effect.Error
	if errors.As(w.err, &unanswered) {
		st = t.answerUnhandled(s, m, hostmsg.Lookup(m.Type))
	} else if a := w.result.(*effect.Answer); schema.CheckAnswer(a.Value, nil) != nil {
		st = t.replyToMessage(s, m, a.By, nil, "the answer is not JSON")
	} else {
		st = t.replyToMessage(s, m, a.By, a.Value, "")
	}
	if st != running {
		return st
	}
	return t.processMessages(s)
}

// forwardedQuestion returns the question that an awaited emit of a default loop forwards on this
// channel. It returns nil if the emit does not forward the host's current message.
func (t *task) forwardedQuestion(channel string) *effect.Asking {
	s := t.innermost()
	if s == nil || s.run == nil || !s.l.info.Execute || hostmsg.Lookup(s.run.message.Type).Channel != channel {
		return nil
	}
	a := s.questionOf(s.run.message.Type)
	return &a
}
