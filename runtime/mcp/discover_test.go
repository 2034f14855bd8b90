package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// TestSilentAboutDiscover uses a server that does not answer server/discover. After two seconds the
// client must use the older `initialize`, and it must ignore a later answer.
func TestSilentAboutDiscover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var methods []string
		s := dialed(nil, func() sdk.Transport {
			theirs, ours := sdk.NewInMemoryTransports()
			conn, err := theirs.Connect(t.Context())
			if err != nil {
				t.Error(err)
			}
			go old(conn, &methods)
			return ours
		})
		begun := time.Now()
		id := openCall(t, s, &effect.MCPOpen{Server: "S", Tool: "t"})
		if got := next(t, s, id); got != "result done" {
			t.Error(got)
		}
		if took := time.Since(begun); took != discoverTime {
			t.Errorf("connecting took %s, want two seconds", took)
		}
		synctest.Wait()
		asked := slices.DeleteFunc(methods, func(m string) bool { return strings.HasPrefix(m, "notifications/") })
		if len(asked) < 3 || asked[0] != "server/discover" || asked[len(asked)-1] != "tools/call" {
			t.Error(asked)
		}
		s.Close(t.Context())
		synctest.Wait()
	})
}

// old serves a connection like a server of a protocol version before server/discover. methods
// receives the names of the requests.
func old(conn sdk.Connection, methods *[]string) {
	var discover jsonrpc.ID
	for {
		m, err := conn.Read(context.Background())
		if err != nil {
			return
		}
		r, ok := m.(*jsonrpc.Request)
		if !ok {
			continue
		}
		*methods = append(*methods, r.Method)
		respond := func(id jsonrpc.ID, result string) {
			_ = conn.Write(context.Background(), &jsonrpc.Response{ID: id, Result: json.RawMessage(result)})
		}
		switch r.Method {
		case "server/discover":
			discover = r.ID
		case "initialize":
			respond(r.ID, initialized)
			respond(discover, `{}`)
		case "tools/call":
			respond(r.ID, `{"content":[{"type":"text","text":"done"}]}`)
		case "tools/list":
			respond(r.ID, `{"tools":[]}`)
		}
	}
}

const initialized = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`

// TestSlowServer uses a server that needs three seconds for its first answer. After two seconds the
// client sends initialize, which the server refuses, because server/discover has initialized the
// connection. The client must connect again and wait longer.
func TestSlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := sdk.NewServer(&sdk.Implementation{Name: "slow", Version: "1"}, nil)
		sdk.AddTool(server, &sdk.Tool{Name: "t"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil, nil
		})
		connections := 0
		s := dialed(nil, func() sdk.Transport {
			connections++
			theirs, ours := sdk.NewInMemoryTransports()
			if _, err := server.Connect(t.Context(), slowTransport{theirs}, nil); err != nil {
				t.Error(err)
			}
			return ours
		})
		id := openCall(t, s, &effect.MCPOpen{Server: "S", Tool: "t"})
		if got := next(t, s, id); got != "result done" {
			t.Errorf("the call returned %q, want the result done", got)
		}
		if connections != 2 {
			t.Errorf("connections = %d, want 2", connections)
		}
		s.Close(t.Context())
		synctest.Wait()
	})
}

// slowTransport is a transport whose connections send their first message after three seconds.
type slowTransport struct{ sdk.Transport }

func (s slowTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := s.Transport.Connect(ctx)
	return &slowConn{Connection: conn}, err
}

type slowConn struct {
	sdk.Connection
	wrote atomic.Bool
}

func (c *slowConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if !c.wrote.Swap(true) {
		time.Sleep(3 * time.Second)
	}
	return c.Connection.Write(ctx, m)
}

// TestSilentOverHTTP repeats TestSilentAboutDiscover over HTTP. The request without an answer must
// be cancelled.
func TestSilentOverHTTP(t *testing.T) {
	answered := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(body, &m)
		result := map[string]string{"initialize": initialized, "tools/call": `{"content":[{"type":"text","text":"done"}]}`}[m.Method]
		switch {
		case m.Method == "server/discover":
			<-r.Context().Done()
			close(answered)
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		}
	}))
	defer server.Close()
	s := newServers(mcpport.Options{Configs: []mcpport.Config{{Name: "S", Transport: "http", URL: server.URL}}})
	defer s.Close(t.Context())
	id := openCall(t, s, &effect.MCPOpen{Server: "S", Tool: "t"})
	if got := next(t, s, id); got != "result done" {
		t.Error(got)
	}
	<-answered
}
