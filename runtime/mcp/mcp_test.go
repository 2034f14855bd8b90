package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// inMemory returns Servers with one server, S, in memory. A call times out after a minute.
func inMemory(t *testing.T, server *sdk.Server) *Servers { return inMemoryBy(t, nil, server) }

// inMemoryBy is like inMemory, with a given clock for the timeout.
func inMemoryBy(t *testing.T, clock *clock.PausableClock, server *sdk.Server) *Servers {
	return dialed(clock, func() sdk.Transport {
		theirs, ours := sdk.NewInMemoryTransports()
		if _, err := server.Connect(t.Context(), theirs, nil); err != nil {
			t.Error(err)
		}
		return ours
	})
}

// dialed returns Servers with the server S, whose transport dial creates.
func dialed(clock *clock.PausableClock, dial func() sdk.Transport) *Servers {
	s := newServers(mcpport.Options{Clock: clock, Configs: []mcpport.Config{{Name: "S", Timeout: 60}}})
	s.servers["S"].dial = dial
	return s
}

func openCall(t *testing.T, s *Servers, r *effect.MCPOpen) int64 {
	t.Helper()
	if r.Args == nil {
		r.Args = json.RawMessage("{}")
	}
	result, err := s.Perform(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return result.(*effect.MCPOpened).ID
}

// next returns the next event of a call as text: its kind with its text, or the text of the error.
func next(t *testing.T, s *Servers, id int64) string {
	t.Helper()
	result, err := s.Perform(t.Context(), &effect.MCPNext{ID: id})
	if err != nil {
		return "error: " + err.Error()
	}
	e := result.(*effect.MCPEvent)
	return e.Kind + " " + e.Text
}

func reply(t *testing.T, s *Servers, id int64, answer string) {
	t.Helper()
	if _, err := s.Perform(t.Context(), &effect.MCPReply{ID: id, Answer: json.RawMessage(answer)}); err != nil {
		t.Fatal(err)
	}
}

// answered returns the final event of a call. It answers each question after ten minutes.
func answered(t *testing.T, s *Servers, id int64) string {
	for {
		got := next(t, s, id)
		if got != "elicitation " {
			return got
		}
		time.Sleep(10 * time.Minute)
		reply(t, s, id, `{"name":"Ada"}`)
	}
}

var nameSchema = map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}

// asking returns a server whose tool `ask` works for 40 seconds, asks a question, and works for 40
// more seconds. If old is true, it asks with a separate request, as in older versions of the
// protocol.
func asking(old bool) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "asking", Version: "1"}, nil)
	params := &sdk.ElicitParams{Message: "Your name?", RequestedSchema: nameSchema}
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		got, ok := r.Params.InputResponses["name"].(*sdk.ElicitResult)
		switch {
		case old:
			time.Sleep(20 * time.Second)
			var err error
			if got, err = r.Session.Elicit(ctx, params); err != nil {
				return nil, nil, err
			}
		case !ok:
			time.Sleep(20 * time.Second)
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"name": params}}, nil, nil
		}
		time.Sleep(20 * time.Second)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello " + got.Content["name"].(string)}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "slow"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	if old {
		s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
				if method == "server/discover" {
					return nil, io.ErrUnexpectedEOF // the server does not support the method
				}
				return next(ctx, method, r)
			}
		})
	}
	return s
}

// TestElicitationPausesTimeout checks that the timeout of a call excludes the time in which the
// program answers a question, and includes the time in which the server works.
func TestElicitationPausesTimeout(t *testing.T) {
	for name, old := range map[string]bool{"within the call": false, "by a request": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := inMemory(t, asking(old))
				defer s.Close(context.Background())
				slow := openCall(t, s, &effect.MCPOpen{Server: "S", Tool: "slow"})
				began := time.Now()
				timedOut := make(chan time.Duration, 1)
				go func() {
					if got := answered(t, s, slow); !strings.Contains(got, "no result within 60 seconds (`timeout` of [mcp.S])") {
						t.Errorf("outcome of the slow call = %q, want a timeout", got)
					}
					timedOut <- time.Since(began)
				}()
				time.Sleep(time.Second) // makes the slow call the older one
				if got := answered(t, s, openCall(t, s, &effect.MCPOpen{Server: "S", Tool: "ask"})); got != "result hello Ada" {
					t.Errorf("outcome of the asking call = %q, want a result", got)
				}
				want := time.Minute
				if old { // the question of the older protocol does not name its call
					want += 10 * time.Minute
				}
				if took := <-timedOut; took != want {
					t.Errorf("the slow call timed out after %s, want %s", took, want)
				}
			})
		})
	}
}

// TestPausedClockStopsCallTimeout checks that no call times out while the clock is paused.
func TestPausedClockStopsCallTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, began := clock.NewPausableClock(), time.Now()
		s := inMemoryBy(t, clock, asking(false))
		defer s.Close(context.Background())
		slow := openCall(t, s, &effect.MCPOpen{Server: "S", Tool: "slow"})
		time.AfterFunc(10*time.Second, clock.Pause)
		time.AfterFunc(time.Hour, clock.Resume)
		if got, took := answered(t, s, slow), time.Since(began); took != time.Hour+50*time.Second || !strings.Contains(got, "no result within 60 seconds") {
			t.Errorf("after %s the call ended with %q, want a timeout after the pause", took, got)
		}
	})
}

// TestAnswersInOrder checks that each answer reaches its question, even if a question is withdrawn
// before its answer.
func TestAnswersInOrder(t *testing.T) {
	c, _ := newCall(t.Context(), 1, &server{}, &effect.MCPOpen{})
	defer c.clock.stopClock()
	first, second := c.askProgram("elicitation", nil), c.askProgram("elicitation", nil)
	for _, a := range []string{"1", "2", "3"} { // no receiver waits for the third
		c.answerRequest(json.RawMessage(a))
	}
	if a, b := string(<-first), string(<-second); a != "1" || b != "2" {
		t.Errorf("answers = %s and %s, want them in the order of the questions", a, b)
	}
}

// sessions is an HTTP server that uses the protocol version with sessions. It can drop its
// sessions.
type sessions struct {
	mu      sync.Mutex
	handler http.Handler
	calls   int  // number of tool calls
	deaf    bool // tool calls fail because their session is unknown
}

func (s *sessions) forget() {
	server := sdk.NewServer(&sdk.Implementation{Name: "sessions", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "hello"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello"}}}, nil, nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
}

func (s *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	s.mu.Lock()
	h, call := s.handler, strings.Contains(string(body), `"tools/call"`)
	if call {
		s.calls++
	}
	deaf := s.deaf && call
	s.mu.Unlock()
	if deaf || strings.Contains(string(body), `"server/discover"`) {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	h.ServeHTTP(w, r)
}

func overHTTP(t *testing.T, h http.Handler, headers map[string]string) *Servers {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	s := newServers(mcpport.Options{Configs: []mcpport.Config{{Name: "S", Transport: "http", URL: server.URL, HeadersEnv: headers}}, Environ: []string{"TOKEN=secret"}})
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

// TestSessionLost checks that a call reconnects, but only once, if the server has dropped its
// session.
func TestSessionLost(t *testing.T) {
	h := &sessions{}
	h.forget()
	s := overHTTP(t, h, nil)
	hello := func() string { return next(t, s, openCall(t, s, &effect.MCPOpen{Server: "S", Tool: "hello"})) }
	for i := range 2 {
		if got := hello(); got != "result hello" {
			t.Errorf("outcome of call %d = %q, want a result", i, got)
		}
		h.forget()
	}
	if got := hello(); got != "result hello" {
		t.Errorf("outcome of the last call = %q, want an error", got)
	}
	h.mu.Lock()
	h.deaf, h.calls = true, 0
	h.mu.Unlock()
	if got := hello(); !strings.HasPrefix(got, "error: mcp server 'S', tool hello: the connection was closed: ") {
		t.Errorf("outcome = %q, want the error of the lost session", got)
	}
	if h.calls != 2 {
		t.Errorf("the server received %d calls, want 2", h.calls)
	}
}

// TestRefused checks the error for a server that refuses the credentials, and that secrets are not
// sent to another server.
func TestRefused(t *testing.T) {
	seen := make(chan string, 1)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case seen <- r.Header.Get("Authorization"):
		default:
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer elsewhere.Close()
	headers := map[string]string{"Authorization": "TOKEN"}
	for name, h := range map[string]http.HandlerFunc{
		"at once": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "secret" {
				t.Error("the request does not have the configured header")
			}
			w.WriteHeader(http.StatusUnauthorized)
		},
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := overHTTP(t, h, headers)
			got := next(t, s, openCall(t, s, &effect.MCPOpen{Server: "S", Tool: "hello"}))
			if !strings.Contains(got, "it returned status 401 Unauthorized: check the credentials in `headers_env`") || strings.Contains(got, "secret") {
				t.Errorf("outcome = %q, want the error about the credentials", got)
			}
		})
	}
	if got := <-seen; got != "" {
		t.Errorf("the redirected request contains the secret: %q", got)
	}
}
