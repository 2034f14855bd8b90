package llm

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
)

var awsEnvironment = map[string]string{awsID: "AKIDEXAMPLE1234", awsSecret: "wJalrXUtnFEMI/K7MDENG", awsToken: "session/token=="}

// TestBedrockSigns checks that requests without a key are signed with AWS's credentials, for the
// path and the body that are sent. No reply may contain the credentials.
func TestBedrockSigns(t *testing.T) {
	s, conn := server(t, "bedrock", modelserver.Reply{Text: "AKIDEXAMPLE1234 wJalrXUtnFEMI/K7MDENG session/token==", Repeat: true})
	conn.APIKeyEnv, conn.Location, conn.DefaultModel = "", "eu-west-3", "amazon.nova:0/x"
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := New(Config{Connections: []Connection{conn}, Getenv: func(n string) (string, bool) { v, ok := awsEnvironment[n]; return v, ok }})
	defer c.Close()
	reply, err := ask(c, effect.AgentCall{})
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := streamed(t.Context(), c, effect.AgentCall{})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range awsEnvironment {
		if strings.Contains(reply.Text+text, secret) {
			t.Errorf("the reply %q or the streamed text %q contains a secret", reply.Text, text)
		}
	}
	published(t, s)
	for i, path := range []string{"/model/amazon.nova:0/x/converse", "/model/amazon.nova:0/x/converse-stream"} {
		got := s.Requests()[i]
		sent, err := time.Parse("20060102T150405Z", got.Header.Get("X-Amz-Date"))
		if got.Path != path || err != nil || sent.Before(now) {
			t.Errorf("path = %s, date = %s", got.Path, got.Header.Get("X-Amz-Date"))
		}
		// The test computes the signature of the received request again.
		r := &http.Request{Method: "POST", Host: strings.TrimPrefix(s.URL, "http://"), Header: http.Header{"Content-Type": {"application/json"}}}
		r.URL, err = url.Parse(s.URL + strings.Replace(path, "nova:0/x", "nova:0%2Fx", 1))
		if err != nil {
			t.Fatal(err)
		}
		keys := credentials{awsEnvironment[awsID], awsEnvironment[awsSecret], awsEnvironment[awsToken]}
		keys.sign(r, []byte(got.Text), "eu-west-3", "bedrock", sent)
		if want := r.Header.Get("Authorization"); got.Header.Get("Authorization") != want {
			t.Errorf("header Authorization = %s\nwant %s", got.Header.Get("Authorization"), want)
		}
	}
}

// TestBedrockCredentials checks that a call without credentials fails before a request is sent, and
// that the error names the variable.
func TestBedrockCredentials(t *testing.T) {
	for _, missing := range []string{awsID, awsSecret} {
		s, conn := server(t, "bedrock")
		conn.APIKeyEnv = ""
		c := New(Config{Connections: []Connection{conn}, Getenv: func(n string) (string, bool) {
			if n == missing {
				return "", false
			}
			return awsEnvironment[n], true
		}})
		_, err := ask(c, effect.AgentCall{})
		c.Close()
		want := "environment variable " + missing + ", which contains the key, is not set (Concerto.toml:8)"
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(c.Unkeyed(), want) || len(s.Requests()) != 0 {
			t.Errorf("error = %v, Unkeyed = %q, want %q without a request", err, c.Unkeyed(), want)
		}
	}
}

// TestBedrockException checks that an exception in a stream fails the call with the class of the
// exception.
func TestBedrockException(t *testing.T) {
	for name, class := range map[string]Class{"throttlingException": ClassRate, "validationException": ClassBadRequest, "modelStreamErrorException": ClassServer} {
		frame := modelserver.BedrockException(name, "too much")
		_, conn := server(t, "bedrock", modelserver.Reply{Raw: &frame, Repeat: true})
		conn.Retry = &effect.Retry{MaxAttempts: 1}
		c, _ := client(t, conn)
		_, _, err := streamed(t.Context(), c, effect.AgentCall{})
		e := agentError(t, err)
		if e.Fields["reason"] != string(class) || !strings.Contains(e.Message, "the provider ended the response: "+name+": too much") {
			t.Errorf("error = %v with fields %v, want the class and the text of the exception", e.Message, e.Fields)
		}
	}
	bad := "not an event stream"
	_, conn := server(t, "bedrock", modelserver.Reply{Raw: &bad, Repeat: true})
	c, _ := client(t, conn)
	if _, _, err := streamed(t.Context(), c, effect.AgentCall{}); err == nil || !strings.Contains(err.Error(), "is not an event stream") {
		t.Error(err)
	}
}

// TestBedrockOptions checks that unsupported options are refused and that extra members are added
// to the body.
func TestBedrockOptions(t *testing.T) {
	s, conn := server(t, "bedrock", modelserver.Reply{Text: "x", Repeat: true})
	conn.Extra = []byte(`{"additionalModelRequestFields":{"top_k":4}}`)
	c, _ := client(t, conn)
	if _, err := ask(c, effect.AgentCall{MaxTokens: ptr(int64(5))}); err != nil {
		t.Fatal(err)
	}
	published(t, s)
	if body := s.Requests()[0].Text; !strings.Contains(body, `"top_k":4`) || !strings.Contains(body, `"maxTokens":5`) {
		t.Error(body)
	}
	for _, call := range []effect.AgentCall{{Seed: ptr(int64(1))}, {Effort: "low"}} {
		if _, err := ask(c, call); err == nil || !strings.Contains(err.Error(), "the provider does not support ") {
			t.Error(err)
		}
	}
}
