package llm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// askConnections calls the agent's connection. After a failure that another connection may not
// have, it calls the fallbacks in order. piece, if not nil, receives the text of the reply as it
// arrives.
func (c *Client) askConnections(ctx context.Context, req *Request, piece func(string)) (effect.Result, error) {
	start, inner := c.cfg.Now(), ctx
	var failed []effect.Attempt
	req.failed = &failed
	defer c.emitEvent(Event{What: EventEnd, Call: req.AgentCall})
	if req.Timeout > 0 {
		var leave func()
		inner, leave = c.deadlines.withTimeout(ctx, seconds(req.Timeout))
		defer leave()
	}
	l, err := c.openRoute(req.Connection)
	if err != nil {
		c.emitEvent(Event{What: EventFailure, Call: req.AgentCall, Connection: req.Connection, Model: req.AgentCall.Model, Err: err})
		return nil, err
	}
	var before []string // errors of the connections that were called before
	for next := l.Fallback; ; next = next[1:] {
		reply, f, err := c.askRoute(inner, l, req, len(before) > 0, piece)
		switch {
		case err == nil:
			reply.LatencyMS, reply.Failed = c.cfg.Now().Sub(start).Milliseconds(), failed
			return reply, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case f == nil || !classes[f.Class].elsewhere || f.Partial || len(next) == 0 || inner.Err() != nil:
			return nil, after(err, before, failed)
		}
		before = append(before, fmt.Sprintf("connection '%s': %s", l.Name, f.Message))
		c.emitEvent(Event{What: EventFallback, Call: req.AgentCall, Connection: next[0], Err: f})
		if l, err = c.openRoute(next[0]); err != nil {
			c.emitEvent(Event{What: EventFailure, Call: req.AgentCall, Connection: next[0], Err: err})
			return nil, after(err, before, failed)
		}
		req = &Request{AgentCall: req.AgentCall, failed: req.failed}
	}
}

// after adds the errors of the connections that were called before, and the failed attempts, to an
// error.
func after(err error, before []string, failed []effect.Attempt) error {
	e, ok := errors.AsType[*effect.Error](err)
	if !ok {
		return err
	}
	e.Attempts = failed
	if len(before) > 0 {
		e.Message += "; it was called as a fallback, after " + strings.Join(before, "; ")
	}
	return err
}

// askRoute calls one connection. If it returns an error, it also returns the underlying Failure,
// which is nil if no attempt was made.
func (c *Client) askRoute(ctx context.Context, l *route, req *Request, fallback bool, piece func(string)) (*effect.AgentReply, *Failure, error) {
	var err error
	if req.Model, err = l.modelOf(req.AgentCall, fallback); err != nil {
		c.emitEvent(Event{What: EventFailure, Call: req.AgentCall, Connection: l.Name, Model: req.AgentCall.Model, Err: err})
		return nil, nil, err
	}
	req.row = l.endpoint().Model(req.Model)
	bound := req.Timeout
	if bound <= 0 {
		bound = firstPositive(l.Timeout, DefaultTimeout)
		var leave func()
		ctx, leave = c.deadlines.withTimeout(ctx, seconds(bound))
		defer leave()
	}
	reply, err := c.retryLoop(ctx, l, req, piece)
	if err != nil {
		var f *Failure
		errors.As(err, &f)
		if ctx.Err() == nil {
			return nil, f, l.agentError(req, err)
		}
		timeout := &Failure{Class: ClassTimeout, Message: "no response in time"}
		if f != nil {
			timeout.Partial, timeout.Got = f.Partial, f.Got
		}
		return nil, timeout, timedOut(l, req, bound, f)
	}
	reply.Provider = l.Name
	if reply.Model == "" {
		reply.Model = req.Model
	}
	return reply, nil, nil
}

// Model returns the name of the model that a call of the connection uses, with its full name.
func (l *Connection) Model(call *effect.AgentCall) (string, error) { return l.modelOf(call, false) }

// modelOf returns the name of the model to call: the agent's model, the full name of an alias, or
// the connection's default. A fallback has other models, so the agent's model is used only if it is
// one of the fallback's aliases or the fallback has no default.
func (l *Connection) modelOf(call *effect.AgentCall, fallback bool) (string, error) {
	model := call.Model
	_, alias := l.Models[model]
	if model == "" || fallback && !alias && l.DefaultModel != "" {
		model = l.DefaultModel
	}
	if full, ok := l.Models[model]; ok {
		return full, nil
	}
	if model == "" && l.Provider == "scripted" {
		return "scripted", nil
	}
	if model == "" {
		return "", configError(l.Name, "agent '%s' has no model and connection '%s'%s has no default_model: add one of them",
			call.Agent, l.Name, l.sectionName())
	}
	return model, nil
}

// timedOut returns the error for a call that exceeded its limit of bound seconds. f is the last
// failure, or nil.
func timedOut(l *route, req *Request, bound float64, f *Failure) error {
	message := fmt.Sprintf("agent '%s' timed out after %s (connection '%s', model %s)",
		req.Agent, effect.Seconds(math.Round(bound*1000)/1000), l.Name, req.Model)
	switch {
	case f != nil && !f.deadline:
		message += "; the last attempt: " + f.Message
	case f != nil && f.Got > 0:
		message += fmt.Sprintf("; %d bytes of the response had arrived: raise the timeout, or request less", f.Got)
	default:
		message += ": raise the timeout, or give the connection a fallback"
	}
	e := effect.Errorf("AgentError", "%s", message)
	e.Status, e.Cause = effect.Unknown, context.DeadlineExceeded
	return e.With("model", req.Model).With("provider", l.Name).With("retryable", f == nil || !f.Partial).With("reason", string(ClassTimeout))
}
