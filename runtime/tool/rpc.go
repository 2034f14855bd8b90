package tool

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// Error codes of JSON-RPC.
const (
	rpcParse     = -32700
	rpcUnknown   = -32601
	rpcParams    = -32602
	rpcLimit     = -32004
	rpcCancelled = -32005
)

type rpcRequest struct {
	Version string `json:"jsonrpc"`
	ID      int64  `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

type rpcNotification struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

type rpcResponse struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// rpcMessage is a JSON-RPC message from a process.
type rpcMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// toolCall contains the parameters of `tool/call`.
type toolCall struct {
	CallID    string          `json:"call_id"`
	SessionID string          `json:"session_id"`
	Name      string          `json:"name"`
	Version   int             `json:"version"`
	Args      json.RawMessage `json:"args"`
	Context   CallInfo        `json:"context"`
	By        string          `json:"by"`
	Route     string          `json:"route"`
	Chain     []string        `json:"chain"`
	TimeoutS  float64         `json:"timeout_s"`
}

func callParams(input json.RawMessage, c *Context) toolCall {
	t := c.CallInfo()
	p := toolCall{t.CallID, t.SessionID, t.Tool, t.Version, input, t, t.By, t.Route, c.Chain, 0}
	if c.running != nil {
		p.TimeoutS = c.running.c.e.def.Timeout.Seconds()
	}
	return p
}

// readOutput reads the process's output until the output ends. why describes a violation of the
// protocol, or is "".
func (p *peer) readOutput() (why string) {
	most := p.l.x.MaxOutput
	for from := ndjson.NewReader(p.p.Stdout, most); ; {
		line, err := from.NextLine()
		var long *ndjson.TooLongError
		var bad *ndjson.EncodingError
		switch {
		case errors.As(err, &long):
			p.p.Kill()
			return tooMuch(most)
		case errors.As(err, &bad):
			p.handleNonMessage(bad.Text)
		case err != nil:
			return ""
		default:
			p.handleMessage(line.Text)
		}
	}
}

// handleMessage handles a message. It ignores responses to unknown requests and unknown
// notifications.
func (p *peer) handleMessage(line []byte) {
	var m rpcMessage
	if json.Unmarshal(line, &m) != nil {
		p.handleNonMessage(line)
		return
	}
	var id int64
	asks := len(m.ID) > 0 && string(m.ID) != "null"
	switch {
	case m.Method != "" && asks:
		p.handleRequest(m)
	case m.Method != "":
		p.handleNotification(m)
	case asks && json.Unmarshal(m.ID, &id) == nil:
		p.handleAnswer(id, peerAnswer{result: m.resultOf()})
	}
}

// resultOf returns the Result that a response contains.
func (m *rpcMessage) resultOf() Result {
	if m.Error != nil {
		return Failure("%s", m.Error.Message)
	}
	if r, ok := readResult(m.Result); ok {
		return r
	}
	return Failure("returned no result: %s", beginning(m.Result, quoted))
}

// handleNonMessage handles a line that is not a JSON-RPC message.
func (p *peer) handleNonMessage(line []byte) {
	p.noisy.Do(func() {
		if call := p.oldest(); call != nil {
			call.c.warn("tool '%s' wrote a line that is not a message (answer: lines): %s", p.l.x.name, beginning(line, quoted))
		}
	})
	p.respond(rpcResponse{ID: json.RawMessage("null"), Error: &rpcError{Code: rpcParse, Message: "invalid JSON"}})
}

// handleNotification handles a notification.
func (p *peer) handleNotification(m rpcMessage) {
	var of struct {
		CallID   string          `json:"call_id"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total"`
		Message  string          `json:"message"`
		Channel  string          `json:"channel"`
		Payload  json.RawMessage `json:"payload"`
		ID       json.RawMessage `json:"id"`
		Reason   string          `json:"reason"`
	}
	if json.Unmarshal(m.Params, &of) != nil {
		return
	}
	if m.Method == "$/cancelRequest" {
		p.mu.Lock()
		cancel := p.inner[string(of.ID)]
		p.mu.Unlock()
		if cancel != nil {
			cancel(cancelledByTool(of.Reason))
		}
		return
	}
	k := p.findCall(of.CallID)
	if k == nil {
		return
	}
	switch m.Method {
	case "tool/progress":
		k.c.Progress(of.Progress, of.Total, of.Message)
	case "tool/emit":
		if len(of.Payload) == 0 {
			of.Payload = json.RawMessage("null")
		}
		if err := k.c.Emit(of.Channel, of.Payload); err != nil {
			p.noisy.Do(func() { k.c.warn("tool '%s': %v", p.l.x.name, err) })
		}
	}
}

// findCall returns the running call with the given ID. If the ID is "" and only one call is
// running, it returns that call.
func (p *peer) findCall(id string) (found *peerCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.calls {
		switch {
		case k.over != nil || id != "" && k.c.CallID != id:
		case found != nil:
			return nil
		default:
			found = k
		}
	}
	return found
}

// oldest returns the running call that began first.
func (p *peer) oldest() (first *peerCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, k := range p.calls {
		if first == nil || id < first.id {
			first = k
		}
	}
	return first
}

// handleRequest handles a request.
func (p *peer) handleRequest(m rpcMessage) {
	switch m.Method {
	case "ping":
		p.respond(rpcResponse{ID: m.ID, Result: struct{}{}})
	case "tools/call":
		if e := p.beginComposed(m); e != nil {
			p.respond(rpcResponse{ID: m.ID, Error: e})
		}
	default:
		p.respond(rpcResponse{ID: m.ID, Error: &rpcError{Code: rpcUnknown, Message: fmt.Sprintf("unknown method %q", m.Method)}})
	}
}

func (p *peer) respond(r rpcResponse) {
	r.Version = "2.0"
	p.writeMessage(r)
}

func (p *peer) sendNotification(method string, params any) {
	p.writeMessage(rpcNotification{"2.0", method, params})
}

func (p *peer) writeMessage(message any) {
	line, err := jsonwrite.Encode(message)
	if err != nil {
		line = mustEncode(rpcResponse{Version: "2.0", ID: json.RawMessage("null"), Error: &rpcError{Code: rpcParse, Message: err.Error()}})
	}
	p.in.enqueueLine(append(line, '\n'))
}
