package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/effect"
)

// tapped is a transport whose progress notifications are seen as they are read:
// the SDK hands them out beside the results, so that a call's last ones could come
// after its end.
type tapped struct {
	sdk.Transport
	server *server
}

func (t tapped) Connect(ctx context.Context) (sdk.Connection, error) {
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
			t.server.progressed(p)
		}
	}
	return m, err
}

// progressed hands a notification to its call.
func (s *server) progressed(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	s.active.Lock()
	c := s.progress[token]
	s.active.Unlock()
	if c == nil {
		return
	}
	data := map[string]any{"server": s.config.Name, "tool": c.request.Tool, "progress": p.Progress}
	if p.Total != 0 {
		data["total"] = p.Total
	}
	if p.Message != "" {
		data["message"] = p.Message
	}
	c.event("progress", data)
}

// elicited asks the program for what a server wants to know. The protocol does
// not say for which call: it is the oldest one's.
func (s *server) elicited(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	s.active.Lock()
	var c *call
	if len(s.order) > 0 {
		c = s.order[0]
	}
	s.active.Unlock()
	if c == nil || r.Params.Mode == "url" {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	c.event("elicitation", map[string]any{"server": s.config.Name, "tool": c.request.Tool, "message": r.Params.Message, "schema": r.Params.RequestedSchema})
	select {
	case a := <-c.answers:
		return elicitation(a, r.Params.RequestedSchema), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *call) event(kind string, data map[string]any) {
	b, err := json.Marshal(data)
	if err != nil {
		return // what a server sent is JSON
	}
	c.add(&effect.MCPEvent{Kind: kind, Data: b}, nil)
}

// elicitation is an application's answer as the protocol wants it: an object is
// the content; another value that of the only member asked for; nil, false and
// "no" decline.
func elicitation(answer json.RawMessage, schema any) *sdk.ElicitResult {
	var v any
	if len(answer) == 0 || json.Unmarshal(answer, &v) != nil || v == nil || v == false {
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
