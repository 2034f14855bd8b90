package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Offer is a tool that a server of ours has. Call gives its result as text, and
// as JSON when that is an object; its error is the tool's.
type Offer struct {
	Name        string
	Description string
	Parameters  json.RawMessage
	Call        func(ctx context.Context, args json.RawMessage) (text string, object json.RawMessage, err error)
}

// newServer makes a server of what is offered.
func newServer(name, version string, offers []Offer) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: name, Version: version}, nil)
	for _, o := range offers {
		s.AddTool(&sdk.Tool{Name: o.Name, Description: o.Description, InputSchema: o.Parameters},
			func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				text, object, err := o.Call(ctx, r.Params.Arguments)
				if err != nil {
					return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}, nil
				}
				out := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
				if object != nil {
					out.StructuredContent = object
				}
				return out, nil
			})
	}
	return s
}

// ServeStreams offers tools to the client at the other end of in and out, until
// in or ctx ends.
func ServeStreams(ctx context.Context, name, version string, offers []Offer, in io.ReadCloser, out io.WriteCloser) error {
	// The session outlives ctx: closing it answers the calls under way, as far as it can.
	session, err := newServer(name, version, offers).Connect(context.WithoutCancel(ctx), &sdk.IOTransport{Reader: in, Writer: out}, nil)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = session.Close() })
	defer stop()
	err = session.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// ServeHTTP offers tools over streamable HTTP at the address, until ctx ends.
// ready is called with the URL once clients can connect.
func ServeHTTP(ctx context.Context, name, version string, offers []Offer, address string, ready func(url string)) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	server := newServer(name, version, offers)
	h := &http.Server{Handler: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil),
		ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = h.Close() }) // whoever is connected learns that it has ended
	defer stop()
	ready("http://" + listener.Addr().String())
	if err := h.Serve(listener); ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}
