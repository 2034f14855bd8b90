package agents

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// askingServer returns an MCP server whose tools ask the user: form with a form, and url to visit a
// page.
func (p *play) askingServer() http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: "conform", Version: "1"}, nil)
	for name, ask := range map[string]*mcp.ElicitParams{
		"form": {Mode: "form", Message: "Which colour?", RequestedSchema: object{"type": "object", "properties": object{"colour": object{"type": "string"}}, "required": []string{"colour"}}},
		"url":  {Mode: "url", Message: "Please log in", URL: p.at.url + "/page", ElicitationID: "e1"},
	} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Asks the user: " + name, Meta: mcp.Meta{"anthropic/alwaysLoad": true}}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			got, err := r.Session.Elicit(ctx, ask)
			answer := "unsupported"
			if err == nil {
				answer = got.Action
			}
			p.elicited.Store(answer)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer}}}, nil, nil
		})
	}
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}
