package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/concerto-lang/concerto/runtime/tool"
)

// errDisconnected is the error of a request to a client that has disconnected and did not reconnect
// in time.
var errDisconnected = errors.New("its client has disconnected")

// client is an initialized client. It remains when its connections close.
type client struct {
	srv    *Server
	id     string
	awaits bool
	render []string
	out    *outbox
	tools  *tool.Session // tools for calls outside a session
	// closing is closed when the server stops. Afterwards no messages are added to the outbox.
	closing    chan struct{}
	busy       sync.WaitGroup // running requests whose method has the attribute waits
	making     sync.WaitGroup // running requests that create sessions
	hasBacklog atomic.Bool    // some events of the client's sessions have not been added to the outbox yet

	mu        sync.Mutex
	questions map[string]*question               // open requests to the client, by id
	asks      int64                              // number of requests to the client
	working   map[string]context.CancelCauseFunc // running requests of the client, by id
	serving   map[string]*tool.Context           // running calls of its tools, by call_id
	subs      map[*session]*subscription
	begins    int64 // number of the message before the first one of the next stream
	presence
	hangUp func() // closes the current connection when another one replaces it
}

// question is an open request to a client.
type question struct {
	number int64 // number of the request in the outbox
	text   []byte
	answer chan answer
}

// answer is the outcome of a question.
type answer struct {
	result json.RawMessage
	err    error
}

// owner returns the name under which the client registers and calls tools.
func (c *client) owner() string { return "client:" + c.id }

// ask sends the client a request and waits for its response. The returned error is errDisconnected,
// the cause of ctx, or an *Error from the client.
func (c *client) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	c.mu.Lock()
	if c.expired {
		c.mu.Unlock()
		return nil, errDisconnected
	}
	c.asks++
	id := "r" + strconv.FormatInt(c.asks, 10)
	q := &question{text: call(id, method, params), answer: make(chan answer, 1)}
	c.questions[id] = q
	q.number = c.out.Add(outgoing{text: q.text})
	c.mu.Unlock()
	select {
	case a := <-q.answer:
		return a.result, a.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	_, open := c.questions[id]
	delete(c.questions, id)
	c.mu.Unlock()
	if open {
		c.withdraw(id, context.Cause(ctx))
	}
	return nil, context.Cause(ctx)
}

// withdraw cancels a request to the client.
func (c *client) withdraw(id string, why error) {
	params := struct {
		ID     string `json:"id"`
		Reason string `json:"reason,omitempty"`
	}{ID: id}
	if why != nil && why != context.Canceled {
		params.Reason = why.Error()
	}
	c.out.Add(outgoing{text: notification("$/cancelRequest", params)})
}

// handleResponse handles a response. It ignores the response if the request is not open.
func (c *client) handleResponse(m *message) {
	var id string
	if json.Unmarshal(m.ID, &id) != nil {
		return
	}
	c.mu.Lock()
	q := c.questions[id]
	delete(c.questions, id)
	c.mu.Unlock()
	if q == nil {
		return
	}
	a := answer{result: m.Result}
	if m.Error != nil {
		a.err = m.Error
	}
	q.answer <- a
}

// handleNotification handles a notification. It ignores unknown methods.
func (c *client) handleNotification(m *message) {
	switch *m.Method {
	case "$/cancelRequest":
		var p struct {
			ID     json.RawMessage `json:"id"`
			Reason string          `json:"reason"`
		}
		if json.Unmarshal(m.Params, &p) == nil {
			c.cancelRequest(string(p.ID), p.Reason)
		}
	case "tool/progress":
		var p struct {
			CallID          string `json:"call_id"`
			Progress, Total float64
			Message         string
		}
		if json.Unmarshal(m.Params, &p) == nil {
			if x := c.call(p.CallID); x != nil {
				x.Progress(p.Progress, p.Total, p.Message)
			}
		}
	case "tool/emit":
		var p struct {
			CallID  string `json:"call_id"`
			Channel string
			Payload json.RawMessage
		}
		if json.Unmarshal(m.Params, &p) == nil {
			c.emit(p.CallID, p.Channel, p.Payload)
		}
	}
}

// call returns the running call of a client's tool with the given id, or nil.
func (c *client) call(id string) *tool.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.serving[id]
}

func (c *client) emit(callID, channel string, payload json.RawMessage) {
	x := c.call(callID)
	if x == nil {
		return
	}
	if payload == nil {
		payload = json.RawMessage("null")
	}
	if err := x.Emit(channel, payload); err != nil {
		c.srv.log("warn", fmt.Sprintf("%s: call %s: %v", c.owner(), callID, err))
	}
}

// errCancelled is the cause of a request that the client has cancelled.
type errCancelled struct{ reason string }

func (e *errCancelled) Error() string {
	if e.reason == "" {
		return "the client has cancelled the request"
	}
	return e.reason
}

func (c *client) cancelRequest(id, reason string) {
	c.mu.Lock()
	cancel := c.working[id]
	c.mu.Unlock()
	if cancel != nil {
		cancel(&errCancelled{reason})
	}
}

// mostWorking is the maximum number of a client's running requests.
const mostWorking = 1000

// begin registers a request of the client. It returns an error if a request with the same id is
// running, or if too many requests are running.
func (c *client) begin(id string, cancel context.CancelCauseFunc) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.working[id] != nil {
		return failure(codeInvalid, "a request with the id %s is still running", id)
	}
	if len(c.working) >= mostWorking {
		return failure(codeLimit, "this client has %d running requests, which is the limit", mostWorking).with("limit", "max_requests")
	}
	c.working[id] = cancel
	return nil
}

// start returns the number of the message after which a stream begins if the client specifies none.
func (c *client) start() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begins
}

func (c *client) end(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.working, id)
}

// deliver writes the messages of the outbox. It returns nil when the server has stopped and the
// outbox is empty. It returns an error when ctx is cancelled or write fails. The argument number of
// write is the number of the first message in the batch.
func (c *client) deliver(ctx context.Context, write func(number int64, batch []outgoing) error) error {
	for last := false; ; {
		c.catchUp()
		number, batch := c.out.next()
		if len(batch) > 0 {
			if err := write(number, batch); err != nil {
				return err
			}
			c.out.markSent(number, batch)
			continue
		}
		if last {
			return nil
		}
		select {
		case <-c.out.wake:
		case <-c.closing:
			last = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// notify sends a notification to the client.
func (c *client) notify(method string, params any) {
	c.out.Add(outgoing{text: notification(method, params), changed: method == "tools/changed"})
}
