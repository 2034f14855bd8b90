package llm

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestOptions checks that a seed, a reasoning effort, headers and extra members of the body are
// sent under the names that the provider uses.
func TestOptions(t *testing.T) {
	for provider, c := range map[string]struct{ extra, want, path string }{
		"openai": {`{"seed":8,"user":"u"}`, `{"seed":8,"reasoning_effort":"low","user":"u","max_tokens":50}`, "/v1/chat/completions"},
		"responses": {`{"user":"u","text":{"verbosity":"low"}}`, `{"reasoning":{"effort":"low"},"user":"u","text":{"verbosity":"low"},"max_output_tokens":50,` +
			`"include":["reasoning.encrypted_content"],"prompt_cache_key":"","store":false}`, "/v1/responses"},
		"azure":     {`{"user":"u"}`, `{"seed":7,"reasoning_effort":"low","user":"u","max_completion_tokens":50}`, "/openai/deployments/m/chat/completions"},
		"anthropic": {`{"top_k":4}`, `{"output_config":{"effort":"low"},"top_k":4,"max_tokens":50}`, "/v1/messages"},
		"gemini": {`{"generationConfig":{"topK":4}}`, `{"generationConfig":{"seed":7,"thinkingConfig":{"thinkingLevel":"low"},"topK":4,"maxOutputTokens":50}}`,
			"/v1beta/models/m:generateContent"},
		"vertex": {`{"generationConfig":{"topK":4}}`, `{"generationConfig":{"seed":7,"thinkingConfig":{"thinkingLevel":"low"},"topK":4,"maxOutputTokens":50}}`,
			"/v1/projects/proj/locations/here/publishers/google/models/m:generateContent"},
		"ollama": {`{"options":{"num_ctx":9}}`, `{"think":"low","stream":false,"options":{"seed":7,"num_ctx":9,"num_predict":50}}`, "/api/chat"},
	} {
		t.Run(provider, func(t *testing.T) {
			s, conn := server(t, provider, modelserver.Reply{Text: "x", Repeat: true})
			conn.Headers = map[string]string{"X-Team": "search"}
			conn.HeadersEnv = map[string]string{"X-Gate": "KEY"}
			conn.Extra = json.RawMessage(c.extra)
			client, _ := client(t, conn)
			call := effect.AgentCall{Seed: ptr(int64(7)), Effort: "low", MaxTokens: ptr(int64(50))}
			if provider == "anthropic" || provider == "responses" {
				if _, err := ask(client, call); err == nil || !strings.Contains(err.Error(), "the provider does not support seed: remove it") {
					t.Errorf("call with a seed: error %v, want that it is not supported", err)
				}
				call.Seed = nil
			}
			if _, err := ask(client, call); err != nil {
				t.Fatal(err)
			}
			if _, _, err := streamed(t.Context(), client, call); err != nil {
				t.Fatal(err)
			}
			published(t, s)
			r := s.Requests()[0]
			for _, k := range []string{"model", "messages", "contents", "input"} {
				delete(r.Body, k)
			}
			if r.Body["prompt_cache_key"] != nil {
				r.Body["prompt_cache_key"] = "" // see TestCacheKey
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, r.Body); diff != "" {
				t.Error(diff)
			}
			if r.Path != c.path || r.Header.Get("X-Team") != "search" || r.Header.Get("X-Gate") != key {
				t.Errorf("path = %s, headers = %v, want path %s and the configured headers", r.Path, r.Header, c.path)
			}
		})
	}
}

// TestKeysOfClouds checks that Azure receives an API key and a bearer token in different headers,
// and that Vertex receives a bearer token.
func TestKeysOfClouds(t *testing.T) {
	for _, c := range []struct{ provider, key, name, want string }{
		{"azure", "abc", "Api-Key", "abc"},
		{"azure", "Bearer abc", "Authorization", "Bearer abc"},
		{"vertex", "ya29.abc", "Authorization", "Bearer ya29.abc"},
	} {
		s, conn := server(t, c.provider, modelserver.Reply{Text: "x"})
		client := New(Config{Connections: []Connection{conn}, Getenv: func(string) (string, bool) { return c.key, true }})
		if _, err := ask(client, effect.AgentCall{}); err != nil {
			t.Fatal(err)
		}
		client.Close()
		head := s.Requests()[0].Header
		if head.Get(c.name) != c.want || len(head.Values("Authorization"))+len(head.Values("Api-Key")) != 1 {
			t.Errorf("provider %s: headers = %v, want %s: %s", c.provider, head, c.name, c.want)
		}
	}
}

// TestBadOptions checks that the error for an invalid connection explains the required form.
func TestBadOptions(t *testing.T) {
	for _, c := range []struct {
		conn Connection
		want string
	}{
		{Connection{Provider: "azure", APIKeyEnv: "KEY"}, `write ` + "`base_url = \"https://NAME.openai.azure.com\"`"},
		{Connection{Provider: "vertex", APIKeyEnv: "KEY"}, "vertex needs `project"},
		{Connection{Provider: "vertex", APIKeyEnv: "KEY", Project: "p"}, "vertex needs `location"},
		{Connection{Provider: "openai", APIKeyEnv: "KEY", Adds: Adds{Extra: json.RawMessage(`{"stream":true}`)}}, "extra must not contain `stream`"},
		{Connection{Provider: "openai", APIKeyEnv: "KEY", Adds: Adds{Headers: map[string]string{"a b": "c"}}}, `header "a b" contains invalid characters`},
		{Connection{Provider: "openai", APIKeyEnv: "KEY", Adds: Adds{HeadersEnv: map[string]string{"X-Gate": "GATE"}}}, "environment variable GATE, which contains the header X-Gate, is not set (Concerto.toml:8)"},
	} {
		c.conn.Name, c.conn.DefaultModel, c.conn.Origin = "main", "m", "Concerto.toml:8"
		client := New(Config{Connections: []Connection{c.conn}, Getenv: func(name string) (string, bool) { return map[string]string{"KEY": "abc"}[name], name == "KEY" }, HTTP: &http.Transport{}})
		if _, err := ask(client, effect.AgentCall{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error = %v, want %s", err, c.want)
		}
		client.Close()
	}
	for location, want := range map[string]string{"us-central1": "https://us-central1-aiplatform.googleapis.com/v1", "global": "https://aiplatform.googleapis.com/v1"} {
		if c := (&Connection{Provider: "vertex", Adds: Adds{Location: location}}); c.Address() != want {
			t.Errorf("address of location %s = %s, want %s", location, c.Address(), want)
		}
	}
}
