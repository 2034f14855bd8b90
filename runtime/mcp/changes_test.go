package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/testkit/testmcp"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// TestChanges checks that a list of tools counts as changed until it was requested, after the
// server has announced a change, and after the connection has ended; that the announcement arrives
// on each transport; and that only a list whose changes matter contains that the server announces
// them.
func TestChanges(t *testing.T) {
	changing := func() *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "changing", Version: "1"}, nil)
		testmcp.AddChanging(s)
		return s
	}
	over := func(o sdk.StreamableHTTPOptions) func(*testing.T) *Servers {
		return func(t *testing.T) *Servers {
			s := changing()
			server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &o))
			t.Cleanup(server.Close)
			return newServers(mcpport.Options{Configs: []mcpport.Config{{Name: "S", Transport: "http", URL: server.URL}}})
		}
	}
	for name, start := range map[string]func(*testing.T) *Servers{
		"in memory":  func(t *testing.T) *Servers { return inMemory(t, changing()) },
		"http":       over(sdk.StreamableHTTPOptions{Stateless: true}),
		"older http": over(sdk.StreamableHTTPOptions{}), // with sessions
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			t.Cleanup(func() { s.Close(context.Background()) })
			x := s.servers["S"]
			x.config.Lists = true
			isChanged := func() bool {
				got, err := s.Perform(t.Context(), &effect.MCPChanged{Server: "S"})
				if err != nil {
					t.Fatal(err)
				}
				return got.(*effect.MCPChange).Changed
			}
			list := func(want string) {
				t.Helper()
				id := openCall(t, s, &effect.MCPOpen{Server: "S", Method: effect.MCPListTools})
				got, err := s.Perform(t.Context(), &effect.MCPNext{ID: id})
				if err != nil {
					t.Fatal(err)
				}
				data := string(got.(*effect.MCPEvent).Data)
				if !strings.HasPrefix(data, `[{"changes":true},{"`) || strings.Count(data, `"name"`) != 1 || !strings.Contains(data, `"name":"`+want+`"`) || isChanged() {
					t.Fatalf("list %s, changed: %v; want only the tool %s", data, isChanged(), want)
				}
			}
			if !isChanged() {
				t.Error("a list that was not requested is current")
			}
			list("locked")
			if version := x.link.session.InitializeResult().ProtocolVersion; (version < "2026") != (name == "older http") {
				t.Errorf("the connection has the version %s", version)
			}
			if got := next(t, s, openCall(t, s, &effect.MCPOpen{Server: "S", Tool: "locked"})); got != "result unlocked" {
				t.Fatalf("outcome %q", got)
			}
			awaitChange := func() {
				for !isChanged() {
					runtime.Gosched()
				}
			}
			awaitChange() // over HTTP, the announcement has its own stream
			list("unlocked")
			if err := x.link.session.Close(); err != nil {
				t.Error(err)
			}
			awaitChange()
			x.config.Lists = false
			id := openCall(t, s, &effect.MCPOpen{Server: "S", Method: effect.MCPListTools})
			got, err := s.Perform(t.Context(), &effect.MCPNext{ID: id})
			if err != nil || strings.Contains(string(got.(*effect.MCPEvent).Data), effect.MCPChanges) {
				t.Errorf("a list whose changes do not matter: %v, error %v", got, err)
			}
		})
	}
	s := inMemory(t, asking(false))
	t.Cleanup(func() { s.Close(context.Background()) })
	if got, err := s.Perform(t.Context(), &effect.MCPChanged{Server: "other"}); err != nil || got.(*effect.MCPChange).Changed {
		t.Errorf("an unknown server: %v, error %v", got, err)
	}
}
