package tooltest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/concerto-lang/concerto/runtime/tool"
)

// Peer serves the script's tools with the protocol of `concerto serve`, as a long-lived process or
// as a client.
type Peer struct {
	// Send sends a message. It is never called concurrently.
	Send func(text []byte) error
	// Asked answers requests other than `tool/call`; nil ignores them.
	Asked func(method string, params json.RawMessage) (result any, err error)

	sending sync.Mutex
	mu      sync.Mutex
	last    int
	waiting map[string]chan message // receivers of the responses to the peer's own requests, by ID
	calls   map[string]context.CancelFunc
}

// message is a JSON-RPC message of any kind.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// RefusedError is the error in a response.
type RefusedError struct{ Text json.RawMessage }

func (e *RefusedError) Error() string { return string(e.Text) }

func playLines() {
	out := bufio.NewWriter(os.Stdout)
	p := &Peer{Send: func(text []byte) error {
		_, err := out.Write(append(text, '\n'))
		return errors.Join(err, out.Flush())
	}}
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				panic(err)
			}
			return
		}
		p.Handle(line)
	}
}

// Handle handles a message. It does not block.
func (p *Peer) Handle(text []byte) {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.Method {
	case "tool/call":
		ctx, cancel := context.WithCancel(context.Background())
		if p.calls == nil {
			p.calls = map[string]context.CancelFunc{}
		}
		p.calls[string(m.ID)] = cancel
		go p.call(ctx, m)
	case "$/cancelRequest":
		var of struct{ ID json.RawMessage }
		if json.Unmarshal(m.Params, &of) == nil && p.calls[string(of.ID)] != nil {
			p.calls[string(of.ID)]()
		}
	case "":
		if answer := p.waiting[string(m.ID)]; answer != nil {
			answer <- m
		}
	default:
		if len(m.ID) > 0 && p.Asked != nil {
			go p.answer(m)
		}
	}
}

func (p *Peer) call(ctx context.Context, m message) {
	var of struct {
		CallID  string `json:"call_id"`
		Name    string
		Version int
		Args    json.RawMessage
	}
	if err := json.Unmarshal(m.Params, &of); err != nil {
		panic(err)
	}
	p.send(message{ID: m.ID, Result: encoded(do(ctx, of.Name, of.Version, of.Args, &played{p, of.CallID}))})
}

func (p *Peer) answer(m message) {
	result, err := p.Asked(m.Method, m.Params)
	if err != nil {
		p.send(message{ID: m.ID, Error: encoded(map[string]any{"code": -32603, "message": err.Error()})})
		return
	}
	p.send(message{ID: m.ID, Result: encoded(result)})
}

func encoded(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func (p *Peer) send(m message) {
	m.Version = "2.0"
	p.sending.Lock()
	defer p.sending.Unlock()
	if err := p.Send(encoded(m)); err != nil {
		panic(err)
	}
}

// Ask sends a request and returns its result. If the request is refused, the error is a
// *RefusedError. When ctx ends, Ask cancels the request and still waits for the response.
func (p *Peer) Ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	answer := make(chan message, 1)
	p.mu.Lock()
	p.last++
	id := json.RawMessage(fmt.Sprint(p.last))
	if p.waiting == nil {
		p.waiting = map[string]chan message{}
	}
	p.waiting[string(id)] = answer
	p.mu.Unlock()
	p.send(message{ID: id, Method: method, Params: encoded(params)})
	var m message
	select {
	case m = <-answer:
	case <-ctx.Done():
		p.send(message{Method: "$/cancelRequest", Params: encoded(map[string]any{"id": id})})
		m = <-answer
	}
	if m.Error != nil {
		return nil, &RefusedError{m.Error}
	}
	return m.Result, nil
}

// played is the Around of a call of a peer's tool.
type played struct {
	p  *Peer
	id string
}

func (a *played) Progress(done, total float64, text string) {
	a.p.send(message{Method: "tool/progress", Params: encoded(map[string]any{"call_id": a.id, "progress": done, "total": total, "message": text})})
}

func (a *played) Call(_ context.Context, name string, args any) tool.Result {
	var r tool.Result
	text, err := a.p.Ask(context.Background(), "tools/call", map[string]any{"name": name, "args": args, "parent": a.id})
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return tool.Failure("%v", err)
	}
	return r
}
