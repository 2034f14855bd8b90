package llm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/testkit/testllm"
)

const key = "sk-very-secret"

// sleeps records the waits of a client. Each wait ends immediately.
type sleeps struct {
	mu sync.Mutex
	d  []time.Duration
}

func (s *sleeps) sleep(ctx context.Context, d time.Duration) error {
	s.mu.Lock()
	s.d = append(s.d, d)
	s.mu.Unlock()
	return ctx.Err()
}

// client returns a Client with the connections, a key in KEY and recorded sleeps.
func client(t *testing.T, conns ...Connection) (*Client, *sleeps) {
	s := &sleeps{}
	c := New(Config{
		Connections: conns,
		Getenv: func(name string) (string, bool) {
			if name == "KEY" {
				return key, true
			}
			return "", false
		},
		Sleep: s.sleep, Jitter: func() float64 { return 1 },
	})
	t.Cleanup(c.Close)
	return c, s
}

// once is the policy of a connection without retries.
var once = &effect.Retry{MaxAttempts: 1}

// server starts a scripted test server and returns a connection to it, without retries. provider is
// the name of a provider, or a key of otherAPIs.
func server(t *testing.T, provider string, replies ...modelserver.Reply) (*modelserver.Server, Connection) {
	s := testllm.Start(replies...)
	t.Cleanup(s.Close)
	conn := Connection{Name: "main", Provider: provider, APIKeyEnv: "KEY", BaseURL: s.URL, DefaultModel: "m", Project: "proj", Origin: "Concerto.toml:8", Retry: once, Adds: Adds{Location: "here"},
		Prices: map[string]models.Rates{AnyModel: {}}}
	if other, ok := otherAPIs[provider]; ok {
		conn.Provider, conn.API, conn.APIVersion = other.Provider, other.API, other.APIVersion
	}
	return s, conn
}

// otherAPIs contains connections that use another API of a provider than one that has only an
// address.
var otherAPIs = map[string]models.Endpoint{"responses": {Provider: "openai", API: models.Responses}, "azure chat": {Provider: "azure", APIVersion: azureVersion}}

func ask(c *Client, call effect.AgentCall) (*effect.AgentReply, error) {
	return askIn(context.Background(), c, call)
}

func askIn(ctx context.Context, c *Client, call effect.AgentCall) (*effect.AgentReply, error) {
	call.Agent = "A"
	if call.Connection == "" {
		call.Connection = "main"
	}
	if call.Messages == nil {
		call.Messages = []effect.ChatMessage{{Role: "user", Content: "hello"}}
	}
	r, err := c.Perform(ctx, &call)
	if err != nil {
		return nil, err
	}
	return r.(*effect.AgentReply), nil
}

// agentError checks that err is an AgentError that does not contain the key, and returns it.
func agentError(t *testing.T, err error) *effect.Error {
	t.Helper()
	var e *effect.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an AgentError", err)
	}
	if e.Kind != "AgentError" {
		t.Errorf("kind of the error = %s, want AgentError", e.Kind)
	}
	all, _ := json.Marshal(e.Fields)
	if strings.Contains(e.Message+string(all), key) {
		t.Errorf("the error contains the key: %s %s", e.Message, all)
	}
	return e
}

// wantReply compares a reply with want, except for its latency, its request ID and the failed
// attempts.
func wantReply(t *testing.T, got *effect.AgentReply, err error, want *effect.AgentReply) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	got.LatencyMS, got.RequestID, got.Failed = 0, "", nil
	if want.FinishReason == "" { // TestFinishReasons tests those of all providers
		got.FinishReason = ""
	}
	if got.Estimated && !want.Estimated { // TestEstimatedUsage tests the estimates
		got.TokensIn, got.TokensOut, got.Estimated = want.TokensIn, want.TokensOut, false
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func ptr[T any](v T) *T { return &v }

func TestModel(t *testing.T) {
	s, conn := server(t, "openai", modelserver.Reply{Text: "x", Repeat: true})
	conn.Models = map[string]string{"fast": "m-mini"}
	bare := conn
	bare.Name, bare.DefaultModel = "bare", ""
	c, _ := client(t, conn, bare)
	for _, model := range []string{"", "fast", "other"} {
		if _, err := ask(c, effect.AgentCall{Model: model}); err != nil {
			t.Fatal(err)
		}
	}
	var got []any
	for _, r := range s.Requests() {
		got = append(got, r.Body["model"])
	}
	if d := cmp.Diff([]any{"m", "m-mini", "other"}, got); d != "" {
		t.Error(d)
	}
	_, err := ask(c, effect.AgentCall{Connection: "bare"})
	if e := agentError(t, err); e.Message != "agent 'A' has no model and connection 'bare' (Concerto.toml:8) has no default_model: add one of them" {
		t.Error(e.Message)
	}
}

func TestConnectionErrors(t *testing.T) {
	c, _ := client(t,
		Connection{Name: "nokey", Provider: "openai", APIKeyEnv: "NO_KEY", Origin: "Concerto.toml:3"},
		Connection{Name: "unnamed", Provider: "anthropic"},
		Connection{Name: "address", Provider: "openai", BaseURL: "localhost:80"},
		Connection{Name: "form", Provider: "telepathy"},
		Connection{Name: "script", Provider: "scripted", Replies: []byte(`[{"match":"("}]`)},
	)
	for name, want := range map[string]string{
		"nokey":   "agent 'A' (connection 'nokey', model m): environment variable NO_KEY, which contains the key, is not set (Concerto.toml:3): set it, or try the program with `concerto run --mock`",
		"unnamed": "connection 'unnamed': https://api.anthropic.com/v1 needs a key: write `api_key_env = \"…\"` with the name of the environment variable that contains it",
		"address": "connection 'address': base_url \"localhost:80\" is not an http or https URL: write it as \"https://host/v1\"",
		"form":    "connection 'form' has an unknown provider \"telepathy\"",
		"script":  "connection 'script': reply 1: `match` is not a valid regular expression: error parsing regexp: missing closing ): `(`",
		"nokeey":  "unknown connection 'nokeey': did you mean 'nokey'?",
		"zzzzzz":  "unknown connection 'zzzzzz': add [connections.zzzzzz] with a provider to Concerto.toml",
	} {
		_, err := ask(c, effect.AgentCall{Connection: name, Model: "m"})
		e := agentError(t, err)
		if e.Message != want {
			t.Errorf("connection %s: error\n got %s\nwant %s", name, e.Message, want)
		}
		if e.Fields["provider"] != name || e.Fields["retryable"] != false || e.Status != effect.None {
			t.Errorf("connection %s: fields = %v, status = %d, want retryable = false and status None", name, e.Fields, e.Status)
		}
	}
}

func TestOtherRequestsAreRefused(t *testing.T) {
	c, _ := client(t)
	if _, err := c.Perform(context.Background(), &effect.Sleep{}); err == nil || err.Error() != "the models' client cannot perform sleep" {
		t.Error(err)
	}
}

func TestParseConnection(t *testing.T) {
	got, err := ParseConnection("a", []byte(`{"provider":"openai","api_key_env":"KEY","base_url":"u","default_model":"m","timeout":1.5,"organization":"o","project":"p",`+
		`"retry":{"max_attempts":2,"backoff":"none","initial_delay_ms":1,"max_delay_ms":2},"rate_limit":{"requests_per_minute":3,"tokens_per_minute":4,"max_concurrent":5},`+
		`"models":{"x":"y"},"replies":[{}],"origin":"Concerto.toml:3"}`))
	want := Connection{Name: "a", Provider: "openai", APIKeyEnv: "KEY", BaseURL: "u", DefaultModel: "m", Timeout: 1.5, Organization: "o", Project: "p",
		Retry: &effect.Retry{MaxAttempts: 2, Backoff: "none", InitialDelay: 1, MaxDelay: 2}, RateLimit: &RateLimit{3, 4, 5},
		Models: map[string]string{"x": "y"}, Replies: []byte(`[{}]`), Origin: "Concerto.toml:3"}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if _, err := ParseConnection("a", []byte(`[]`)); err == nil || !strings.HasPrefix(err.Error(), "could not read connection a: ") {
		t.Error(err)
	}
}

func TestLatency(t *testing.T) {
	now := time.Unix(0, 0)
	c := New(Config{
		Now:   func() time.Time { return now },
		Sleep: func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil },
		Connections: []Connection{{Name: "main", Provider: "scripted",
			Replies: []byte(`[{"text":"x","delay_ms":250}]`)}},
	})
	got, err := ask(c, effect.AgentCall{})
	if err != nil || got.LatencyMS != 250 {
		t.Errorf("latency = %d ms (error %v), want 250", got.LatencyMS, err)
	}
}

func TestTimeout(t *testing.T) {
	s, conn := server(t, "openai", modelserver.Reply{Hang: true})
	c, _ := client(t, conn)
	_, err := ask(c, effect.AgentCall{Timeout: 0.05})
	e := agentError(t, err)
	if e.Message != "agent 'A' timed out after 0.05 seconds (connection 'main', model m): raise the timeout, or give the connection a fallback" {
		t.Error(e.Message)
	}
	if d := cmp.Diff(map[string]any{"model": "m", "provider": "main", "retryable": true, "reason": "timeout"}, e.Fields); d != "" {
		t.Error(d)
	}
	if e.Status != effect.Unknown || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("status = %d, cause = %v, want unknown and a deadline error", e.Status, e.Cause)
	}
	aborted(s)
	s.Restart(modelserver.Reply{Text: "quick"})
	if got, err := ask(c, effect.AgentCall{}); err != nil || got.Text != "quick" {
		t.Errorf("reply = %v (error %v), want quick", got, err)
	}
}

// aborted waits until the server notices that the client has aborted a hanging request. On a busy
// machine, a short timeout can end a request before it arrives.
func aborted(s *modelserver.Server) {
	if len(s.Requests()) > 0 {
		<-s.Disconnected
	}
}

func TestConnectionsTimeout(t *testing.T) {
	_, conn := server(t, "openai", modelserver.Reply{Hang: true})
	conn.Timeout = 0.05
	c, _ := client(t, conn)
	_, err := ask(c, effect.AgentCall{})
	if e := agentError(t, err); !strings.HasPrefix(e.Message, "agent 'A' timed out after 0.05 seconds") {
		t.Error(e.Message)
	}
}

func TestCancellation(t *testing.T) {
	s, conn := server(t, "anthropic", modelserver.Reply{Hang: true})
	c, _ := client(t, conn)
	stop := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		<-s.Arrived
		cancel(stop)
	}()
	if _, err := askIn(ctx, c, effect.AgentCall{}); err != stop {
		t.Errorf("error = %v, want the context's cause", err)
	}
	<-s.Disconnected
}
