package eventstream

import (
	"errors"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/vm"
)

// The errors of items that did not end by themselves.
var (
	errCancelled = errors.New(cancelled)
	errWithdrawn = errors.New("withdrawn by the host")
)

// exchange is an open exchange with a host.
type exchange struct {
	item
	// messages contains the items of the last messages, 0 for a message that is no item. The number
	// of the first one in its exchange is first.
	messages []int64
	first    uint32
	waiting  []message // unanswered requests of the host, oldest first
	used     *effect.Metered
	result   *effect.HostMessage
	opened   *effect.ExchangeOpened
	err      error // the error of the exchange
	over     bool  // the exchange has received its last message, or has failed
}

// message is an unanswered request of a host.
type message struct {
	item
	typ, id string
}

// mostMessages is the number of messages that an exchange remembers. It is above the maximum number
// of messages that wait for their handler.
const mostMessages = 8192

// addMessage remembers the item of the next message.
func (x *exchange) addMessage(number int64) {
	if len(x.messages) == 2*mostMessages {
		x.first += mostMessages
		x.messages = append(x.messages[:0], x.messages[mostMessages:]...)
	}
	x.messages = append(x.messages, number)
}

// itemOf returns the item of a message by its number in the exchange, or 0.
func (x *exchange) itemOf(message uint32) int64 {
	if i := message - x.first; i < uint32(len(x.messages)) {
		return x.messages[i]
	}
	return 0
}

// beginParts handles the items that consist of several effects. It returns a function for the
// result of the effect, or nil. q is the effect, and shown is the effect without secrets. model is
// the request to a model, if the effect is one.
func (s *Stream) beginParts(t *task, e int64, at vm.Caller, q, shown effect.Request, model *request) func(effect.Result, error) {
	switch q := q.(type) {
	case *effect.AgentCall:
		return func(r effect.Result, err error) {
			reply, _ := r.(*effect.AgentReply)
			s.endRequest(model, reply, err)
			delete(s.requests, q)
		}
	case *effect.StreamOpen:
		return func(r effect.Result, err error) {
			if opened, ok := r.(*effect.StreamOpened); ok && err == nil {
				s.streams[opened.ID] = model
				return
			}
			s.endRequest(model, nil, err)
			delete(s.requests, &q.AgentCall)
		}
	case *effect.StreamNext:
		return func(r effect.Result, err error) {
			piece, _ := r.(*effect.StreamPiece)
			if err == nil && (piece == nil || piece.Reply == nil) {
				return
			}
			var reply *effect.AgentReply
			if err == nil {
				reply = piece.Reply
			}
			s.endStream(q.ID, reply, err)
		}
	case *effect.StreamClose:
		return func(r effect.Result, _ error) {
			closed, ok := r.(*effect.StreamClosed)
			if x := s.streams[q.ID]; ok && x != nil {
				s.reportAttempts(x, nil, &effect.Error{Attempts: closed.Failed})
			}
			s.endStream(q.ID, nil, nil)
		}
	case *effect.ExchangeOpen:
		return s.beginExchange(t, e, at, q, shown)
	case *effect.ExchangeNext:
		return func(r effect.Result, err error) { s.receiveMessages(q.ID, e, r, err) }
	case *effect.ExchangeReply:
		s.answerRequest(q, shown.(*effect.ExchangeReply))
	case *effect.ExchangeClose:
		return func(effect.Result, error) { s.endExchange(q.ID, q.Reason) }
	case *effect.MCPOpen:
		return s.beginServerCall(t, e, at, q, shown)
	case *effect.MCPNext:
		return func(r effect.Result, err error) { s.endServerCall(q.ID, r, err) }
	case *effect.Emit:
		if what, ok := strings.CutPrefix(q.Channel, "pipeline:"); ok {
			place := s.place(at)
			return func(effect.Result, error) { s.reportLifecycle(t, e, place, what, q.Payload) }
		}
	}
	return nil
}

// endStream handles the end of a streamed reply.
func (s *Stream) endStream(id int64, reply *effect.AgentReply, err error) {
	if x := s.streams[id]; x != nil {
		delete(s.streams, id)
		s.endRequest(x, reply, err)
	}
}

// beginExchange begins an exchange. It fails if its host cannot be started.
func (s *Stream) beginExchange(t *task, e int64, at vm.Caller, q *effect.ExchangeOpen, shown effect.Request) func(effect.Result, error) {
	x := &exchange{item: item{kind: event.Exchange, parent: t.cause(), task: t.id, effect: e, name: q.Host}, first: 1}
	began := s.begin(&x.item)
	began.Request, began.Place = shown, s.place(at)
	s.emitEvent(began)
	return func(r effect.Result, err error) {
		if opened, ok := r.(*effect.ExchangeOpened); ok && err == nil {
			x.opened, x.used, s.exchanges[opened.ID] = opened, s.meter.Exchange(opened.ID), x
			return
		}
		s.emitEnd(&x.item, nil, err)
	}
}

// receiveMessages handles the messages, or the failure, of an exchange.
func (s *Stream) receiveMessages(id, e int64, r effect.Result, err error) {
	x := s.exchanges[id]
	if x == nil {
		return
	}
	if failed, ok := errors.AsType[*effect.Error](err); ok {
		x.err, x.over = failed, true
		return
	}
	all, ok := r.(*effect.ExchangeMessages)
	if !ok || err != nil {
		return // the exchange was cancelled
	}
	all = s.cleanResult(effect.KindExchangeNext, all).(*effect.ExchangeMessages)
	for i := range all.Messages {
		x.addMessage(s.receiveMessage(x, e, &all.Messages[i]))
	}
}

// receiveMessage handles a message. It returns the item of a message that a handler may handle, or
// 0.
func (s *Stream) receiveMessage(x *exchange, e int64, m *effect.HostMessage) int64 {
	row := hostmsg.Lookup(m.Type)
	i := item{kind: event.Message, parent: x.number, task: x.task, effect: e, name: m.Type}
	switch {
	case m.IsRuling():
		i.kind = event.Approval
		m = withID(m)
		s.emitEvent(withMessage(s.begin(&i), x, m))
		s.emitEvent(withMessage(s.end(&i), x, m))
	case row.Role == hostmsg.Withdraws:
		s.withdrawRequest(x, m.ID)
	case row.Terminal():
		x.result, x.over = m, true
		if row.Role == hostmsg.Fails {
			x.err = failureOf(m)
		}
	case row.ByPerson():
		i.kind = event.Question
		if row.Form == hostmsg.YesNo {
			i.kind = event.Approval
		}
		s.emitEvent(withMessage(s.begin(&i), x, m))
		x.waiting = append(x.waiting, message{i, m.Type, m.ID})
		return i.number
	case row.Waits(): // reported as the tool call
	default:
		s.emitEvent(withMessage(s.point(&i), x, m))
		return i.number
	}
	return 0
}

// withID returns a message about a decision of the manifest's rules with the id of the request,
// which is only a part of its payload.
func withID(m *effect.HostMessage) *effect.HostMessage {
	decided := *m
	if id, ok := m.Payload.Map().GetString("id"); ok && !id.IsNil() {
		decided.ID = string(value.AppendJSON(nil, id))
	}
	return &decided
}

func withMessage(e *event.Event, x *exchange, m *effect.HostMessage) *event.Event {
	e.Message, e.Used = m, x.used.Use().Sum
	return e
}

// failureOf returns the error that a host's error message describes.
func failureOf(m *effect.HostMessage) error {
	text := "the host reported an error"
	if v, ok := m.Payload.Map().GetString("message"); ok {
		text = value.Text(v)
	}
	return effect.Errorf("HostError", "%s", text)
}

// withdrawRequest ends a request that the host has withdrawn.
func (s *Stream) withdrawRequest(x *exchange, id string) {
	for i, m := range x.waiting {
		if m.id == id && id != "" {
			x.waiting = slices.Delete(x.waiting, i, i+1)
			s.emitEnd(&m.item, nil, errWithdrawn)
			return
		}
	}
}

// answerRequest ends the request of a host that a reply answers. The first reply counts: the effect
// may be performed again.
func (s *Stream) answerRequest(q, shown *effect.ExchangeReply) {
	x := s.exchanges[q.ID]
	if x == nil {
		return
	}
	for i, m := range x.waiting {
		if m.typ == q.InReplyTo && m.id == q.AnswerTo {
			x.waiting = slices.Delete(x.waiting, i, i+1)
			e := s.end(&m.item)
			e.Request = shown
			s.emitEvent(e)
			return
		}
	}
}

// endExchange ends an exchange and its unanswered requests. reason is the reason for which an
// exchange was closed before its end.
func (s *Stream) endExchange(id int64, reason string) {
	x := s.exchanges[id]
	if x == nil {
		return
	}
	delete(s.exchanges, id)
	for _, m := range x.waiting {
		s.emitEnd(&m.item, nil, errCancelled)
	}
	e := s.end(&x.item)
	e.Message, e.Result, e.Used, e.Err = x.result, x.opened, x.used.Use().Sum, s.cleanError(x.err)
	if x.err == nil && x.used.Failed() {
		e.Err = s.cleanError(effect.Errorf("HostError", "%s", x.used.Proofs.String()))
	}
	if !x.over {
		e.Err = s.cleanError(errors.New(reason))
	}
	s.emitEvent(e)
}

// beginServerCall begins a call of an MCP server.
func (s *Stream) beginServerCall(t *task, e int64, at vm.Caller, q *effect.MCPOpen, shown effect.Request) func(effect.Result, error) {
	x := &item{kind: event.MCP, parent: t.cause(), task: t.id, effect: e, name: q.Function()}
	began := s.begin(x)
	began.Request, began.Place = shown, s.place(at)
	s.emitEvent(began)
	return func(r effect.Result, err error) {
		if opened, ok := r.(*effect.MCPOpened); ok && err == nil {
			s.servers[opened.ID] = x
			return
		}
		s.emitEnd(x, nil, err)
	}
}

// endServerCall ends a call of an MCP server after its last event.
func (s *Stream) endServerCall(id int64, r effect.Result, err error) {
	x := s.servers[id]
	last, _ := r.(*effect.MCPEvent)
	if x == nil || err == nil && (last == nil || last.Kind != effect.MCPResult) {
		return
	}
	delete(s.servers, id)
	s.emitEnd(x, s.cleanResult(effect.KindMCPNext, r), err)
}

// emitEnd ends an item with the result of an effect.
func (s *Stream) emitEnd(x *item, r effect.Result, err error) {
	e := s.end(x)
	e.Result, e.Err = r, s.cleanError(err)
	s.emitEvent(e)
}
