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

// errGone means that a client has disconnected, and has not reconnected in time.
var errGone = errors.New("its client has gone")

// client is one that has initialized. It outlives its connections.
type client struct {
	srv    *Server
	id     string
	awaits bool
	render []string
	out    *outbox
	tools  *tool.Session // for calls without a session
	// closing is closed when the server ends: what the outbox has is the last.
	closing chan struct{}
	busy    sync.WaitGroup // requests that take their time
	making  sync.WaitGroup // of these, those that make sessions
	behind  atomic.Bool    // with events of a session

	mu      sync.Mutex
	asked   map[string]*question               // by id: what the server has asked it
	asks    int64                              // how many
	working map[string]context.CancelCauseFunc // by id: what it has asked
	serving map[string]*tool.Context           // by call_id: the running calls of its tools
	subs    map[*session]*subscription
	begins  int64 // the number after which its first stream begins
	presence
	hangUp func() // ends the connection that a new one replaces
}

// question is a request to a client.
type question struct {
	number int64 // in the outbox
	text   []byte
	answer chan answer
}

// answer is what came of one.
type answer struct {
	result json.RawMessage
	err    error
}

// owner is in whose name it registers tools, and calls them.
func (c *client) owner() string { return "client:" + c.id }

// ask asks the client and waits for its answer. Its error is errGone, ctx's cause, or an
// *Error of the client's.
func (c *client) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	c.mu.Lock()
	if c.gone {
		c.mu.Unlock()
		return nil, errGone
	}
	c.asks++
	id := "r" + strconv.FormatInt(c.asks, 10)
	q := &question{text: call(id, method, params), answer: make(chan answer, 1)}
	c.asked[id] = q
	q.number = c.out.Add(outgoing{text: q.text})
	c.mu.Unlock()
	select {
	case a := <-q.answer:
		return a.result, a.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	_, open := c.asked[id]
	delete(c.asked, id)
	c.mu.Unlock()
	if open {
		c.withdraw(id, context.Cause(ctx))
	}
	return nil, context.Cause(ctx)
}

// withdraw takes a request back.
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

// answered takes a response. One to a request that is not open is ignored.
func (c *client) answered(m *message) {
	var id string
	if json.Unmarshal(m.ID, &id) != nil {
		return
	}
	c.mu.Lock()
	q := c.asked[id]
	delete(c.asked, id)
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

// notified takes a notification. One that means nothing is ignored.
func (c *client) notified(m *message) {
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

// call returns a running call of one of its tools, nil if there is none with the id.
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

// errCancelled is the cause of a request that the client has taken back.
type errCancelled struct{ reason string }

func (e *errCancelled) Error() string {
	if e.reason == "" {
		return "the client has taken the request back"
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

// mostWorking bounds the number of a client's running requests.
const mostWorking = 1000

// begin registers a request of the client, unless one with that id is running, or too many are.
func (c *client) begin(id string, cancel context.CancelCauseFunc) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.working[id] != nil {
		return failure(codeInvalid, "a request with the id %s is not answered yet", id)
	}
	if len(c.working) >= mostWorking {
		return failure(codeLimit, "%d requests of this client are not answered yet, and more may not be", mostWorking).with("limit", "max_requests")
	}
	c.working[id] = cancel
	return nil
}

// start returns the number after which a stream begins if it specifies none.
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

// deliver writes what the outbox has, until the server has ended and nothing is left, or
// until ctx ends or write fails: that is the error. write gets the number of the first of
// a batch.
func (c *client) deliver(ctx context.Context, write func(number int64, batch []outgoing) error) error {
	for last := false; ; {
		c.catchUp()
		number, batch := c.out.next()
		if len(batch) > 0 {
			if err := write(number, batch); err != nil {
				return err
			}
			c.out.tell(number, batch)
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

// tell sends a notification to the client.
func (c *client) tell(method string, params any) {
	c.out.Add(outgoing{text: notification(method, params), changed: method == "tools/changed"})
}
