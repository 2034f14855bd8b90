package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressTransport is a transport that handles progress notifications as soon as they are read.
// The SDK delivers notifications and results in different goroutines, so the last notifications of
// a call could otherwise arrive after its result.
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
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == "notifications/progress" {
		p := &sdk.ProgressNotificationParams{}
		if json.Unmarshal(r.Params, p) == nil {
			t.server.deliverProgress(p)
		}
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
	if c == nil || r.Params.Mode == "url" {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	for _, x := range held {
		x.clock.pauseClock()
		defer x.clock.resumeClock()
	}
	answer := c.askProgram("elicitation", map[string]any{"server": s.config.Name, "tool": c.request.Function(), "message": r.Params.Message, "schema": r.Params.RequestedSchema})
	select {
	case a := <-answer:
		return elicitation(a, r.Params.RequestedSchema), nil
	case <-ctx.Done():
		return nil, ctx.Err()
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
