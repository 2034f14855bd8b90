package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// mostInner is the maximum number of calls of other tools that a process may run at the same time.
const mostInner = 64

// innerCall contains the parameters of `tools/call`.
type innerCall struct {
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Parent string          `json:"parent"`
}

// beginComposed begins a call of another tool on behalf of the call named by `parent`.
func (p *peer) beginComposed(m rpcMessage) *rpcError {
	var of innerCall
	if err := json.Unmarshal(m.Params, &of); err != nil {
		return badParams("", err.Error())
	}
	if of.Name == "" {
		return badParams("name", "missing")
	}
	if len(of.Args) == 0 {
		of.Args = json.RawMessage("{}")
	}
	k := p.findCall(of.Parent)
	if k == nil {
		return badParams("parent", "must be the call_id of a running call")
	}
	ctx, cancel := context.WithCancelCause(k.ctx)
	p.mu.Lock()
	full := len(p.inner) >= mostInner
	if !full {
		p.inner[string(m.ID)] = cancel
	}
	p.mu.Unlock()
	if full {
		cancel(nil)
		return &rpcError{Code: rpcLimit, Message: fmt.Sprintf("at most %d calls of other tools may run at once", mostInner), Data: map[string]any{"limit": mostInner}}
	}
	go func() {
		defer cancel(nil)
		p.answerComposed(ctx, m.ID, k.c.Call(ctx, of.Name, of.Args))
	}()
	return nil
}

// answerComposed answers a request to call another tool, even if the request was cancelled.
func (p *peer) answerComposed(ctx context.Context, id json.RawMessage, r Result) {
	p.mu.Lock()
	delete(p.inner, string(id))
	p.mu.Unlock()
	if why := context.Cause(ctx); errors.Is(why, errCancelledByTool) {
		p.respond(rpcResponse{ID: id, Error: &rpcError{Code: rpcCancelled, Message: why.Error()}})
		return
	}
	p.respond(rpcResponse{ID: id, Result: r})
}

func badParams(path, why string) *rpcError {
	return &rpcError{Code: rpcParams, Message: "invalid parameters: " + path + ": " + why, Data: map[string]any{"errors": []map[string]string{{"path": path, "message": why}}}}
}

var errCancelledByTool = errors.New("the tool has cancelled the call")

// cancelledByTool returns the cause with which a context is cancelled if a process cancels its own
// request.
func cancelledByTool(reason string) error {
	if reason == "" {
		return errCancelledByTool
	}
	return fmt.Errorf("%w: %s", errCancelledByTool, reason)
}
