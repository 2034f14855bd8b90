package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// defaultRetry is the policy of a provider that is reached by HTTP, if neither the agent nor the
// connection has one. Its values are those of the vendors' own clients (@anthropic-ai/sdk 1.14.0
// and openai 7.59.0, client.js).
var defaultRetry = effect.Retry{MaxAttempts: 3, Backoff: "exponential", InitialDelay: 500, MaxDelay: 8000}

// maxRequestedDelay is the longest delay for which the default policy waits.
const maxRequestedDelay = time.Minute

// retryPolicy returns the policy for the requests of a call to a connection. The agent's policy
// takes precedence over that of the connection. isDefault reports whether neither has one.
func retryPolicy(l *route, req *Request) (policy effect.Retry, isDefault bool) {
	_, isRemote := l.provider.(*remote)
	switch {
	case req.Retry != nil:
		return *req.Retry, false
	case l.Connection.Retry != nil:
		return *l.Connection.Retry, false
	case isRemote:
		return defaultRetry, true
	}
	return effect.Retry{MaxAttempts: 1}, false
}

// retryLoop calls one connection until it replies, fails in a way that a retry cannot solve, or has
// no attempt left. After a part of the reply was passed to piece, there is no retry.
func (c *Client) retryLoop(ctx context.Context, l *route, req *Request, piece func(string)) (*effect.AgentReply, error) {
	policy, isDefault := retryPolicy(l, req)
	for n := int64(1); ; n++ {
		follow := Event{Call: req.AgentCall, Connection: l.Name, Model: req.Model, Attempt: n, Of: policy.MaxAttempts}
		reply, err := c.observedAttempt(ctx, l, req, piece, follow)
		if err == nil {
			return reply, nil
		}
		var f *Failure
		if errors.As(err, &f) && f.repaired && ctx.Err() == nil {
			n-- // the other form of the request is no attempt of the policy
			continue
		}
		if f == nil || !f.retryable() || isDefault && f.Class == ClassTimeout || n >= policy.MaxAttempts || ctx.Err() != nil {
			if f != nil && n > 1 {
				g := *f
				g.Message = fmt.Sprintf("%s (attempt %d of %d)", f.Message, n, policy.MaxAttempts)
				return nil, &g
			}
			return nil, err
		}
		if isDefault && f.RetryAfter > maxRequestedDelay {
			g := *f
			g.Message = fmt.Sprintf("%s; it requests a delay of %s: give the agent a retry_policy to wait for so long", f.Message, f.RetryAfter)
			return nil, &g
		}
		if end, ok := ctx.Deadline(); ok && f.RetryAfter > 0 && end.Sub(c.cfg.Now()) < f.RetryAfter {
			g := *f
			g.Message = fmt.Sprintf("%s; it requests a delay of %s, which is longer than the timeout of the call", f.Message, f.RetryAfter)
			return nil, &g
		}
		wait := spread(max(delay(policy, n), f.RetryAfter), f.RetryAfter, c.cfg.Jitter())
		follow.What, follow.Attempt, follow.Err, follow.Wait = EventRetry, n+1, err, wait
		(*req.failed)[len(*req.failed)-1].WaitMS = wait.Milliseconds()
		c.emitEvent(follow)
		if serr := c.cfg.Sleep(ctx, wait); serr != nil {
			return nil, err
		}
	}
}

// observedAttempt calls sendOnce and reports its events. follow contains the common fields of these
// events.
func (c *Client) observedAttempt(ctx context.Context, l *route, req *Request, piece func(string), follow Event) (*effect.AgentReply, error) {
	follow.What = EventRequest
	c.emitEvent(follow)
	since := c.cfg.Now()
	if next := piece; next != nil {
		piece = func(text string) {
			if follow.First == 0 {
				follow.First = c.cfg.Now().Sub(since)
			}
			next(text)
		}
	}
	reply, spent, err := c.sendOnce(ctx, l, req, piece)
	follow.Took, follow.Spent = c.cfg.Now().Sub(since), spent
	if err != nil {
		follow.What, follow.Err = EventFailure, err
		*req.failed = append(*req.failed, failedAttempt(&follow))
	} else {
		follow.What, follow.Reply = EventReply, reply
	}
	c.emitEvent(follow)
	return reply, err
}

// failedAttempt returns the attempt that an EventFailure reports, for records.
func failedAttempt(e *Event) effect.Attempt {
	a := effect.Attempt{Connection: e.Connection, Model: e.Model, Of: e.Of, MS: e.Took.Milliseconds(), Message: e.Err.Error(), AttemptUse: effect.UseOf(e.Spent)}
	if f, ok := errors.AsType[*Failure](e.Err); ok {
		a.Reason, a.Status = string(f.Class), int64(f.HTTPStatus)
	}
	return a
}

// sendOnce calls the connection once, within the limits of the connection and of the run. spent is
// nil if no request was sent.
func (c *Client) sendOnce(ctx context.Context, l *route, req *Request, piece func(string)) (reply *effect.AgentReply, spent *models.Spent, err error) {
	in, out := promptTokens(req), int64(0)
	if req.MaxTokens != nil {
		out = *req.MaxTokens
	}
	releaseRate := func(int64) {}
	if l.shared.limiter != nil {
		var err error
		if releaseRate, err = l.shared.limiter.awaitTurn(ctx, in+out); err != nil {
			return nil, nil, err
		}
	}
	defer func() {
		used := int64(0)
		if spent != nil {
			used = spent.In + spent.Out
		}
		releaseRate(used)
	}()
	settleBudget := func(models.Spent) {}
	if c.cfg.Meter != nil {
		granted, s, err := c.cfg.Meter(ctx, Metered{Connection: l.Name, Model: req.Model, Price: l.Price(req.Model, c.cfg.Now()), In: in, Out: out, Hour: l.StoresForHour()})
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, nil, err
		case err != nil:
			return nil, nil, &Failure{Class: ClassLimit, Message: err.Error()}
		}
		if settleBudget = s; granted > 0 && req.MaxTokens == nil {
			out = granted
			// The rest of the budget limits a reply that has no other limit.
			capped := *req.AgentCall
			capped.MaxTokens = &granted
			limited := *req
			limited.AgentCall = &capped
			req = &limited
		}
	}
	received := 0 // characters of the reply
	if next := piece; next != nil {
		piece = func(text string) {
			received += utf8.RuneCountInString(text)
			next(text)
		}
	}
	reply, err = l.sendRequest(ctx, req, piece)
	spent = &models.Spent{Failed: true}
	defer func() { settleBudget(*spent) }()
	switch {
	case reply == nil && received > 0: // the provider charges for a stream that broke off
		*spent = c.spent(l, req, models.Usage{In: in, Out: tokensIn(received)})
		spent.Failed, spent.Estimated = true, true
		return nil, spent, err
	case reply == nil:
		return nil, spent, err
	}
	reply.Items = c.ownItems(reply.Items, l, req)
	reply.SetUsage(reply.Usage().Limited())
	isReal := l.Provider != models.Scripted // a script states the tokens, and has the reply that a test needs
	if isReal {
		estimateUsage(reply, in, out)
	}
	*spent = c.spent(l, req, reply.Usage())
	spent.Answered, spent.Estimated = true, reply.Estimated
	reply.CostUSD, reply.Unpriced = float64(spent.Cost)/models.Dollar, spent.Unpriced
	if f := emptyReply(reply); f != nil && isReal {
		f.Partial, spent.Failed = received > 0, true
		return nil, spent, f
	}
	return reply, spent, err
}

// spent returns what a request has used, with its cost now.
func (c *Client) spent(l *route, req *Request, u models.Usage) models.Spent {
	p := l.Price(req.Model, c.cfg.Now())
	if p == nil {
		return models.Spent{Usage: u, Unpriced: true}
	}
	cost, ok := models.Cost(u, p)
	return models.Spent{Usage: u, Cost: cost, Unpriced: !ok}
}

// emptyReply returns the failure of a reply that ended before the model gave any part of its
// answer, or with a refusal, or nil. Its tokens are charged.
func emptyReply(r *effect.AgentReply) *Failure {
	if r.StopReason == stopRefusal {
		f := &Failure{Class: ClassRefusal, Message: "the model refuses to answer", RequestID: r.RequestID, Category: r.Category}
		if text := cmp.Or(r.Text, r.Category); text != "" {
			f.Message += ": " + text
		}
		f.Message += " (" + classes[ClassRefusal].hint + ")"
		return f
	}
	if r.Text != "" || len(r.ToolCalls) > 0 {
		return nil
	}
	f := &Failure{Class: ClassContentFilter, Message: "the provider has withheld the whole reply: " + r.FinishReason, RequestID: r.RequestID}
	switch r.StopReason {
	default:
		return nil
	case "filter":
	case "length":
		f.Class, f.Message = ClassLength, fmt.Sprintf("the reply was cut off before any text, after %d tokens", r.TokensOut)
		if n := r.Reasoning; n > 0 {
			f.Message += fmt.Sprintf(", of which %d were reasoning", n)
		}
	}
	f.Message += " (" + classes[f.Class].hint + ")"
	return f
}

// estimateUsage sets the numbers of tokens that the provider did not report, so that limits count
// them: those of the prompt to in, its estimate, and those of the reply to out, the most that was
// reserved for it, but at least to an estimate of the reply.
func estimateUsage(reply *effect.AgentReply, in, out int64) {
	got := tokens(reply.Text)
	for _, c := range reply.ToolCalls {
		got += tokens(c.Name) + tokens(c.Args)
	}
	if reply.TokensOut == 0 && (got > 0 || reply.TokensIn == 0) && max(out, got) > 0 {
		reply.TokensOut, reply.Estimated = max(out, got), true
	}
	if reply.TokensIn == 0 && in > 0 {
		reply.TokensIn, reply.Estimated = in, true
	}
}

// sendRequest sends a request to the provider. It streams the reply even if piece is nil if a
// FirstTokenTimeout must detect when the reply begins, or if the reply may be long.
func (l *route) sendRequest(ctx context.Context, req *Request, piece func(string)) (*effect.AgentReply, error) {
	isLong := l.provider.Capabilities().IsLong
	switch {
	case piece != nil:
		return l.provider.Stream(ctx, req, piece)
	case l.FirstTokenTimeout > 0, isLong != nil && isLong(req):
		reply, err := l.provider.Stream(ctx, req, func(string) {})
		var f *Failure
		if errors.As(err, &f) {
			f.Partial = false // the program has received no part of the reply
		}
		return reply, err
	}
	return l.provider.Ask(ctx, req)
}

// delay returns the wait after the n-th attempt, counted from 1.
func delay(p effect.Retry, n int64) time.Duration {
	ms := p.InitialDelay
	switch p.Backoff {
	case "linear":
		ms = p.InitialDelay * n
	case "exponential":
		ms = p.InitialDelay << min(n-1, 20)
	}
	if p.MaxDelay > 0 {
		ms = min(ms, p.MaxDelay)
	}
	return time.Duration(max(ms, 0)) * time.Millisecond
}

// spread varies a wait randomly, so that tasks that failed together do not retry together. chance
// is a random number between 0 and 1. spread shortens the wait to at least half, but never below
// asked, the wait that the provider requested. If wait equals asked, spread extends it by at most a
// tenth and at most a second.
func spread(wait, asked time.Duration, chance float64) time.Duration {
	if asked > 0 && wait == asked {
		return wait + time.Duration((1-chance)*float64(min(wait/10, time.Second)))
	}
	return max(wait/2+time.Duration(chance*float64(wait-wait/2)), asked)
}
