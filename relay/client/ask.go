package client

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// asks are the requests that are open, and what is to be said of them.
type asks struct {
	open    map[string]*ask
	order   []string // of the open ones
	control [][]byte // lines that are to be written
}

// ask is an open request.
type ask struct {
	line   []byte
	answer chan protocol.SourceHears // has room for one
}

// all gives the ids and the lines of all that are open; nothing else is to be said to a new connection.
func (a *asks) all() (ids []string, lines [][]byte) {
	a.control = nil
	for _, id := range a.order {
		lines = append(lines, a.open[id].line)
	}
	return slices.Clone(a.order), lines
}

// take gives what is to be written.
func (a *asks) take() [][]byte {
	out := a.control
	a.control = nil
	return out
}

// answer hands on an answer; one to what is not open any more is too late.
func (a *asks) answer(m protocol.SourceHears) {
	if x := a.open[m.Answer]; x != nil {
		a.drop(m.Answer)
		x.answer <- m
	}
}

func (a *asks) drop(id string) {
	delete(a.open, id)
	a.order = slices.DeleteFunc(a.order, func(other string) bool { return other == id })
}

// withdraw takes a request back, if it is open.
func (a *asks) withdraw(id string) {
	if a.open[id] == nil {
		return
	}
	a.drop(id)
	line, err := json.Marshal(protocol.SourceSays{Withdraw: id})
	if err != nil {
		panic("relay: an id is no JSON: " + err.Error())
	}
	a.control = append(a.control, append(line, '\n'))
}

// withdrawAll takes back what is still open when the run ends.
func (s *Source) withdrawAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range slices.Clone(s.asks.order) {
		s.asks.withdraw(id)
	}
}

// Ask puts an awaited emit, or what a host asks, to people elsewhere; alone says that nobody
// else is asked. Without a value and an error nobody is there: no hostd was ever reached, and
// with somebody else at hand that is waited for. id is what Emitted gave, or "". When ctx ends
// the request is withdrawn.
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
		id = s.next()
	}
	q := requested(id, r, time.Now())
	x := &ask{line: q.line(), answer: make(chan protocol.SourceHears, 1)}
	s.asks.open[id] = x
	s.asks.order = append(s.asks.order, id)
	s.asks.control = append(s.asks.control, x.line)
	s.mu.Unlock()
	s.awake(true)
	select {
	case m := <-x.answer:
		return answered(q, m)
	case <-ctx.Done():
		s.mu.Lock()
		s.asks.withdraw(id)
		s.mu.Unlock()
		s.awake(true)
		return nil, context.Cause(ctx)
	}
}

// Reachable reports whether hostd is there, or was. It waits for the first attempt to connect.
func (s *Source) Reachable(ctx context.Context) bool {
	select {
	case <-s.tried:
	case <-ctx.Done():
		return false
	}
	return s.wasReached()
}

// answered makes an answer the run's.
func answered(q *request, m protocol.SourceHears) (*effect.Answer, error) {
	switch {
	case m.Error != "":
		return nil, effect.Errorf("EmitError", "%s", m.Error).With("channel", q.channel).With("reason", "refused").Decided(effect.ByRelay, m.By)
	case !json.Valid(m.Value):
		return nil, effect.Errorf("EmitError", "the relay's answer on channel '%s' is not JSON", q.channel).With("channel", q.channel).With("reason", "refused")
	}
	return &effect.Answer{Value: m.Value, Again: true, By: effect.ByRelay, Name: m.By}, nil
}
