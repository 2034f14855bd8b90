package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestTokenCommand checks that the token of a command is used until it is too old or refused, and
// that no reply contains it.
func TestTokenCommand(t *testing.T) {
	s, conn := server(t, "vertex", modelserver.Reply{Text: "ya29.token-1", Repeat: true})
	conn.APIKeyEnv, conn.TokenCommand = "", []string{"gcloud", "print"}
	ran := 0
	c := New(Config{Connections: []Connection{conn}, Getenv: func(string) (string, bool) { return "", false },
		Output: func(_ context.Context, command []string) (string, error) {
			ran++
			return fmt.Sprintf("ya29.token-%d\n", ran), nil
		}})
	defer c.Close()
	for range 2 {
		reply, err := ask(c, effect.AgentCall{})
		if err != nil || strings.Contains(reply.Text, "ya29") {
			t.Fatal(reply, err)
		}
	}
	l, err := c.openRoute("main")
	if err != nil {
		t.Fatal(err)
	}
	tokens := l.provider.(*remote).tokens
	tokens.since = tokens.since.Add(-tokenAge)
	if _, err := ask(c, effect.AgentCall{}); err != nil {
		t.Fatal(err)
	}
	var sent []string
	for _, r := range s.Requests() {
		sent = append(sent, r.Header.Get("Authorization"))
	}
	if want := []string{"Bearer ya29.token-1", "Bearer ya29.token-1", "Bearer ya29.token-2"}; !slices.Equal(sent, want) {
		t.Errorf("sent tokens = %q, want the first one twice and then the second", sent)
	}
}

// TestTokenRefused checks that a refused token is renewed once. If the new token is refused too,
// the call must fail.
func TestTokenRefused(t *testing.T) {
	for _, twice := range []bool{false, true} {
		replies := []modelserver.Reply{{Status: 401, Error: "expired"}, {Text: "fine"}}
		if twice {
			replies[1] = replies[0]
		}
		s, conn := server(t, "vertex", replies...)
		conn.APIKeyEnv, conn.TokenCommand = "", []string{"gcloud"}
		ran := 0
		c := New(Config{Connections: []Connection{conn}, Getenv: func(string) (string, bool) { return "", false },
			Output: func(context.Context, []string) (string, error) { ran++; return "token", nil }})
		_, err := ask(c, effect.AgentCall{})
		c.Close()
		if (err != nil) != twice || ran != 2 || len(s.Requests()) != 2 {
			t.Errorf("refused twice %v: error %v after %d runs of the command and %d requests, want 2 and 2", twice, err, ran, len(s.Requests()))
		}
	}
}

// TestTokenCommandFails checks that no request is sent if the command prints no token.
func TestTokenCommandFails(t *testing.T) {
	for _, r := range []struct {
		out  string
		err  error
		want string
	}{
		{"", errors.New("exit code 1: not logged in"), "token_command `gcloud` (Concerto.toml:8) failed: exit code 1: not logged in"},
		{"\n", nil, "failed: it printed no token"},
		{"two\nlines", nil, "failed: it printed no token"},
	} {
		s, conn := server(t, "vertex")
		conn.APIKeyEnv, conn.TokenCommand = "", []string{"gcloud"}
		c := New(Config{Connections: []Connection{conn}, Getenv: func(string) (string, bool) { return "", false },
			Output: func(context.Context, []string) (string, error) { return r.out, r.err }})
		_, err := ask(c, effect.AgentCall{})
		c.Close()
		if err == nil || !strings.Contains(err.Error(), r.want) || len(s.Requests()) != 0 {
			t.Errorf("error = %v, want %s without a request", err, r.want)
		}
	}
}
