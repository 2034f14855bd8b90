package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

var errDone = errors.New("done")

// listening offers one tool, hello, over HTTP and returns the URL.
func listening(t *testing.T, l mcpport.Listen) string {
	ctx, cancel := context.WithCancelCause(context.Background())
	url, done := make(chan string, 1), make(chan error, 1)
	hello := mcpport.Offer{Name: "hello", Parameters: json.RawMessage(`{"type":"object"}`),
		Call: func(context.Context, json.RawMessage, func(mcpport.Progress)) (mcpport.Result, error) {
			return mcpport.Result{Text: "hello"}, nil
		}}
	go func() {
		done <- serveHTTP(ctx, "test", "1", mcpport.Offers{Fixed: []mcpport.Offer{hello}}, l, func(u string) { url <- u })
	}()
	t.Cleanup(func() {
		cancel(errDone)
		if err := <-done; err != errDone {
			t.Errorf("ServeHTTP: %v", err)
		}
	})
	return <-url
}

// TestGuard checks which clients may call tools over HTTP.
func TestGuard(t *testing.T) {
	open, closed := listening(t, mcpport.Listen{Address: ":0"}), listening(t, mcpport.Listen{Address: "0", Token: "secret", Origins: []string{"https://example.org"}})
	for _, c := range []struct {
		name, url, header, value string
		status                   int
	}{
		{"nobody's page", open, "", "", 200},
		{"a page of elsewhere", open, "Origin", "https://example.org", 403},
		{"a page of elsewhere by a name like ours", open, "Origin", "http://localhost.example.org", 403},
		{"a page without a name", open, "Origin", "null", 403},
		{"a page of this machine", open, "Origin", "http://localhost:3000", 200},
		{"a name that leads here", open, "Host", "example.org", 403},
		{"no token", closed, "", "", 401},
		{"a wrong token", closed, "Authorization", "Bearer secre", 401},
		{"the token without its word", closed, "Authorization", "secret", 401},
		{"the token", closed, "Authorization", "Bearer secret", 200},
		{"an allowed page without the token", closed, "Origin", "https://example.org", 401},
		{"a page of elsewhere without the token", closed, "Origin", "https://example.com", 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if c.header == "Host" {
				r.Host = c.value
			} else if c.header != "" {
				r.Header.Set(c.header, c.value)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != c.status {
				t.Errorf("status = %d, want %d", resp.StatusCode, c.status)
			}
		})
	}
	s := newServers(mcpport.Options{Configs: []mcpport.Config{{Name: "S", Transport: "http", URL: closed, Headers: map[string]string{"Authorization": "Bearer secret"}}}})
	defer s.Close(context.Background())
	if got := next(t, s, openCall(t, s, &effect.MCPOpen{Server: "S", Tool: "hello"})); got != "result hello" {
		t.Errorf("result of the tool = %q", got)
	}
}

func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{"8080": true, ":8080": true, "127.0.0.1:1": true, "localhost:1": true, "[::1]:1": true,
		"0.0.0.0:1": false, "[::]:1": false, "example.org:1": false, "192.168.0.1:1": false} {
		if got := mcpport.IsLoopback(address); got != want {
			t.Errorf("mcpport.IsLoopback(%s) = %v", address, got)
		}
	}
}
