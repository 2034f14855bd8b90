package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// This file contains the requests that a call can send to a server, and their results; see
// effect.MCPOpen.

// maxListed is the maximum number of elements in a list, whose pages could be endless.
const maxListed = 10_000

// subject returns a phrase for the tool, resource, prompt or list that a call concerns.
func subject(r *effect.MCPOpen) string {
	switch r.Method {
	case effect.MCPListTools:
		return "its tools"
	case effect.MCPListResources:
		return "its resources"
	case effect.MCPListTemplates:
		return "its resource templates"
	case effect.MCPReadResource:
		return "resource " + r.Tool
	case effect.MCPListPrompts:
		return "its prompts"
	case effect.MCPGetPrompt:
		return "prompt " + r.Tool
	}
	return "tool " + r.Tool
}

// instead contains hints about where to find the valid names.
var instead = map[string]string{
	effect.MCPReadResource: " (`resources()` and `resource_templates()` list them)",
	effect.MCPGetPrompt:    " (`prompts()` lists them, with their arguments)",
}

// performRequest sends the request of the call to the server and returns the result.
func (c *call) performRequest(ctx context.Context, l *link) (*effect.MCPEvent, error) {
	server := l.session.InitializeResult()
	c.protocol = server.ProtocolVersion
	if err := c.checkSupported(server.Capabilities); err != nil {
		return nil, err
	}
	switch r := c.request; r.Method {
	case effect.MCPListTools:
		return c.listTools(ctx, l, c.server.config.Lists && server.Capabilities.Tools.ListChanged)
	case effect.MCPListResources:
		return listAll(l.session.Resources(ctx, nil), resource)
	case effect.MCPListTemplates:
		e, err := listAll(l.session.ResourceTemplates(ctx, nil), template)
		var unknown *jsonrpc.Error
		// the server supports resources, but does not have this one
		if errors.As(err, &unknown) && unknown.Code == jsonrpc.CodeMethodNotFound {
			return made("", []any{})
		}
		return e, err
	case effect.MCPListPrompts:
		return listAll(l.session.Prompts(ctx, nil), prompt)
	case effect.MCPReadResource:
		return c.readResource(ctx, l)
	case effect.MCPGetPrompt:
		return c.getPrompt(ctx, l)
	}
	return c.callTool(ctx, l)
}

// checkSupported returns an error for a request that the server does not support.
func (c *call) checkSupported(has *sdk.ServerCapabilities) error {
	if has == nil {
		has = &sdk.ServerCapabilities{}
	}
	what, missing := "", false
	switch c.request.Method {
	case effect.MCPListResources, effect.MCPListTemplates, effect.MCPReadResource:
		what, missing = "resources", has.Resources == nil
	case effect.MCPListPrompts, effect.MCPGetPrompt:
		what, missing = "prompts", has.Prompts == nil
	default:
		what, missing = "tools", has.Tools == nil
	}
	if !missing {
		return nil
	}
	var other []string
	if has.Tools != nil {
		other = append(other, "tools")
	}
	if has.Resources != nil {
		other = append(other, "resources")
	}
	if has.Prompts != nil {
		other = append(other, "prompts")
	}
	if other == nil {
		other = []string{"no capability that a program can use"}
	}
	return c.problem("the server has no %s; it has %s", what, strings.Join(other, " and "))
}

func (c *call) callTool(ctx context.Context, l *link) (*effect.MCPEvent, error) {
	own := l.ownName(c.request.Tool)
	params := &sdk.CallToolParams{Name: own, Arguments: withNulls(c.request.Args, l.nulls[own])}
	params.SetProgressToken(c.token())
	if c.key != "" {
		params.Meta["idempotency_key"] = c.key
	}
	for _, h := range effect.TraceHeaders(ctx) {
		params.Meta[h.Name] = h.Value
	}
	result, err := l.session.CallTool(ctx, params)
	if err != nil {
		return nil, err
	}
	text := textOf(result.Content)
	if result.IsError {
		failed := c.problem("%s", text)
		failed.Type = "tool_error"
		return nil, failed
	}
	structured, is := result.StructuredContent.(string)
	if !is {
		return &effect.MCPEvent{Kind: effect.MCPResult, Text: text}, nil
	}
	data, err := structuredResult(structured)
	if err != nil {
		return nil, err
	}
	return &effect.MCPEvent{Kind: effect.MCPResult, Text: text, Data: data}, nil
}

// withNulls adds the members that a tool requires and that the program has left out as nil.
func withNulls(args json.RawMessage, names []string) json.RawMessage {
	var given map[string]json.RawMessage
	if len(names) == 0 || json.Unmarshal(args, &given) != nil {
		return args
	}
	for _, name := range names {
		if given[name] != nil {
			continue
		}
		end := bytes.LastIndexByte(args, '}')
		member := append(value.AppendString(nil, name), ":null"...)
		if len(given) > 0 {
			member = append([]byte{','}, member...)
		}
		args = slices.Concat(args[:end], member, args[end:])
		given[name] = json.RawMessage("null")
	}
	return args
}

func (c *call) readResource(ctx context.Context, l *link) (*effect.MCPEvent, error) {
	params := &sdk.ReadResourceParams{URI: c.request.Tool}
	params.SetProgressToken(c.token())
	result, err := l.session.ReadResource(ctx, params)
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, x := range result.Contents {
		if x == nil {
			continue
		}
		m := filled("uri", x.URI, "mime_type", x.MIMEType)
		if x.Blob != nil {
			m["blob"] = x.Blob // base64 in JSON
		} else {
			m["text"] = x.Text
		}
		out = append(out, m)
	}
	return made("", out)
}

// getPrompt returns the messages of a prompt. For content that is not text, it returns a text that
// names the content.
func (c *call) getPrompt(ctx context.Context, l *link) (*effect.MCPEvent, error) {
	params := &sdk.GetPromptParams{Name: c.request.Tool}
	if c.request.Args != nil {
		if err := json.Unmarshal(c.request.Args, &params.Arguments); err != nil {
			return nil, c.problem("its arguments must be strings: %v", err)
		}
	}
	params.SetProgressToken(c.token())
	result, err := l.session.GetPrompt(ctx, params)
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, m := range result.Messages {
		out = append(out, map[string]any{"role": string(m.Role), "content": textOf([]sdk.Content{m.Content})})
	}
	return made("", out)
}

// listAll returns all elements of a list with several pages, after those in out.
func listAll[T any](all iter.Seq2[*T, error], encode func(*T) map[string]any, out ...any) (*effect.MCPEvent, error) {
	out = append([]any{}, out...)
	for x, err := range all {
		switch {
		case err != nil:
			return nil, err
		case len(out) == maxListed:
			return nil, fmt.Errorf("the server lists more than %d", maxListed)
		case x != nil:
			out = append(out, encode(x))
		}
	}
	return made("", out)
}

func toolObject(t *sdk.Tool) map[string]any {
	m := filled("name", t.Name, "description", t.Description)
	m["parameters"] = t.InputSchema
	return m
}

func resource(r *sdk.Resource) map[string]any {
	m := filled("uri", r.URI, "name", r.Name, "title", r.Title, "description", r.Description, "mime_type", r.MIMEType)
	if r.Size > 0 {
		m["size"] = r.Size
	}
	return m
}

func template(r *sdk.ResourceTemplate) map[string]any {
	return filled("uri_template", r.URITemplate, "name", r.Name, "title", r.Title, "description", r.Description, "mime_type", r.MIMEType)
}

func prompt(p *sdk.Prompt) map[string]any {
	m := filled("name", p.Name, "title", p.Title, "description", p.Description)
	arguments := []any{}
	for _, a := range p.Arguments {
		x := filled("name", a.Name, "title", a.Title, "description", a.Description)
		x["required"] = a.Required
		arguments = append(arguments, x)
	}
	m["arguments"] = arguments
	return m
}

// filled returns a map of pairs of names and values. It omits pairs with an empty value, except the
// first pair.
func filled(pairs ...string) map[string]any {
	m := map[string]any{pairs[0]: pairs[1]}
	for i := 2; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			m[pairs[i]] = pairs[i+1]
		}
	}
	return m
}

// made returns the event that contains a result.
func made(text string, data any) (*effect.MCPEvent, error) {
	b, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("the result is not valid JSON: %w", err)
	}
	return &effect.MCPEvent{Kind: effect.MCPResult, Text: text, Data: b}, nil
}

// textOf returns the text of a result. For content that is not text, the text names the content.
func textOf(content []sdk.Content) string {
	var parts []string
	for _, c := range content {
		switch c := c.(type) {
		case *sdk.TextContent:
			parts = append(parts, c.Text)
		case *sdk.ImageContent:
			parts = append(parts, fmt.Sprintf("[image, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *sdk.AudioContent:
			parts = append(parts, fmt.Sprintf("[audio, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *sdk.ResourceLink:
			parts = append(parts, "[resource "+c.URI+"]")
		case *sdk.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				parts = append(parts, c.Resource.Text)
			} else if c.Resource != nil {
				parts = append(parts, "[resource "+c.Resource.URI+"]")
			}
		}
	}
	return strings.Join(parts, "\n")
}
