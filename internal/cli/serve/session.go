package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/vm"
)

// The states of a session.
const (
	stateRunning   = "running"
	stateDone      = "done"
	stateFailed    = "failed"
	stateCancelled = "cancelled"
)

// session is a run of a program for a client. The fields before mu do not change after creation.
type session struct {
	srv      *Server
	id       string
	creator  *client
	program  json.RawMessage // description of the program, in the client's words
	does     work
	metadata map[string]any
	linger   *time.Duration // time for which the session continues without its client; nil for no limit
	created  time.Time
	ctx      context.Context
	stop     context.CancelCauseFunc
	ended    chan struct{} // closed when the run and everything that belongs to it have ended

	mu      sync.Mutex
	log     eventLog
	changed chan struct{} // closed and replaced whenever an event is added
	subs    map[*client]*subscription
	askers  []*client      // clients that answer emits; the client that registered last is first
	running engine.Running // running program; set once the program has started
	calls   int64          // number of calls that clients made through the session
	state   stateBody
	end     time.Time
}

// work is the compiled program of a session and the options of its run.
type work struct {
	program *engine.Program
	options engine.Options
}

// runError is the reason why a session failed.
type runError struct {
	Kind    string  `json:"kind"`
	Message string  `json:"message"`
	Trace   []place `json:"trace"`
}

// place is a position in a program.
type place struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
}

// usage is what models and hosts have used in a session.
type usage struct {
	Calls     int64           `json:"calls"`
	Failed    int64           `json:"failed"`
	TokensIn  int64           `json:"tokens_in"`
	TokensOut int64           `json:"tokens_out"`
	Cost      json.RawMessage `json:"cost_usd"` // null if a price is unknown
}

func usedBy(u models.Sum) *usage {
	x := &usage{u.Calls, u.FailedCalls, u.TokensIn, u.TokensOut, json.RawMessage("null")}
	if u.Unpriced == 0 {
		x.Cost = json.RawMessage(budget.Money(u.Cost).String())
	}
	return x
}

// add adds an event, sends it to the subscribers and returns its number.
func (s *session) add(kind string, body any) (number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addLocked(kind, body)
}

// addLocked is add for callers that hold mu.
func (s *session) addLocked(kind string, body any) (number int64) {
	number = s.log.last() + 1
	text := event(s.id, number, kind, body)
	s.log.add(text)
	if len(s.subs) > 0 {
		message := notification("session/event", text)
		for _, x := range s.subs {
			x.offer(number, message)
		}
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return number
}

// handleEvent adds an event of the run to the session's log.
func (s *session) handleEvent(e engine.RunEvent) int64 {
	switch e := e.(type) {
	case engine.EmitEvent:
		payload := e.Payload
		if payload == nil {
			payload = json.RawMessage("null")
		}
		return s.add("emit", emitBody{e.Channel, payload, e.Awaited})
	case engine.PrintEvent:
		return s.add("print", printBody{e.Text})
	case engine.LogEvent:
		return s.add("log", logBody{e.Level, e.Message})
	case engine.ToolEvent:
		b := toolBody{Phase: "start", CallID: e.CallID, Tool: e.Tool, By: e.By, Route: e.Route}
		if e.Ended {
			ms := e.Duration.Milliseconds()
			b.Phase, b.Outcome, b.DurationMS = "end", e.Outcome, &ms
		}
		return s.add("tool", b)
	}
	panic(fmt.Sprintf("serve: an event of type %T", e))
}

// answer asks a client for the answer to an awaited emit: the client that registered last, or the
// creator of the session if none has registered.
func (s *session) answer(ctx context.Context, number int64, channel string, payload json.RawMessage) (json.RawMessage, error) {
	s.mu.Lock()
	c := s.creator
	if n := len(s.askers); n > 0 {
		c = s.askers[n-1]
	} else if !c.awaits {
		c = nil
	}
	s.mu.Unlock()
	if c == nil {
		return nil, tool.ErrNoApprover
	}
	return c.askAwaited(ctx, s.id, number, channel, payload)
}

// askAwaited sends an awaited emit to the client and returns the client's answer.
func (c *client) askAwaited(ctx context.Context, session string, number int64, channel string, payload json.RawMessage) (json.RawMessage, error) {
	if payload == nil {
		payload = json.RawMessage("null")
	}
	result, err := c.ask(ctx, "emit/await", struct {
		SessionID string          `json:"session_id"`
		Seq       int64           `json:"seq"`
		Channel   string          `json:"channel"`
		Payload   json.RawMessage `json:"payload"`
	}{session, number, channel, payload})
	if errors.Is(err, errDisconnected) {
		return nil, tool.ErrNoApprover
	}
	if err != nil {
		return nil, err
	}
	var r struct {
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(result, &r); err != nil || r.Value == nil {
		return nil, fmt.Errorf("the answer on channel '%s' is not {\"value\": …}", channel)
	}
	return r.Value, nil
}

// play runs the program until it exits, and records the result.
func (s *session) play() {
	defer close(s.ended)
	s.add("state", stateBody{State: stateRunning})
	end := stateBody{Result: json.RawMessage("null")}
	o := s.does.options
	o.Records.OnUsage = func(u *engine.Used) { end.Usage = usedBy(u.All) }
	o.Service.Ended = func(result json.RawMessage) { end.Result = result }
	err := s.contained(func() error { return s.does.program.Run(s.ctx, o) })
	end.State, end.Error = s.finalState(err)
	if end.State != stateDone {
		end.Result = nil
	}
	s.mu.Lock()
	s.state, s.end, s.running.Tools = end, time.Now(), nil
	s.does = work{} // release the program; only its description is still needed
	s.addLocked("state", end)
	s.mu.Unlock()
	s.stop(nil)
	s.srv.finished(s)
}

// contained calls f. It returns a panic of f as an error of this session.
func (s *session) contained(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.srv.log("error", fmt.Sprintf("session %s: internal error: %v\n%s", s.id, p, debug.Stack()))
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	return f()
}

// finalState returns the state of a run that ended with err.
func (s *session) finalState(err error) (string, *runError) {
	var failed *vm.Uncaught
	var late *budget.TimeError
	switch {
	case err == nil:
		return stateDone, nil
	case errors.As(err, &failed):
		e := &runError{Kind: failed.Kind, Message: failed.Message, Trace: []place{}}
		if failed.Panic {
			e.Kind = "panic"
		}
		for _, p := range failed.Trace {
			if p.Left == 0 {
				e.Trace = append(e.Trace, place{p.Function, p.File, p.Line, p.Column})
			}
		}
		return stateFailed, e
	case errors.As(err, &late):
		return stateFailed, &runError{Kind: "limit", Message: fmt.Sprintf("the session took longer than the %s that its budget or [limits] allows", effect.Seconds(late.Seconds)), Trace: []place{}}
	case s.ctx.Err() != nil:
		return stateCancelled, &runError{Kind: "cancelled", Message: context.Cause(s.ctx).Error(), Trace: []place{}}
	}
	return stateFailed, &runError{Kind: "run", Message: err.Error(), Trace: []place{}}
}

// cancel interrupts the run in the same way as Ctrl-C.
func (s *session) cancel(reason string) {
	if reason == "" {
		reason = "cancelled"
	}
	s.stop(errors.New(reason))
}

// hasEnded reports whether the run has ended.
func (s *session) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.State != stateRunning
}

// tools returns the session's tools, or nil once the run has ended.
func (s *session) tools() *tool.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running.Tools
}

// description is a session in the form of the protocol.
type description struct {
	SessionID string          `json:"session_id"`
	State     string          `json:"state"`
	Program   json.RawMessage `json:"program"`
	Created   string          `json:"created"`
	Ended     string          `json:"ended,omitempty"`
	Cursor    int64           `json:"cursor"`
	ClientID  string          `json:"client_id"`
	Metadata  map[string]any  `json:"metadata"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *runError       `json:"error,omitempty"`
	Usage     *usage          `json:"usage"`
}

func (s *session) describe() description {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := description{SessionID: s.id, State: s.state.State, Program: s.program, Created: s.created.UTC().Format(timeForm), Cursor: s.log.last(),
		ClientID: s.creator.id, Metadata: s.metadata, Result: s.state.Result, Error: s.state.Error, Usage: s.state.Usage}
	if !s.end.IsZero() {
		d.Ended = s.end.UTC().Format(timeForm)
	}
	if d.Usage == nil {
		var u models.Sum
		if s.running.Usage != nil {
			u = s.running.Usage()
		}
		d.Usage = usedBy(u)
	}
	return d
}
