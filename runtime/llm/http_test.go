package llm

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
)

func TestJoin(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.openai.com/v1":      "https://api.openai.com/v1/p",
		"https://api.openai.com/v1/":     "https://api.openai.com/v1/p",
		"http://localhost:11434":         "http://localhost:11434/v1/p",
		"http://localhost:11434/":        "http://localhost:11434/v1/p",
		"https://x.org/api":              "https://x.org/api/v1/p",
		"https://x.org/api/v4":           "https://x.org/api/v4/p",
		"https://x.org/v1beta":           "https://x.org/v1beta/p",
		"https://x.org/v1/openai":        "https://x.org/v1/openai/v1/p",
		"https://x.org/v1?api-version=2": "https://x.org/v1/p?api-version=2",
		"https://x.org/deploy%2Fa/v2":    "https://x.org/deploy%2Fa/v2/p",
		"ftp://x.org":                    "",
		"x.org/v1":                       "",
		"http://":                        "",
		"http://[::1":                    "",
	} {
		root, err := rootOf(base, "v1")
		got := ""
		if err == nil {
			at, err := (&endpoint{root: root}).resolve("/p")
			if err != nil {
				t.Error(err)
			}
			got = at.String()
		}
		if got != want || (err == nil) != (want != "") {
			t.Errorf("base_url %s: URL = %s (error %v), want %s", base, got, err, want)
		}
	}
}

func TestBrokenAnswers(t *testing.T) {
	const head = "agent 'A' (connection 'main', model m): "
	for name, c := range map[string]struct {
		provider string
		reply    modelserver.Reply
		message  string
		fields   map[string]any
	}{
		"401": {"openai", modelserver.Reply{Status: 401, Error: "Incorrect API key provided: " + key},
			head + "the provider answered 401 Unauthorized: Incorrect API key provided: ***KEY*** (check the key in KEY)",
			map[string]any{"status": int64(401), "reason": "auth", "retryable": false, "raw_response": `{"error":{"message":"Incorrect API key provided: ***KEY***","type":"error"},"type":"error"}`}},
		"400": {"anthropic", modelserver.Reply{Status: 400, Error: "max_tokens: too large"},
			head + "the provider answered 400 Bad Request: max_tokens: too large (check the agent's fields against what the model supports)",
			map[string]any{"status": int64(400), "reason": "bad_request", "retryable": false, "raw_response": `{"error":{"message":"max_tokens: too large","type":"error"},"type":"error"}`}},
		"404": {"openai", modelserver.Reply{Status: 404, Raw: ptr("no such page")},
			head + "the provider answered 404 Not Found: no such page (check the model's name and the connection's base_url)",
			map[string]any{"status": int64(404), "reason": "not_found", "retryable": false, "raw_response": "no such page"}},
		"429": {"openai", modelserver.Reply{Status: 429, Raw: ptr(`{"error":"slow down"}`)},
			head + "the provider answered 429 Too Many Requests: slow down (give the agent a retry_policy, or the connection a rate_limit)",
			map[string]any{"status": int64(429), "reason": "rate", "retryable": true, "raw_response": `{"error":"slow down"}`}},
		"529": {"anthropic", modelserver.Reply{Status: 529, Error: "Overloaded"},
			head + "the provider answered 529: Overloaded (give the agent a retry_policy, or the connection a fallback)",
			map[string]any{"status": int64(529), "reason": "overloaded", "retryable": true, "raw_response": `{"error":{"message":"Overloaded","type":"error"},"type":"error"}`}},
		"redirect": {"openai", modelserver.Reply{Status: 302, Headers: map[string]string{"Location": "https://elsewhere.example/"}},
			head + "the provider answered 302 Found: it redirects to https://elsewhere.example/ (set base_url to the URL that it redirects to)",
			map[string]any{"status": int64(302), "reason": "config", "retryable": false, "raw_response": `{"error":{"message":"","type":"error"},"type":"error"}`}},
		"HTML": {"openai", modelserver.Reply{Raw: ptr("<!doctype html>\n<p>Sign in</p>")},
			head + "the provider returned HTML instead of JSON: <!doctype html> <p>Sign in</p> (check the connection's base_url)",
			map[string]any{"status": int64(200), "reason": "bad_answer", "retryable": false, "raw_response": "<!doctype html> <p>Sign in</p>"}},
		"text": {"anthropic", modelserver.Reply{Raw: ptr("OK")},
			head + "the provider returned text that is not JSON: OK (check the connection's base_url)",
			map[string]any{"status": int64(200), "reason": "bad_answer", "retryable": false, "raw_response": "OK"}},
		"empty": {"openai", modelserver.Reply{Raw: ptr("")},
			head + "the provider returned an empty body (check the connection's base_url)",
			map[string]any{"status": int64(200), "reason": "bad_answer", "retryable": false}},
		"another form": {"openai", modelserver.Reply{Raw: ptr(`{"choices":"x"}`)},
			head + "the provider's response has an unexpected form, at `choices`: {\"choices\":\"x\"} (check the connection's provider)",
			map[string]any{"status": int64(200), "reason": "bad_answer", "retryable": false, "raw_response": `{"choices":"x"}`}},
		"no choices": {"openai", modelserver.Reply{Raw: ptr(`{"choices":[]}`)},
			head + "the provider's response has no choices (check the connection's base_url)",
			map[string]any{"raw_response": `{"choices":[]}`, "status": int64(200), "reason": "bad_answer", "retryable": false}},
		"no message": {"openai", modelserver.Reply{Raw: ptr(`{"choices":[{"message":null,"finish_reason":"stop"}]}`)},
			head + "the provider's response has a choice without a message (check the connection's base_url)",
			map[string]any{"raw_response": `{"choices":[{"message":null,"finish_reason":"stop"}]}`, "status": int64(200), "reason": "bad_answer", "retryable": false}},
		"no message of ollama": {"ollama", modelserver.Reply{Raw: ptr(`{"message":null,"done":true}`)},
			head + "the provider's response has no message (check the connection's base_url)",
			map[string]any{"raw_response": `{"message":null,"done":true}`, "status": int64(200), "reason": "bad_answer", "retryable": false}},
		"no content": {"anthropic", modelserver.Reply{Raw: ptr(`{}`)},
			head + "the provider's response has no content (check the connection's base_url)",
			map[string]any{"raw_response": `{}`, "status": int64(200), "reason": "bad_answer", "retryable": false}},
		"error with status 200": {"openai", modelserver.Reply{Raw: ptr(`{"error":{"message":"model is loading"}}`)},
			head + "the provider returned an error: model is loading (the provider failed: give the agent a retry_policy, or the connection a fallback)",
			map[string]any{"status": int64(200), "reason": "server", "retryable": true, "raw_response": `{"error":{"message":"model is loading"}}`}},
		"long body": {"openai", modelserver.Reply{Status: 500, Raw: ptr(strings.Repeat("é", 5000))},
			head + "the provider answered 500 Internal Server Error: " + strings.Repeat("é", 100) + "… (the provider failed: give the agent a retry_policy, or the connection a fallback)",
			map[string]any{"status": int64(500), "reason": "server", "retryable": true, "raw_response": strings.Repeat("é", 1000) + "…"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, conn := server(t, c.provider, c.reply)
			cl, _ := client(t, conn)
			_, err := ask(cl, effect.AgentCall{})
			e := agentError(t, err)
			if e.Message != c.message {
				t.Errorf("error:\n got %s\nwant %s", e.Message, c.message)
			}
			c.fields["model"], c.fields["provider"] = "m", "main"
			if d := cmp.Diff(c.fields, e.Fields); d != "" {
				t.Error(d)
			}
			if e.Status != effect.Unknown || len(s.Requests()) != 1 {
				t.Errorf("status of the error = %d after %d requests, want unknown after one", e.Status, len(s.Requests()))
			}
		})
	}
}

func TestBrokenConnections(t *testing.T) {
	cut, conn := server(t, "openai", modelserver.Reply{Cut: true})
	c, _ := client(t, conn)
	_, err := ask(c, effect.AgentCall{})
	e := agentError(t, err)
	if want := "agent 'A' (connection 'main', model m): " + strings.TrimPrefix(cut.URL, "http://") + " closed the connection before the response was complete"; e.Message != want {
		t.Errorf("error:\n got %s\nwant %s", e.Message, want)
	}
	if e.Fields["retryable"] != true || e.Status != effect.Unknown {
		t.Error(e.Fields, e.Status)
	}

	// Port 1 has no listener. The port of a closed test server could be in use again.
	conn.BaseURL = "http://127.0.0.1:1"
	c, _ = client(t, conn)
	_, err = ask(c, effect.AgentCall{})
	e = agentError(t, err)
	want := "agent 'A' (connection 'main', model m): could not connect to 127.0.0.1:1: connect: connection refused (is it running, and is base_url correct?)"
	if e.Message != want {
		t.Errorf("error:\n got %s\nwant %s", e.Message, want)
	}
	if e.Fields["retryable"] != true || e.Status != effect.None {
		t.Error(e.Fields, e.Status)
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		for h, want := range map[string]time.Duration{"": 0, "2": 2 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "soon": 0,
			at(-time.Hour): 0, at(time.Hour): time.Hour} {
			if got := retryAfter(http.Header{"Retry-After": {h}}); got != want {
				t.Errorf("retryAfter(%q) = %s, want %s", h, got, want)
			}
		}
		for h, want := range map[string]time.Duration{"1500": 1500 * time.Millisecond, "0": 2 * time.Second, "soon": 2 * time.Second} {
			if got := retryAfter(http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {h}}); got != want {
				t.Errorf("retryAfter with retry-after-ms %q = %s, want %s", h, got, want)
			}
		}
	})
}

// TestConnectTimeout connects to a server that accepts the connection and never answers the TLS
// handshake. The request must fail after connect_timeout, with the status that nothing was sent.
func TestConnectTimeout(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c, _ := client(t, Connection{Name: "main", Provider: "openai", BaseURL: "https://" + silent.Addr().String(), DefaultModel: "m", ConnectTimeout: 0.05, Retry: once})
	_, err = ask(c, effect.AgentCall{})
	e := agentError(t, err)
	want := "agent 'A' (connection 'main', model m): no connection to " + silent.Addr().String() + " within 0.05 seconds (check base_url, or raise connect_timeout)"
	if e.Message != want || e.Fields["reason"] != "connection" || e.Fields["retryable"] != true || e.Status != effect.None {
		t.Error(e.Message, e.Fields, e.Status)
	}
}

// TestTLSErrors checks the errors for a server that uses plain HTTP at an https address, and for a
// server whose certificate is not trusted.
func TestTLSErrors(t *testing.T) {
	plain, conn := server(t, "openai", modelserver.Reply{Text: "x"})
	conn.BaseURL = "https://" + strings.TrimPrefix(plain.URL, "http://")
	odd := httptest.NewTLSServer(http.NotFoundHandler())
	defer odd.Close()
	odd.Config.ErrorLog = log.New(io.Discard, "", 0)
	unknown := conn
	unknown.Name, unknown.BaseURL = "unknown", odd.URL
	c, _ := client(t, conn, unknown)
	for name, want := range map[string]string{
		"main":    " does not use TLS (write its base_url with http://)",
		"unknown": "certificate signed by unknown authority (check the connection's base_url)",
	} {
		_, err := ask(c, effect.AgentCall{Connection: name})
		if e := agentError(t, err); !strings.HasSuffix(e.Message, want) || e.Fields["retryable"] != false || e.Fields["reason"] != "config" {
			t.Error(e.Message, e.Fields)
		}
	}
}

// TestBrokenKey checks that a key with characters that are invalid in a header is refused, and that
// the error does not show the key.
func TestBrokenKey(t *testing.T) {
	s, conn := server(t, "openai", modelserver.Reply{Text: "x"})
	c := New(Config{Connections: []Connection{conn}, Getenv: func(string) (string, bool) { return "sk-\nevil", true }})
	defer c.Close()
	_, err := ask(c, effect.AgentCall{})
	e := agentError(t, err)
	if want := "agent 'A' (connection 'main', model m): environment variable KEY, which contains the key, has invalid characters (Concerto.toml:8): set it again"; e.Message != want || len(s.Requests()) != 0 {
		t.Error(e.Message)
	}
}

// TestScheme checks that a key that begins with a scheme is sent unchanged, and that a base_url
// with a password is refused without showing the password.
func TestScheme(t *testing.T) {
	for key, want := range map[string]string{"secret-key": "Bearer secret-key", "Basic bWU6c2VjcmV0": "Basic bWU6c2VjcmV0", "bearer x": "bearer x"} {
		s, conn := server(t, "openai", modelserver.Reply{Text: "yes: secret bWU6c2VjcmV0"})
		c := New(Config{Connections: []Connection{conn}, Getenv: func(string) (string, bool) { return key, true }})
		defer c.Close()
		r, err := ask(c, effect.AgentCall{})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Requests()[0].Header.Get("Authorization"); got != want {
			t.Errorf("header Authorization = %s, want %s", got, want)
		}
		if strings.HasPrefix(key, "Basic") && r.Text != "yes: ***KEY*** ***KEY***" {
			t.Error(r.Text)
		}
	}
	c, _ := client(t, Connection{Name: "main", Provider: "openai", BaseURL: "http://me:secret@localhost/v1", DefaultModel: "m"})
	_, err := ask(c, effect.AgentCall{})
	if e := agentError(t, err); e.Message != "connection 'main': base_url contains a password: put it into an environment variable and set api_key_env to its name" {
		t.Error(e.Message)
	}
}

// endless is an http.RoundTripper and a body: each response has an error status and a body without
// an end.
type endless struct {
	status int
	read   int
}

func (e *endless) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	return &http.Response{StatusCode: e.status, Header: http.Header{}, Body: io.NopCloser(e), ContentLength: -1}, nil
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

// TestEndlessErrors checks that only the first part of an error's body is read.
func TestEndlessErrors(t *testing.T) {
	for _, status := range []int{302, 400, 401, 429, 500, 503} {
		e, transport := &endless{status: status}, &http.Transport{}
		transport.RegisterProtocol("http", e)
		c := New(Config{Connections: []Connection{{Name: "main", Provider: "openai", APIKeyEnv: "KEY", BaseURL: "http://h", DefaultModel: "m", Retry: once}},
			Getenv: func(string) (string, bool) { return key, true }, HTTP: transport})
		_, err := ask(c, effect.AgentCall{})
		c.Close()
		if got := agentError(t, err); got.Fields["status"] != int64(status) || !strings.Contains(got.Message, "xxx") {
			t.Errorf("status %d: %v, %v", status, got, got.Fields)
		}
		if e.read == 0 || e.read > maxErrorBody {
			t.Errorf("status %d: %d bytes of the body were read, want at most %d", status, e.read, maxErrorBody)
		}
	}
}
