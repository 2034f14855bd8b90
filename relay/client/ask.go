package client

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// requests contains the open requests to people and the lines about requests that must be written.
type requests struct {
	open    map[string]*openRequest
	asked   map[string]string // ids of the requests that were reported, by decidedKey, until they are decided
	order   []string          // ids of the open requests, oldest first
	control [][]byte          // lines to write to hostd
}

// openRequest is a request that has no answer yet.
type openRequest struct {
	line   []byte
	answer chan protocol.HostdMessage // receives the answer; has room for it
}

// all returns the ids and lines of all open requests, to send them over a new connection. It
// discards the lines to write, because they refer to the previous connection.
func (a *requests) all() (ids []string, lines [][]byte) {
	a.control = nil
	for _, id := range a.order {
		lines = append(lines, a.open[id].line)
	}
	return slices.Clone(a.order), lines
}

// takeControl returns the lines to write and removes them.
func (a *requests) takeControl() [][]byte {
	out := a.control
	a.control = nil
	return out
}

// answer delivers an answer to its request. It ignores an answer to a request that is not open.
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

// withdraw withdraws the request id if it is open.
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

// Ask sends an awaited emit, or a host's question, to the people who follow the run through the
// relay. id is the result of Emitted, or "". alone is true if no local handler can answer. In that
// case Ask returns nil without an error if hostd was never reached. If a local handler exists, Ask
// waits until an answer arrives or ctx is cancelled. If ctx is cancelled, Ask withdraws the
// request.
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
	q := newRequest(id, r, time.Now(), userfile.ReadCompared)
	x := &openRequest{line: q.line(), answer: make(chan protocol.HostdMessage, 1)}
	s.requests.open[id] = x
	s.requests.order = append(s.requests.order, id)
	s.requests.asked[askedKey(r)] = id
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

// Reachable reports whether hostd is or was connected. It first waits until the first attempt to
// connect has ended.
func (s *Source) Reachable(ctx context.Context) bool {
	select {
	case <-s.tried:
	case <-ctx.Done():
		return false
	}
	return s.wasReached()
}

// toAnswer converts an answer from hostd to an answer for the run.
func toAnswer(q *request, m protocol.HostdMessage) (*effect.Answer, error) {
	if m.Error != "" {
		return nil, effect.Errorf("EmitError", "%s", m.Error).With("channel", q.channel).With("reason", "refused").Decided(effect.ByRelay, m.By, m.Seal)
	}
	if err := schema.CheckAnswer(m.Value, nil); err != nil {
		return nil, effect.Errorf("EmitError", "the relay's answer on channel '%s' was refused: %v", q.channel, err).With("channel", q.channel).With("reason", "refused")
	}
	return &effect.Answer{Value: m.Value, Repeatable: true, By: effect.ByRelay, Name: m.By, Seal: m.Seal}, nil
}
