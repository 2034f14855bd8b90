package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// call is a running call, with the events that the program has not read.
type call struct {
	id      int64
	server  *server
	request *effect.MCPOpen
	key     string // key by which the server recognises a repeated call; "" for none
	cancel  context.CancelCauseFunc
	clock   *callClock
	unseen  atomic.Bool // an HTTP server did not recognise the session
	// requestID is the id of its last JSON-RPC request, and protocol the protocol's version.
	requestID atomic.Pointer[string]
	protocol  string

	mu     sync.Mutex
	events []*effect.MCPEvent
	failed error
	more   chan struct{}          // signals that an event was added
	asked  []chan json.RawMessage // receivers of the program's answers, in the order of the questions
}

// newCall returns a call and its context. When the timeout of the call has passed, the context is
// cancelled with the cause errTimeout.
func newCall(parent context.Context, id int64, s *server, r *effect.MCPOpen) (*call, context.Context) {
	c := &call{id: id, server: s, request: r, more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, callKey{}, c))
	c.cancel = cancel
	c.clock = newClock(s.options.Clock, s.config.Limit(), func() { cancel(errTimeout) })
	return c, ctx
}

// callKey is the key of a context under which the call is stored.
type callKey struct{}

// performCall performs the call. The last event of the call is the result or the error.
func (c *call) performCall(ctx context.Context) {
	defer c.clock.stopClock()
	s := c.server
	s.registerCall(c)
	defer s.unregisterCall(c)
	e, err, retry := c.attempt(ctx)
	if retry { // the connection had ended before, so the server has not received the call
		e, err, _ = c.attempt(ctx)
	}
	if err != nil && s.options.Played && c.request.Method == effect.MCPListTools {
		e, err = made("", []any{})
	}
	if err != nil {
		c.endWithError(ctx, err)
		return
	}
	if id := c.requestID.Load(); id != nil {
		e.RequestID, e.Protocol = *id, c.protocol
	}
	c.addEvent(e, nil)
}

// attempt performs the call over the current connection or over a new one. again means that the
// connection had ended before the server received the call.
func (c *call) attempt(ctx context.Context) (e *effect.MCPEvent, err error, again bool) {
	l, err := c.server.ensureLink(ctx, c.request.Declared)
	if err != nil {
		return nil, err, false
	}
	done, freed := make(chan struct{}), make(chan bool, 1)
	go func() { freed <- l.killIfBlocked(ctx, done) }()
	e, err = c.performRequest(ctx, l)
	close(done)
	if <-freed {
		c.server.dropLink(l) // the next call must use a new connection
	}
	if err != nil {
		err, again = c.server.connectionError(ctx, c, l, err)
	}
	return e, err, again
}

func (c *call) token() string { return fmt.Sprintf("call-%d", c.id) }

// endWithError ends the call with an error.
func (c *call) endWithError(ctx context.Context, err error) {
	var e *effect.Error
	var status *statusError
	var failed *url.Error
	var answered *jsonrpc.Error
	switch {
	case context.Cause(ctx) == errTimeout:
		c.addEvent(nil, c.problem("no result within %s (`timeout` of [mcp.%s])", effect.Seconds(c.server.config.Limit().Seconds()), c.server.config.Name))
	case errors.As(err, &e):
		c.addEvent(nil, e)
	case errors.As(err, &status):
		c.addEvent(nil, c.problem("%s", status))
	case errors.As(err, &failed):
		c.addEvent(nil, c.problem("%s", failed))
	case errors.As(err, &answered):
		failed := c.problem("%s%s", answered.Message, instead[c.request.Method])
		failed.Type = strconv.FormatInt(answered.Code, 10)
		c.addEvent(nil, failed)
	default:
		c.addEvent(nil, c.problem("%s", err))
	}
}

// problem returns an error for the call.
func (c *call) problem(format string, args ...any) *effect.Error {
	return effect.Errorf("ToolError", "mcp server '%s', %s: %s", c.server.config.Name, subject(c.request), fmt.Sprintf(format, args...)).
		With("tool", c.server.config.Name+"."+c.request.Function())
}

func (c *call) addEvent(e *effect.MCPEvent, err error) {
	c.mu.Lock()
	if e != nil {
		c.events = append(c.events, e)
	} else {
		c.failed = err
	}
	c.mu.Unlock()
	c.wake()
}

func (c *call) wake() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

func (c *call) takeEvent() (*effect.MCPEvent, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.events) > 0 {
		e := c.events[0]
		c.events = c.events[1:]
		return e, nil
	}
	return nil, c.failed
}

func (c *call) nextEvent(ctx context.Context) (*effect.MCPEvent, error) {
	for {
		if e, err := c.takeEvent(); e != nil || err != nil {
			return e, err
		}
		select {
		case <-c.more:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// answerRequest passes the program's answer to the receiver of the oldest question.
func (c *call) answerRequest(a json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asked) > 0 {
		c.asked[0] <- a // does not block, because the channel is buffered
		c.asked = c.asked[1:]
	}
}

// askProgram adds an event that the program must answer, and returns a channel that receives the
// answer.
func (c *call) askProgram(kind string, data map[string]any) <-chan json.RawMessage {
	answer := make(chan json.RawMessage, 1)
	c.mu.Lock()
	c.asked = append(c.asked, answer)
	c.events = append(c.events, newEvent(kind, data))
	c.mu.Unlock()
	c.wake()
	return answer
}

func newEvent(kind string, data map[string]any) *effect.MCPEvent {
	b, _ := json.Marshal(data) // the server's data is valid JSON
	return &effect.MCPEvent{Kind: kind, Data: b}
}

// The notifications of a server that concern a call, or the list of tools.
const (
	progressed = "notifications/progress"
	visited    = "notifications/elicitation/complete"
	relisted   = "notifications/tools/list_changed"
)

// deliver passes a notification to its call, or notes that the list of tools has changed. It
// ignores other notifications.
func (s *server) deliver(method string, params json.RawMessage) {
	switch method {
	case progressed:
		p := &sdk.ProgressNotificationParams{}
		if json.Unmarshal(params, p) == nil {
			s.deliverProgress(p)
		}
	case relisted:
		s.listed.Store(false)
	case visited:
		p := &sdk.ElicitationCompleteParams{}
		if json.Unmarshal(params, p) == nil {
			s.endVisit(p.ElicitationID)
		}
	}
}

// deliverProgress passes a progress notification to its call.
func (s *server) deliverProgress(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	s.active.Lock()
	c := s.progress[token]
	s.active.Unlock()
	if c == nil {
		return
	}
	data := map[string]any{"server": s.config.Name, "tool": c.request.Function(), "progress": p.Progress}
	if p.Total != 0 {
		data["total"] = p.Total
	}
	if p.Message != "" {
		data["message"] = p.Message
	}
	c.addEvent(newEvent("progress", data), nil)
}

func (s *server) registerCall(c *call) {
	s.active.Lock()
	defer s.active.Unlock()
	if s.progress == nil {
		s.progress = map[string]*call{}
	}
	s.progress[c.token()] = c
	s.order = append(s.order, c)
}

func (s *server) unregisterCall(c *call) {
	s.active.Lock()
	defer s.active.Unlock()
	delete(s.progress, c.token())
	maps.DeleteFunc(s.visits, func(_ string, x *call) bool { return x == c })
	for i, x := range s.order {
		if x == c {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			break
		}
	}
}
