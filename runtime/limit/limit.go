// Package limit holds a run to the manifest's [limits]: layers around the door
// and bounds on the run's context.
package limit

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/effect"
)

// TimeError is the cause of a context that Run has ended.
type TimeError struct{ Seconds float64 }

func (e *TimeError) Error() string {
	return fmt.Sprintf("the run took longer than the %s seconds that [limits] max_run_seconds allows", strconv.FormatFloat(e.Seconds, 'f', -1, 64))
}

// Run bounds ctx to seconds, with a *TimeError as cause; 0 means no bound.
func Run(ctx context.Context, seconds float64) (context.Context, context.CancelFunc) {
	if seconds <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, time.Duration(seconds*float64(time.Second)), &TimeError{seconds})
}

// Tokens is a layer that bounds the tokens of all models together, in and out.
// Once they are used up, a further call is an AgentError; a call in flight may
// go beyond. 0 means no bound.
func Tokens(bound int64) effect.Layer {
	return func(next effect.Performer) effect.Performer {
		if bound <= 0 {
			return next
		}
		return &tokens{Performer: next, bound: bound}
	}
}

type tokens struct {
	effect.Performer
	bound int64
	used  atomic.Int64
}

// Perform performs r, unless it is a call beyond the bound.
func (t *tokens) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	if err := t.refuses(r); err != nil {
		return nil, err
	}
	res, err := t.Performer.Perform(ctx, r)
	t.count(res)
	return res, err
}

// Start begins r, unless it is a call beyond the bound.
func (t *tokens) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	s, can := t.Performer.(effect.Starter)
	if !can {
		return nil, false
	}
	if err := t.refuses(r); err != nil {
		done(nil, err)
		return func() {}, true
	}
	return s.Start(ctx, r, func(res effect.Result, err error) {
		t.count(res)
		done(res, err)
	})
}

// refuses gives the error of a call beyond the bound.
func (t *tokens) refuses(r effect.Request) error {
	call, ok := r.(*effect.AgentCall)
	n := t.used.Load()
	if !ok || n < t.bound {
		return nil
	}
	return effect.Errorf("AgentError", "agent '%s' may ask no more: the run has used %d of the %d tokens that [limits] max_tokens allows", call.Agent, n, t.bound).
		With("model", call.Model).With("provider", call.Connection).With("retryable", false)
}

func (t *tokens) count(res effect.Result) {
	if reply, ok := res.(*effect.AgentReply); ok && reply != nil {
		t.used.Add(reply.TokensIn + reply.TokensOut)
	}
}
