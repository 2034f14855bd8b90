package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressTransport is a transport that handles the notifications of calls as soon as they are
// read. The SDK delivers notifications and results in different goroutines, so the last
// notifications of a call could otherwise arrive after its result.
type progressTransport struct {
	sdk.Transport
	server *server
}

func (t progressTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return tap{c, t.server}, err
}

type tap struct {
	sdk.Connection
	server *server
}

func (t tap) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := t.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok {
		t.server.deliver(r.Method, r.Params)
	}
	return m, err
}

// Write implements sdk.Connection. The call stores the id of its last request.
func (t tap) Write(ctx context.Context, m jsonrpc.Message) error {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.storeRequestID(m)
	}
	return t.Connection.Write(ctx, m)
}

// storeRequestID stores the id of a request of the call.
func (c *call) storeRequestID(m jsonrpc.Message) {
	if r, ok := m.(*jsonrpc.Request); ok && r.ID.IsValid() {
		id := fmt.Sprint(r.ID.Raw())
		c.requestID.Store(&id)
	}
}

// elicit passes a question of the server to the program. The timeout of the call to which the
// question belongs is paused. A server of an older protocol version does not name the call. In that
// case the question is passed to the oldest call, and the timeouts of all calls are paused.
func (s *server) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	c, ok := ctx.Value(callKey{}).(*call)
	held := []*call{c}
	if !ok {
		s.active.Lock()
		held = slices.Clone(s.order)
		s.active.Unlock()
		if len(held) > 0 {
			c = held[0]
		}
	}
	if c == nil {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	data := map[string]any{"server": s.config.Name, "tool": c.request.Function(), "message": r.Params.Message}
	form := r.Params.Mode != "url"
	if form {
		data["schema"] = r.Params.RequestedSchema
	} else if data["url"], data["id"] = r.Params.URL, r.Params.ElicitationID; !isWebAddress(r.Params.URL) {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	for _, x := range held {
		x.clock.pauseClock()
		defer x.clock.resumeClock()
	}
	if !form {
		s.active.Lock()
		if s.visits == nil {
			s.visits = map[string]*call{}
		}
		s.visits[r.Params.ElicitationID] = c
		s.active.Unlock()
	}
	answer := c.askProgram("elicitation", data)
	select {
	case a := <-answer:
		if !form {
			return visit(a), nil
		}
		return elicitation(a, r.Params.RequestedSchema), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// isWebAddress reports whether a text is an address that a person may open in a browser.
func isWebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// visit converts the program's answer to the request that a person opens an address.
func visit(answer json.RawMessage) *sdk.ElicitResult {
	var v any
	if json.Unmarshal(answer, &v) == nil {
		if text, ok := v.(string); v == true || ok && strings.EqualFold(text, "yes") {
			return &sdk.ElicitResult{Action: "accept"}
		}
	}
	return &sdk.ElicitResult{Action: "decline"}
}

// endVisit passes the end of what a person did at an address to the call that requested it, if the
// call has not ended.
func (s *server) endVisit(id string) {
	s.active.Lock()
	c := s.visits[id]
	delete(s.visits, id)
	s.active.Unlock()
	if c != nil {
		c.addEvent(newEvent("elicitation_complete", map[string]any{"id": id}), nil)
	}
}

// elicitation converts the program's answer to the form of the protocol. An object is the content.
// Any other value becomes the value of the only member in the schema. nil, false and "no" decline.
func elicitation(answer json.RawMessage, schema any) *sdk.ElicitResult {
	var v any
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber() // a float64 would round large integers
	if len(answer) == 0 || d.Decode(&v) != nil || v == nil || v == false {
		return &sdk.ElicitResult{Action: "decline"}
	}
	if s, ok := v.(string); ok {
		switch strings.ToLower(s) {
		case "no", "decline":
			return &sdk.ElicitResult{Action: "decline"}
		case "cancel":
			return &sdk.ElicitResult{Action: "cancel"}
		}
	}
	if content, ok := v.(map[string]any); ok {
		return &sdk.ElicitResult{Action: "accept", Content: content}
	}
	object, _ := schema.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	if len(properties) == 1 {
		for name := range properties {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{name: v}}
		}
	}
	if v == true {
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{}}
	}
	return &sdk.ElicitResult{Action: "decline"}
}
