package client

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// requests holds the open requests and the lines to write about them.
type requests struct {
	open    map[string]*openRequest
	order   []string // ids of the open requests
	control [][]byte // lines to write
}

// openRequest is an open request.
type openRequest struct {
	line   []byte
	answer chan protocol.HostdMessage // buffered for one answer
}

// all returns the ids and lines of all open requests, for a new connection, and discards pending
// control lines.
func (a *requests) all() (ids []string, lines [][]byte) {
	a.control = nil
	for _, id := range a.order {
		lines = append(lines, a.open[id].line)
	}
	return slices.Clone(a.order), lines
}

// takeControl returns the lines to write.
func (a *requests) takeControl() [][]byte {
	out := a.control
	a.control = nil
	return out
}

// answer delivers an answer. It ignores answers to closed requests.
func (a *requests) answer(m protocol.HostdMessage) {
	if x := a.open[m.Answer]; x != nil {
		a.drop(m.Answer)
		x.answer <- m
	}
}

func (a *requests) drop(id string) {
	delete(a.open, id)
	a.order = slices.DeleteFunc(a.order, func(other string) bool { return other == id })
}

// withdraw withdraws a request if it is open.
func (a *requests) withdraw(id string) {
	if a.open[id] == nil {
		return
	}
	a.drop(id)
	line, err := json.Marshal(protocol.SourceMessage{Withdraw: id})
	if err != nil {
		panic("relay: an id is no JSON: " + err.Error())
	}
	a.control = append(a.control, append(line, '\n'))
}

// withdrawAll withdraws all open requests at the end of the run.
func (s *Source) withdrawAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range slices.Clone(s.requests.order) {
		s.requests.withdraw(id)
	}
}

// Ask sends an awaited emit or a host's question to people elsewhere. alone means that no local
// handler is asked. It returns nil without an error if hostd was never reached, unless a local
// handler exists, whose answer is then awaited. id is the result of Emitted, or "". If ctx is
// cancelled, the request is withdrawn.
func (s *Source) Ask(ctx context.Context, id string, r effect.Request, alone bool) (*effect.Answer, error) {
	if alone && !s.Reachable(ctx) {
		return nil, ctx.Err()
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil, nil
	}
	if id == "" {
		id = s.nextID()
	}
	q := newRequest(id, r, time.Now())
	x := &openRequest{line: q.line(), answer: make(chan protocol.HostdMessage, 1)}
	s.requests.open[id] = x
	s.requests.order = append(s.requests.order, id)
	s.requests.control = append(s.requests.control, x.line)
	s.mu.Unlock()
	s.notifyWriter(true)
	select {
	case m := <-x.answer:
		return toAnswer(q, m)
	case <-ctx.Done():
		s.mu.Lock()
		s.requests.withdraw(id)
		s.mu.Unlock()
		s.notifyWriter(true)
		return nil, context.Cause(ctx)
	}
}

// Reachable reports whether hostd is or was connected. It waits for the first attempt to connect.
func (s *Source) Reachable(ctx context.Context) bool {
	select {
	case <-s.tried:
	case <-ctx.Done():
		return false
	}
	return s.wasReached()
}

// toAnswer converts an answer for the run.
func toAnswer(q *request, m protocol.HostdMessage) (*effect.Answer, error) {
	switch {
	case m.Error != "":
		return nil, effect.Errorf("EmitError", "%s", m.Error).With("channel", q.channel).With("reason", "refused").Decided(effect.ByRelay, m.By)
	case !json.Valid(m.Value):
		return nil, effect.Errorf("EmitError", "the relay's answer on channel '%s' is not JSON", q.channel).With("channel", q.channel).With("reason", "refused")
	}
	return &effect.Answer{Value: m.Value, Repeatable: true, By: effect.ByRelay, Name: m.By}, nil
}
