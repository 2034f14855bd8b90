package durable

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Servers are the run's MCP servers. They exit together with the process that runs the run.
type Servers interface {
	// Repeatable reports whether it is harmless to repeat a call; see mcp.Servers.
	Repeatable(ctx context.Context, r *effect.MCPOpen, connect bool) bool
	// Within returns the time limit for calls of a server.
	Within(server string) time.Duration
}

// toolState is the state of the run's tool calls.
type toolState struct {
	servers   Servers
	preparing sync.Mutex
	tools     toolCalls
}

// SetServers sets the MCP servers, which report whether their tools may be called again. It must be
// called before the run begins.
func (r *Run) SetServers(s Servers) { r.servers = s }

// class returns the class of an effect before it is performed. Whether a server's call may be
// repeated is known only after the server is connected.
func (r *Run) class(q effect.Request) effect.Class {
	c := effect.ClassOf(q)
	if open, ok := q.(*effect.MCPOpen); ok && c == effect.ClassOnce && r.live && r.servers != nil && r.servers.Repeatable(context.Background(), open, false) {
		return effect.ClassRetry
	}
	return c
}

// reopenObject opens an object of an earlier process again, so that request q can use it. again is
// false if that is not allowed; result and err are then the outcome of q. Preparing a tool call
// again has no effect outside the runtime. The audit log detects a repeated record. For a server's
// call, its tool or its policy decides.
func (w *world) reopenObject(ctx context.Context, q effect.Request) (again bool, result effect.Result, err error) {
	open, f := w.run.opener(q)
	switch open := open.(type) {
	case *effect.AppPrepare:
		about := &effect.AppCall{AppAsk: open.AppAsk}
		if err := w.restorePrepared(ctx, about); err != nil {
			return false, nil, err
		}
		return true, nil, nil
	case *effect.MergeOpen:
		if _, next := q.(*effect.MergeNext); !next {
			return false, nil, nil // an answer to an event of the earlier process, which is repeated
		}
		ctx = effect.WithRetry(ctx)
	case *effect.AuditCall:
		ctx = effect.WithRetry(ctx)
	case *effect.MCPOpen:
		again, result, err = w.recoverCall(ctx, f, open, q)
		if !again || err != nil {
			return false, result, err
		}
	default:
		result, err := endedObjectResult(q)
		return false, result, err
	}
	result, err = w.next.Perform(w.withKey(ctx, f, open), open)
	if err != nil {
		return false, nil, err
	}
	_, err = w.mapResult(open, f, result, nil)
	return err == nil, nil, err
}

// recoverCall decides whether an interrupted call of a server is repeated. If again is false,
// result and err are the outcome of q, which uses the call.
func (w *world) recoverCall(ctx context.Context, f *inFlight, open *effect.MCPOpen, q effect.Request) (again bool, result effect.Result, err error) {
	if effect.ClassOf(open) != effect.ClassOnce {
		return true, nil, nil
	}
	if f.class == effect.ClassRetry.String() || w.run.servers != nil && w.run.servers.Repeatable(ctx, open, true) {
		f.tries++
		w.run.recordBegin(f, f.task, open)
		return true, nil, w.flushBefore(ctx, open)
	}
	about := w.run.flightOf(q)
	back := w.run.parking.waitInstead(about, f, open)
	x, _, err := w.decideUnknown(ctx, f, open)
	back()
	if x != nil && x.isRetry() {
		return true, nil, w.announceRetry(ctx, f, open, x)
	}
	if about != nil {
		about.resolved = x.journalForm(w.run)
	}
	if _, next := q.(*effect.MCPNext); next && x.done() {
		return false, eventOf(x.answer), nil
	}
	return false, nil, err
}

// eventOf returns the result of a call for the decision that it was done. The decision contains the
// whole event, or only its value.
func eventOf(answer string) *effect.MCPEvent {
	text := strings.TrimPrefix(strings.TrimPrefix(answer, "done"), ":")
	e := &effect.MCPEvent{}
	if json.Unmarshal([]byte(text), e) == nil && e.Kind == "result" {
		return e
	}
	e = &effect.MCPEvent{Kind: "result"}
	if json.Unmarshal([]byte(text), &e.Text) != nil && text != "" {
		e.Text, e.Data = text, json.RawMessage(text)
	}
	return e
}
