// Package lsptest implements a language server client for tests and measurements.
package lsptest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/concerto-lang/concerto/internal/editor/lsp/frame"
)

// Message is a message of a server. A request has a method and an id, a notification only a method,
// a response only an id.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
	Text   string          `json:"-"` // the complete JSON text of the message
}

// Error is the error of a response.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// ErrEnded reports that the server has closed its output or has sent an invalid message.
var ErrEnded = errors.New("the server has ended")

// Client is a client of one server. It is not safe for concurrent use.
type Client struct {
	// OnMessage receives the server's requests and notifications in order. It may be nil.
	OnMessage func(*Message)
	// Answer returns the result of a request of the server. If Answer is nil, the result is null.
	Answer func(*Message) any
	// Patience is the maximum time to wait for an expected message. 0 means no limit.
	Patience time.Duration

	to   io.Writer
	from chan *Message
	last int
}

// New returns a client that writes to and reads from the given streams. It reads in a separate
// goroutine.
func New(to io.Writer, from io.Reader) *Client {
	c := &Client{to: to, from: make(chan *Message, 10_000)}
	go func() {
		defer close(c.from)
		for r := bufio.NewReader(from); ; {
			body, err := frame.Read(r)
			if err != nil {
				return
			}
			m := &Message{Text: string(body)}
			if json.Unmarshal(body, m) != nil {
				return
			}
			c.from <- m
		}
	}()
	return c
}

// Send sends a JSON text.
func (c *Client) Send(text []byte) error {
	_, err := c.to.Write(frame.Encode(text))
	return err
}

func (c *Client) send(m map[string]any) error {
	m["jsonrpc"] = "2.0"
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.Send(text)
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) error {
	return c.send(map[string]any{"method": method, "params": params})
}

// Begin sends a request and returns its id.
func (c *Client) Begin(method string, params any) (id json.RawMessage, err error) {
	c.last++
	id = json.RawMessage(strconv.Itoa(c.last))
	return id, c.send(map[string]any{"id": id, "method": method, "params": params})
}

// Until handles messages until match returns true for one, and returns that message.
func (c *Client) Until(match func(*Message) bool) (*Message, error) {
	var limit <-chan time.Time
	if c.Patience > 0 {
		timer := time.NewTimer(c.Patience)
		defer timer.Stop()
		limit = timer.C
	}
	for {
		select {
		case m, ok := <-c.from:
			if !ok {
				return nil, ErrEnded
			}
			if err := c.handleMessage(m); err != nil {
				return nil, err
			}
			if match(m) {
				return m, nil
			}
		case <-limit:
			return nil, fmt.Errorf("the server did not send the expected message within %s", c.Patience)
		}
	}
}

// Drain handles the messages that have arrived. It reports whether the server's output is still
// open.
func (c *Client) Drain() (more bool, err error) {
	for {
		select {
		case m, ok := <-c.from:
			if !ok {
				return false, nil
			}
			if err := c.handleMessage(m); err != nil {
				return false, err
			}
		default:
			return true, nil
		}
	}
}

// handleMessage passes a message of the server to OnMessage and answers it if it is a request.
func (c *Client) handleMessage(m *Message) error {
	if m.Method == "" {
		return nil
	}
	if c.OnMessage != nil {
		c.OnMessage(m)
	}
	if m.ID == nil {
		return nil
	}
	var result any
	if c.Answer != nil {
		result = c.Answer(m)
	}
	return c.send(map[string]any{"id": m.ID, "result": result})
}

// Await returns the response to a request.
func (c *Client) Await(id json.RawMessage) (*Message, error) {
	return c.Until(func(m *Message) bool { return m.Method == "" && string(m.ID) == string(id) })
}

// Call sends a request and returns its result. For an error response, the error wraps an *Error.
func (c *Client) Call(method string, params any) (json.RawMessage, error) {
	id, err := c.Begin(method, params)
	if err != nil {
		return nil, err
	}
	m, err := c.Await(id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", method, err)
	case m.Error != nil:
		return nil, fmt.Errorf("%s: %w", method, m.Error)
	}
	return m.Result, nil
}
