package llm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
)

func TestRetry(t *testing.T) {
	ms := time.Millisecond
	failing := modelserver.Reply{Status: 500, Error: "oops", Repeat: true}
	good := modelserver.Reply{Text: "good"}
	for name, c := range map[string]struct {
		conn, agent *effect.Retry
		replies     []modelserver.Reply
		sleeps      []time.Duration
		requests    int
		err         string // expected end of the error; "" if the call succeeds
	}{
		"no policy":                    {nil, nil, []modelserver.Reply{failing}, []time.Duration{500 * ms, time.Second}, 3, "500 Internal Server Error: oops (the provider failed: give the agent a retry_policy, or the connection a fallback) (attempt 3 of 3)"},
		"no policy, a reply after all": {nil, nil, []modelserver.Reply{{Status: 409}, {Cut: true}, good}, []time.Duration{500 * ms, time.Second}, 3, ""},
		"no policy, a final error":     {nil, nil, []modelserver.Reply{{Status: 401}, good}, nil, 1, "(check the key in KEY)"},
		"no policy, a short delay":     {nil, nil, []modelserver.Reply{{Status: 429, Headers: map[string]string{"Retry-After": "60"}}, good}, []time.Duration{time.Minute}, 2, ""},
		"no policy, a long delay": {nil, nil, []modelserver.Reply{{Status: 429, Headers: map[string]string{"Retry-After": "90"}}, good}, nil, 1,
			"; it requests a delay of 1m30s: give the agent a retry_policy to wait for so long"},
		"the provider recommends no retry": {nil, nil, []modelserver.Reply{{Status: 500, Error: "x", Headers: map[string]string{"X-Should-Retry": "false"}}, good}, nil, 1, ": x (the provider failed: give the agent a retry_policy, or the connection a fallback)"},
		"the provider recommends a retry":  {nil, nil, []modelserver.Reply{{Status: 400, Headers: map[string]string{"X-Should-Retry": "true"}}, good}, []time.Duration{500 * ms}, 2, ""},
		"the connection's": {&effect.Retry{MaxAttempts: 3, Backoff: "exponential", InitialDelay: 10}, nil,
			[]modelserver.Reply{{Status: 429}, {Cut: true}, good}, []time.Duration{10 * ms, 20 * ms}, 3, ""},
		"the agent's wins": {&effect.Retry{MaxAttempts: 9}, &effect.Retry{MaxAttempts: 2, Backoff: "none", InitialDelay: 7},
			[]modelserver.Reply{failing}, []time.Duration{7 * ms}, 2, "oops (the provider failed: give the agent a retry_policy, or the connection a fallback) (attempt 2 of 2)"},
		"linear, bounded": {nil, &effect.Retry{MaxAttempts: 5, Backoff: "linear", InitialDelay: 10, MaxDelay: 25},
			[]modelserver.Reply{failing}, []time.Duration{10 * ms, 20 * ms, 25 * ms, 25 * ms}, 5, "(attempt 5 of 5)"},
		"final errors":        {nil, &effect.Retry{MaxAttempts: 5}, []modelserver.Reply{{Status: 401}, good}, nil, 1, "(check the key in KEY)"},
		"final after a retry": {nil, &effect.Retry{MaxAttempts: 5}, []modelserver.Reply{{Status: 503}, {Status: 400, Error: "x"}}, []time.Duration{0}, 2, "x (check the agent's fields against what the model supports) (attempt 2 of 5)"},
		"Retry-After": {nil, &effect.Retry{MaxAttempts: 3, Backoff: "none", InitialDelay: 10},
			[]modelserver.Reply{{Status: 429, Headers: map[string]string{"Retry-After": "2"}}, good}, []time.Duration{2 * time.Second}, 2, ""},
		"Retry-After too long": {nil, &effect.Retry{MaxAttempts: 3},
			[]modelserver.Reply{{Status: 429, Headers: map[string]string{"Retry-After": "3600"}}, good}, nil, 1, "; it requests a delay of 1h0m0s, which is longer than the timeout of the call"},
	} {
		t.Run(name, func(t *testing.T) {
			s, conn := server(t, "openai", c.replies...)
			conn.Retry = c.conn
			cl, sl := client(t, conn)
			got, err := ask(cl, effect.AgentCall{Retry: c.agent})
			switch {
			case c.err == "" && (err != nil || got.Text != "good"):
				t.Errorf("reply = %v (error %v), want good", got, err)
			case c.err != "" && !strings.HasSuffix(agentError(t, err).Message, c.err):
				t.Error(err)
			}
			if d := cmp.Diff(c.sleeps, sl.d); d != "" {
				t.Error(d)
			}
			if n := len(s.Requests()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
		})
	}
}

// TestRetriesSendSameBytes checks that a retry sends exactly the same request.
func TestRetriesSendSameBytes(t *testing.T) {
	s, conn := server(t, "openai", modelserver.Reply{Status: 500}, modelserver.Reply{Text: "x"})
	c, _ := client(t, conn)
	if _, err := ask(c, effect.AgentCall{Retry: &effect.Retry{MaxAttempts: 2}}); err != nil {
		t.Fatal(err)
	}
	if r := s.Requests(); r[0].Text != r[1].Text {
		t.Errorf("requests differ:\n%s\n%s", r[0].Text, r[1].Text)
	}
}

// TestSpread checks that a random wait is at least half of the wait. A wait that the provider
// requested is never shortened and is extended by at most a tenth.
func TestSpread(t *testing.T) {
	for _, c := range []struct {
		wait, asked time.Duration
		chance      float64
		want        time.Duration
	}{
		{1000, 0, 1, 1000}, {1000, 0, 0, 500}, {1000, 0, 0.5, 750}, {0, 0, 0.3, 0},
		{2000, 2000, 1, 2000}, {2000, 2000, 0, 2200}, {time.Hour, time.Hour, 0, time.Hour + time.Second},
		{1000, 800, 0, 800}, {1000, 200, 0, 500},
	} {
		if got := spread(c.wait, c.asked, c.chance); got != c.want {
			t.Errorf("spread of %+v = %d, want %d", c, got, c.want)
		}
	}
}

// TestFailedAttempts checks that the reply, or the error, of a call lists the failed attempts at
// all connections.
func TestFailedAttempts(t *testing.T) {
	_, main := server(t, "openai", modelserver.Reply{Status: 429}, modelserver.Reply{Status: 500}, modelserver.Reply{Status: 429}, modelserver.Reply{Status: 500})
	_, other := server(t, "anthropic", modelserver.Reply{Text: "x"}, modelserver.Reply{Status: 401})
	main.Fallback, other.Name, other.DefaultModel = []string{"second"}, "second", "claude"
	main.Retry = &effect.Retry{MaxAttempts: 2, Backoff: "none", InitialDelay: 3}
	c, _ := client(t, main, other)
	listed := func(all []effect.Attempt) (out []string) {
		for _, a := range all {
			out = append(out, fmt.Sprintf("%s %s %d %s %d %v %v", a.Connection, a.Model, a.Of, a.Reason, a.Status, a.WaitMS > 0, a.Message != ""))
		}
		return out
	}
	want := []string{"main gpt 2 rate 429 true true", "main gpt 2 server 500 false true"}
	reply, err := ask(c, effect.AgentCall{Model: "gpt"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, listed(reply.Failed)); diff != "" {
		t.Errorf("the failed attempts differ (-want +got):\n%s", diff)
	}
	_, err = ask(c, effect.AgentCall{Model: "gpt"})
	want = append(want, "second claude 1 auth 401 false true")
	if diff := cmp.Diff(want, listed(agentError(t, err).Attempts)); diff != "" {
		t.Errorf("the attempts of the failed call differ (-want +got):\n%s", diff)
	}
}
