package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/effect"
)

// attempts asks until there is a reply, an error that cannot get better, or no
// attempt left. The agent's policy counts, else the connection's, else there
// is one attempt.
func (c *Client) attempts(ctx context.Context, l *line, req *Request) (*effect.AgentReply, error) {
	policy := effect.Retry{MaxAttempts: 1}
	switch {
	case req.Retry != nil:
		policy = *req.Retry
	case l.Connection.Retry != nil:
		policy = *l.Connection.Retry
	}
	for n := int64(1); ; n++ {
		reply, err := l.ask(ctx, req)
		if err == nil {
			return reply, nil
		}
		var f *Failure
		if !errors.As(err, &f) || !f.Retryable || n >= policy.MaxAttempts || ctx.Err() != nil {
			if f != nil && n > 1 {
				g := *f
				g.Message = fmt.Sprintf("%s (attempt %d of %d)", f.Message, n, policy.MaxAttempts)
				return nil, &g
			}
			return nil, err
		}
		wait := max(delay(policy, n), f.RetryAfter)
		if end, ok := ctx.Deadline(); ok && f.RetryAfter > 0 && end.Sub(c.cfg.Now()) < f.RetryAfter {
			g := *f
			g.Message = fmt.Sprintf("%s; it asks to wait %s, longer than the call may take", f.Message, f.RetryAfter)
			return nil, &g
		}
		if serr := c.cfg.Sleep(ctx, wait); serr != nil {
			return nil, err
		}
	}
}

// ask is one attempt, within the connection's limits.
func (l *line) ask(ctx context.Context, req *Request) (*effect.AgentReply, error) {
	if l.limiter == nil {
		return l.provider.Ask(ctx, req)
	}
	done, err := l.limiter.enter(ctx)
	if err != nil {
		return nil, err
	}
	reply, err := l.provider.Ask(ctx, req)
	var tokens int64
	if reply != nil {
		tokens = reply.TokensIn + reply.TokensOut
	}
	done(tokens)
	return reply, err
}

// delay is the wait after the n-th attempt (from 1).
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
