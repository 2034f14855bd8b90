package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Function answers requests instead of a model. Its error becomes an AgentError with the reason
// "script". It is not retried unless it is a *Failure whose class allows a retry.
type Function func(ctx context.Context, req *Request) (*effect.AgentReply, error)

// itemsFunction is the API of hidden content that a Function returns.
const itemsFunction = "function"

// FunctionItems returns hidden content as a part of a Function's reply, or nil if it is empty.
func FunctionItems(content []json.RawMessage) *effect.Items {
	if len(content) == 0 {
		return nil
	}
	return &effect.Items{API: itemsFunction, Content: content}
}

// FunctionItems returns the hidden content of a message that a Function has returned for the same
// connection and model, or nil.
func (req *Request) FunctionItems(m *effect.ChatMessage) []json.RawMessage {
	if m.Items == nil || m.Items.Connection != req.Connection || m.Items.Model != req.Model {
		return nil
	}
	return itemsOf(m, itemsFunction)
}

// NewFailure returns the failure of a Function. reason is a Class, or "" to use that of status, the
// HTTP status of a response, unless isRetryable contradicts it. status is 0 without a response.
func NewFailure(reason, message string, status int, isRetryable bool) *Failure {
	f := &Failure{Class: ClassScript, Message: message, HTTPStatus: status, Sent: status != 0}
	_, isClass := classes[Class(reason)]
	switch c := classOf(status); {
	case isClass:
		f.Class, f.Retry = Class(reason), &isRetryable
	case reason != "":
		f.Message += fmt.Sprintf(" (%q is no reason of an AgentError)", reason)
	case status != 0 && classes[c].retry == isRetryable:
		f.Class = c
	case isRetryable:
		f.Class = ClassServer
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
