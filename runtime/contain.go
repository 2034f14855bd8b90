package runtime

import (
	"context"
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/host"
)

// contain wraps the performer of models, hosts, MCP servers or tools, so that the program can catch
// every failure. Without the wrapper, an error that is not an *effect.Error ends the run.
func contain(next effect.Performer) effect.Performer {
	c := &container{next}
	if s, ok := next.(effect.Starter); ok {
		return &startingContainer{c, s}
	}
	return c
}

type container struct{ next effect.Performer }

// Perform performs r and converts its error with catchable.
func (c *container) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	result, err := c.next.Perform(ctx, r)
	if err != nil && ctx.Err() == nil {
		err = catchable(r, err)
	}
	return result, err
}

type startingContainer struct {
	*container
	starter effect.Starter
}

// Start begins r; see effect.Starter.
func (c *startingContainer) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	return c.starter.Start(ctx, r, func(result effect.Result, err error) {
		if err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) { // false if the caller has stopped the request
			err = catchable(r, err)
		}
		done(result, err)
	})
}

// catchable returns err as an *effect.Error of the kind for r. It returns err unchanged if the run
// has ended, if the request must be repeated, or if this runtime cannot perform the request.
func catchable(r effect.Request, err error) error {
	var failure *effect.Error
	var unperformed *effect.UnperformedError
	if errors.As(err, &failure) || errors.Is(err, effect.ErrWaits) || errors.Is(err, host.ErrClosed) || errors.As(err, &unperformed) {
		return err
	}
	e := &effect.Error{Kind: "ToolError", Message: "internal error: " + err.Error(), Status: effect.Unknown, Cause: err}
	switch r := r.(type) {
	case *effect.AgentCall:
		e.Kind = "AgentError"
		e.With("model", r.Model).With("provider", r.Connection)
	case *effect.StreamOpen, *effect.StreamNext, *effect.StreamClose:
		e.Kind = "AgentError"
	case *effect.ExchangeOpen:
		e.Kind = "HostError"
		e.With("host", r.Host)
	case *effect.ExchangeNext, *effect.ExchangeReply, *effect.ExchangeSteer, *effect.ExchangeContinue, *effect.ExchangeGate, *effect.ExchangeClose, *effect.HostTasks:
		e.Kind = "HostError"
	case *effect.MCPOpen:
		e.With("tool", r.Server+"."+r.Function())
	}
	return e
}
