package servetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/coder/websocket"
)

// WebSocket connects to the path /ws of a server.
func WebSocket(ctx context.Context, url, token string) (Wire, *websocket.Conn, error) {
	c, _, err := websocket.Dial(ctx, url+"/ws", &websocket.DialOptions{Subprotocols: []string{"concerto.v1", "bearer." + token}})
	if err != nil {
		return nil, nil, err
	}
	c.SetReadLimit(-1)
	return socket{ctx, c}, c, nil
}

type socket struct {
	ctx context.Context
	c   *websocket.Conn
}

func (s socket) Send(text []byte) error { return s.c.Write(s.ctx, websocket.MessageText, text) }

func (s socket) Receive() ([]byte, error) {
	_, text, err := s.c.Read(s.ctx)
	if websocket.CloseStatus(err) == websocket.StatusGoingAway {
		return nil, io.EOF
	}
	return text, err
}

// HTTP is a client that uses the paths /rpc and /events of a server. It queues responses and events
// separately, in order of arrival; see ReceiveAnswer.
type HTTP struct {
	ctx        context.Context
	url, token string

	mu      sync.Mutex
	client  string
	answers chan []byte
	events  chan []byte
	failed  chan error
	Last    string // id of the last received event
}

// NewHTTP returns a client that has not initialized.
func NewHTTP(ctx context.Context, url, token string) *HTTP {
	return &HTTP{ctx: ctx, url: url, token: token, answers: make(chan []byte, 1000), events: make(chan []byte, 10000), failed: make(chan error, 1000)}
}

// Request sends an HTTP request to the server.
func (h *HTTP) Request(method, path, body string, header ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(h.ctx, method, h.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+h.token)
	h.mu.Lock()
	if h.client != "" {
		r.Header.Set("Concerto-Client", h.client)
	}
	h.mu.Unlock()
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		switch header[i] {
		case "Host":
			r.Host = header[i+1]
		default:
			r.Header.Set(header[i], header[i+1])
		}
	}
	return http.DefaultClient.Do(r)
}

// Send posts a message. For a request, another goroutine waits for the response. For initialize,
// Send waits for the response itself, and then requests the client's events.
func (h *HTTP) Send(text []byte) error {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(text, &m) // text may be an invalid message
	if m.Method == "initialize" {
		return h.initialize(text)
	}
	if m.ID == nil || m.Method == "" {
		_, err := h.post(text)
		return err
	}
	go func() {
		body, err := h.post(text)
		if err != nil {
			h.failed <- err
			return
		}
		h.answers <- body
	}()
	return nil
}

// post posts a message and returns the response, or nil if there is none.
func (h *HTTP) post(text []byte) ([]byte, error) {
	r, err := h.Request(http.MethodPost, "/rpc", string(text))
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return nil, err
	case r.StatusCode == http.StatusOK:
		return body, nil
	case r.StatusCode != http.StatusAccepted || len(body) > 0:
		return nil, fmt.Errorf("%s: %s", r.Status, body)
	}
	return nil, nil
}

func (h *HTTP) initialize(text []byte) error {
	body, err := h.post(text)
	if err != nil {
		return err
	}
	defer func() { h.answers <- body }() // queue the response after the event stream is open
	var m struct {
		Result *struct {
			ClientID string `json:"client_id"`
		}
	}
	if err := json.Unmarshal(body, &m); err != nil || m.Result == nil {
		return err
	}
	h.mu.Lock()
	h.client = m.Result.ClientID
	h.mu.Unlock()
	return h.Listen()
}

// Listen requests the client's events, after the last received one.
func (h *HTTP) Listen() error {
	var header []string
	if h.Last != "" {
		header = []string{"Last-Event-ID", h.Last}
	}
	r, err := h.Request(http.MethodGet, "/events", "", header...)
	if err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("events: %s", r.Status)
	}
	go func() {
		defer func() { _ = r.Body.Close() }()
		h.failed <- Events(r.Body, func(id string, data []byte) {
			h.Last = id
			h.events <- data
		})
	}()
	return nil
}

// Events reads a stream of server-sent events and calls each for every event.
func Events(r io.Reader, each func(id string, data []byte)) error {
	in := bufio.NewReaderSize(r, 1<<20)
	id := ""
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		if rest, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
			id = string(rest)
		}
		if rest, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			each(id, rest)
		}
	}
}

// Receive returns the next event.
func (h *HTTP) Receive() ([]byte, error) { return h.next(h.events) }

// ReceiveAnswer returns the next response.
func (h *HTTP) ReceiveAnswer() ([]byte, error) { return h.next(h.answers) }

func (h *HTTP) next(from chan []byte) ([]byte, error) {
	select {
	case text := <-from:
		return text, nil
	default:
	}
	select {
	case text := <-from:
		return text, nil
	case err := <-h.failed:
		select {
		case text := <-from:
			h.failed <- err
			return text, nil
		default:
		}
		return nil, err
	}
}
