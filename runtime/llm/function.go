package llm

import (
	"context"
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Function answers requests in place of a model. Its error becomes the call's AgentError with the
// reason "script", and is not retried unless it is a *Failure that allows it.
type Function func(ctx context.Context, req *Request) (*effect.AgentReply, error)

// Capabilities returns no restrictions.
func (f Function) Capabilities() Capabilities { return Capabilities{} }

// Ask calls the function. It estimates the tokens of a reply without counts.
func (f Function) Ask(ctx context.Context, req *Request) (*effect.AgentReply, error) {
	reply, err := f(ctx, req)
	var failed *Failure
	switch {
	case err == nil:
	case ctx.Err() != nil, errors.As(err, &failed):
		return nil, err
	default:
		return nil, &Failure{Class: ClassScript, Message: err.Error()}
	}
	if reply.TokensIn == 0 {
		reply.TokensIn = promptTokens(req)
	}
	if reply.TokensOut == 0 {
		reply.TokensOut = tokens(reply.Text)
	}
	for i := range reply.ToolCalls {
		c := &reply.ToolCalls[i]
		c.ID, c.Name = orNumber(c.ID, i), offered(c.Name, req.Tools)
	}
	if reply.StopReason == "" {
		reply.StopReason = stopReason(reply)
	}
	return reply, nil
}

// stopReason returns the reason for the end of a reply that contains none.
func stopReason(reply *effect.AgentReply) string {
	if len(reply.ToolCalls) > 0 {
		return "tool"
	}
	return "end"
}

// Stream calls the function and passes its text on as one piece.
func (f Function) Stream(ctx context.Context, req *Request, piece func(string)) (*effect.AgentReply, error) {
	reply, err := f.Ask(ctx, req)
	if err == nil && reply.Text != "" {
		piece(reply.Text)
	}
	return reply, err
}
