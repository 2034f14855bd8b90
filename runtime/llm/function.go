package llm

import (
	"context"
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Function answers requests instead of a model. Its error becomes an AgentError with the reason
// "script". It is not retried unless it is a *Failure whose class allows a retry.
type Function func(ctx context.Context, req *Request) (*effect.AgentReply, error)

// NewFailure returns the failure of a Function. status is the HTTP status of a response, or 0. Its
// class is that of the status, unless isRetryable contradicts it.
func NewFailure(message string, status int, isRetryable bool) *Failure {
	f := &Failure{Class: ClassScript, Message: message, HTTPStatus: status, Sent: status != 0}
	if isRetryable {
		f.Class = ClassServer
	}
	if c := classOf(status); status != 0 && classes[c].retry == isRetryable {
		f.Class = c
	}
	return f
}

// Capabilities returns no restrictions.
func (f Function) Capabilities() Capabilities { return Capabilities{} }

// Ask calls the function. If the reply has no token counts, Ask estimates them.
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
	estimateUsage(reply, promptTokens(req), 0)
	for i := range reply.ToolCalls {
		c := &reply.ToolCalls[i]
		c.ID, c.Name = orNumber(c.ID, i), offered(c.Name, req.Tools)
	}
	if reply.StopReason == "" {
		reply.StopReason = stopReason(reply)
	}
	return reply, nil
}

// stopReason returns the reason for the end of a reply that does not contain one.
func stopReason(reply *effect.AgentReply) string {
	if len(reply.ToolCalls) > 0 {
		return "tool"
	}
	return "end"
}

// Stream calls the function and passes the whole text to piece.
func (f Function) Stream(ctx context.Context, req *Request, piece func(string)) (*effect.AgentReply, error) {
	reply, err := f.Ask(ctx, req)
	if err == nil && reply.Text != "" {
		piece(reply.Text)
	}
	return reply, err
}
