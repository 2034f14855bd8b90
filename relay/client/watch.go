package client

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	view "github.com/concerto-lang/concerto/internal/data/hostmsg/request"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// conversations contains the open conversations with hosts and agents.
type conversations struct {
	open   map[string]conversation
	agents int64            // number of agent calls so far, for their ids
	calls  map[int64]string // ids of the running agent calls, by item
}

// conversation is an open conversation.
type conversation struct {
	host     string
	at       time.Time
	failed   string // error of the conversation; "" if there is none
	complete bool   // the last message of the host has been received
}

// omitted contains the kinds of events that are not sent to a relay.
var omitted = func() map[event.Kind]string {
	const own = "the relay receives the output, the questions and the conversations of a run"
	const requests = "the requests of the conversation are handled"
	return map[event.Kind]string{
		event.Emit: "frequent; reported where the output is written", event.Print: "frequent; reported where the output is written",
		event.Await: "the question is reported where it is asked", event.Log: "not part of the output", event.Error: "the end of the run contains it",
		event.Exchange: requests, event.Message: requests, event.Question: requests, event.Approval: requests, event.Agent: requests, event.Model: requests,
		event.Run: own, event.Task: own, event.Pipeline: own, event.Stage: own, event.Listen: own, event.Handler: own, event.Retry: own, event.Fallback: own,
		event.Repair: own, event.Tool: own, event.MCP: own, event.HTTP: own, event.Command: own, event.Timer: own, event.Store: own, event.File: own,
	}
}()

// Sink returns what receives the events of the run. It reports conversations with hosts and agents,
// decisions that users of the relay did not make, and the run's places.
func (s *Source) Sink() event.Sink {
	return event.Sink{Shows: map[event.Kind]func(*event.Event){event.Request: s.handleRequest, event.Work: s.handlePlaces, event.Decision: s.handleDecision}, Omits: omitted}
}

// handleRequest handles an effect of a conversation.
func (s *Source) handleRequest(e *event.Event) {
	s.handlePlaces(e)
	begins, ends := e.Phase == event.Begin, e.Phase == event.End
	switch q := e.Request.(type) {
	case *effect.ExchangeOpen:
		if ends {
			s.reportOpened(q, e.Result, e.Err)
		}
	case *effect.ExchangeNext:
		if ends {
			s.reportMessages(exchange(q.ID), e.Result, e.Err)
		}
	case *effect.ExchangeReply:
		if begins {
			s.reportReply(q)
		}
	case *effect.ExchangeClose:
		if begins {
			s.reportClosed(exchange(q.ID), q.Reason)
		}
	case *effect.AgentCall:
		if begins {
			s.beginCall(e.Item, q)
		} else {
			s.endCall(s.endedCall(e.Item), e.Result, e.Err)
		}
	case *effect.StreamOpen:
		if begins {
			s.beginCall(e.Item, &q.AgentCall)
		} else {
			s.renameStream(s.endedCall(e.Item), e.Result, e.Err)
		}
	case *effect.StreamNext:
		if ends {
			s.setFailed(stream(q.ID), e.Err)
			if piece, ok := e.Result.(*effect.StreamPiece); ok && e.Err == nil && piece.Reply != nil {
				s.reportAnswer(stream(q.ID), piece.Reply)
			}
		}
	case *effect.StreamClose:
		if begins {
			s.reportClosed(stream(q.ID), "")
		}
	}
}

func exchange(id int64) string { return "x" + strconv.FormatInt(id, 10) }

func stream(id int64) string { return "s" + strconv.FormatInt(id, 10) }

// Located reports the line of the program that is being executed.
func (s *Source) Located(file string, at int) {
	line := protocol.Place{File: file, Line: int64(at)}
	s.mu.Lock()
	same := s.line == line
	s.line = line
	s.mu.Unlock()
	if !same {
		s.report(protocol.RunMeta, protocol.Meta{Line: &line})
	}
}

// begin reports the beginning of a conversation, and its prompt if there is one.
func (s *Source) begin(id, host, prompt string) {
	s.mu.Lock()
	s.conversations.open[id] = conversation{host: host, at: time.Now()}
	s.mu.Unlock()
	l := protocol.Listen{ListenID: id, Host: host, Phase: protocol.PhaseStart}
	if prompt != "" {
		l.MessageType, l.Value = hostmsg.Prompt, shorten(value.AppendString(nil, prompt))
	}
	s.report(protocol.RunListen, l)
}

// reportOpened reports that an exchange with a host was opened, or the error of opening it.
func (s *Source) reportOpened(q *effect.ExchangeOpen, r effect.Result, err error) {
	if at, ok := r.(*effect.ExchangeOpened); ok && err == nil {
		s.begin(exchange(at.ID), q.Host, q.Prompt)
		return
	}
	var failed *effect.Error
	if errors.As(err, &failed) {
		s.report(protocol.RunListen, protocol.Listen{ListenID: "x0", Host: q.Host, Phase: protocol.PhaseError, Error: failed.Message})
	}
}

// reportMessages reports a host's messages.
func (s *Source) reportMessages(id string, r effect.Result, err error) {
	s.setFailed(id, err)
	msgs, ok := r.(*effect.ExchangeMessages)
	if !ok || err != nil {
		return // the request has failed or was cancelled
	}
	s.mu.Lock()
	x, open := s.conversations.open[id]
	s.mu.Unlock()
	if !open {
		return
	}
	for i := range msgs.Messages {
		m := &msgs.Messages[i]
		row, payload := hostmsg.Lookup(m.Type), value.AppendJSON(nil, m.Payload)
		l := protocol.Listen{ListenID: id, Host: x.host, Phase: protocol.PhaseMessage, MessageType: m.Type, MessageID: plainID(m.ID), Value: shorten(payload)}
		if v := viewOf(m, payload); v != nil {
			l.Title, l.Line = firstChars(v.Title, maxPrompt), firstChars(v.Subject(), maxPrompt)
		} else if m.Decided {
			l.Title = eventText(m.Type, payload)
		}
		s.report(protocol.RunListen, l)
		if row.Terminal() {
			x.complete = true
			if row.Role == hostmsg.Fails {
				x.failed = "the host failed"
			}
		}
	}
	s.mu.Lock()
	s.conversations.open[id] = x
	s.mu.Unlock()
}

// viewOf returns the view of a host's message about a call or an approval, or nil.
func viewOf(m *effect.HostMessage, payload json.RawMessage) *view.View {
	switch {
	case m.Type == hostmsg.Progress:
		return view.OfCall(payload)
	case m.Type == hostmsg.Approval:
		return view.Of(payload, nil)
	case m.IsRuling():
		var of struct {
			Asked json.RawMessage `json:"asked"`
		}
		if json.Unmarshal(payload, &of) == nil && of.Asked != nil {
			return view.Of(of.Asked, nil)
		}
	}
	return nil
}

// plainID returns a message id, which is JSON, as plain text.
func plainID(id string) string {
	var text string
	if json.Unmarshal([]byte(id), &text) == nil {
		return text
	}
	return id
}

// reportReply reports an answer to a host.
func (s *Source) reportReply(q *effect.ExchangeReply) {
	id := exchange(q.ID)
	s.mu.Lock()
	x, open := s.conversations.open[id]
	s.mu.Unlock()
	if !open {
		return
	}
	l := protocol.Listen{ListenID: id, Host: x.host, Phase: protocol.PhaseReply, MessageType: q.InReplyTo, MessageID: plainID(q.AnswerTo), Error: q.Error}
	if q.Error == "" {
		l.Value = shorten(q.Value)
	}
	s.report(protocol.RunListen, l)
}

// setFailed records the error of a conversation.
func (s *Source) setFailed(id string, err error) {
	var failed *effect.Error
	if !errors.As(err, &failed) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, open := s.conversations.open[id]; open {
		x.failed = failed.Message
		s.conversations.open[id] = x
	}
}

// reportClosed reports the end of a conversation. reason is not empty if the conversation was
// closed early.
func (s *Source) reportClosed(id, reason string) {
	s.mu.Lock()
	x, open := s.conversations.open[id]
	delete(s.conversations.open, id)
	s.mu.Unlock()
	if !open {
		return
	}
	took := time.Since(x.at).Milliseconds()
	l := protocol.Listen{ListenID: id, Host: x.host, Phase: protocol.PhaseComplete, DurationMS: &took}
	switch {
	case x.failed != "":
		l.Phase, l.Error = protocol.PhaseError, x.failed
	case !x.complete && reason != "":
		l.Phase, l.Error = protocol.PhaseError, reason
	}
	s.report(protocol.RunListen, l)
}

// beginCall reports the start of a model call of an agent. The last message of the user is its
// prompt.
func (s *Source) beginCall(item int64, call *effect.AgentCall) {
	prompt := ""
	if n := len(call.Messages); n > 0 && call.Messages[n-1].Role == "user" {
		prompt = call.Messages[n-1].Content
	}
	s.mu.Lock()
	s.conversations.agents++
	id := "a" + strconv.FormatInt(s.conversations.agents, 10)
	s.conversations.calls[item] = id
	s.mu.Unlock()
	s.begin(id, call.Agent, prompt)
}

// reportAnswer reports the reply of a model as the result of its conversation.
func (s *Source) reportAnswer(id string, r *effect.AgentReply) {
	s.mu.Lock()
	x, open := s.conversations.open[id]
	s.mu.Unlock()
	if !open || r.Text == "" {
		return
	}
	text, err := json.Marshal(struct {
		Text string `json:"text"`
	}{r.Text})
	if err != nil {
		panic("relay: a reply is no JSON: " + err.Error())
	}
	s.report(protocol.RunListen, protocol.Listen{ListenID: id, Host: x.host, Phase: protocol.PhaseMessage, MessageType: hostmsg.Result, Value: shorten(text)})
}

// endedCall removes a model call from the running ones and returns its id.
func (s *Source) endedCall(item int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.conversations.calls[item]
	delete(s.conversations.calls, item)
	return id
}

// endCall reports the end of a model call.
func (s *Source) endCall(id string, r effect.Result, err error) {
	s.setFailed(id, err)
	why := ""
	if reply, ok := r.(*effect.AgentReply); ok && err == nil {
		s.reportAnswer(id, reply)
	} else if !ok && err != nil {
		why = "cancelled"
	}
	s.reportClosed(id, why)
	s.reportUsage()
}

// renameStream replaces the id of an agent call by the id of its stream.
func (s *Source) renameStream(id string, r effect.Result, err error) {
	at, ok := r.(*effect.StreamOpened)
	if !ok || err != nil {
		s.endCall(id, r, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conversations.open[stream(at.ID)] = s.conversations.open[id]
	delete(s.conversations.open, id)
}

// reportUsage reports the usage of models so far.
func (s *Source) reportUsage() {
	s.mu.Lock()
	used := s.used
	s.mu.Unlock()
	if used == nil {
		return
	}
	if u := used(); u != (protocol.Usage{}) {
		s.report(protocol.RunMeta, protocol.Meta{Usage: &u})
	}
}
