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
		var used atomic.Int64
		return effect.PerformerFunc(func(ctx context.Context, r effect.Request) (effect.Result, error) {
			call, ok := r.(*effect.AgentCall)
			if !ok {
				return next.Perform(ctx, r)
			}
			if n := used.Load(); n >= bound {
				return nil, effect.Errorf("AgentError", "agent '%s' may ask no more: the run has used %d of the %d tokens that [limits] max_tokens allows", call.Agent, n, bound).
					With("model", call.Model).With("provider", call.Connection).With("retryable", false)
			}
			res, err := next.Perform(ctx, r)
			if reply, ok := res.(*effect.AgentReply); ok && reply != nil {
				used.Add(reply.TokensIn + reply.TokensOut)
			}
			return res, err
		})
	}
}
