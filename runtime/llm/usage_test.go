package llm

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// TestEstimatedUsage checks that a reply whose tokens the provider does not report counts what was
// reserved for it, so that limits apply, and that reported numbers are not changed.
func TestEstimatedUsage(t *testing.T) {
	type numbers struct {
		In, Out             int64
		Answered, Estimated bool
	}
	limit := ptr(int64(60))
	for _, test := range []struct {
		name    string
		reply   modelserver.Reply
		limit   *int64 // max_tokens of the agent
		granted int64  // what the run's limits leave for a reply without a limit
		want    numbers
	}{
		{"reported", modelserver.Reply{Text: "a reply", TokensIn: 9, TokensOut: 4}, limit, 0, numbers{9, 4, true, false}},
		{"nothing", modelserver.Reply{Text: "a reply"}, limit, 0, numbers{2, 60, true, true}},
		{"no prompt", modelserver.Reply{Text: "a reply", TokensOut: 4}, limit, 0, numbers{2, 4, true, true}},
		{"no reply", modelserver.Reply{Text: "a reply", TokensIn: 9}, limit, 0, numbers{9, 60, true, true}},
		{"granted", modelserver.Reply{Text: "a reply"}, nil, 50, numbers{2, 50, true, true}},
		{"without a limit", modelserver.Reply{Text: "a reply of eight tokens, as one may count"}, nil, 0, numbers{2, 11, true, true}},
		{"calls a tool", modelserver.Reply{ToolCalls: []modelserver.Call{{ID: "c1", Name: "f", Args: []byte(`{"a": 1}`)}}}, nil, 0, numbers{2, 3, true, true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachRemote(t, func(t *testing.T, provider string) {
				test.reply.Repeat = true
				_, conn := server(t, provider, test.reply)
				var got []numbers
				c := New(Config{Connections: []Connection{conn}, Getenv: func(string) (string, bool) { return key, true },
					Meter: func(context.Context, Metered) (int64, func(models.Spent), error) {
						return test.granted, func(x models.Spent) {
							got = append(got, numbers{x.In, x.Out, x.Answered, x.Estimated})
						}, nil
					}})
				t.Cleanup(c.Close)
				call := effect.AgentCall{MaxTokens: test.limit, Tools: []effect.ToolSpec{{Name: "f", Parameters: []byte(`{"type":"object"}`)}}}
				whole, err := ask(c, call)
				if err != nil {
					t.Fatal(err)
				}
				_, pieces, err := streamed(t.Context(), c, call)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff([]numbers{test.want, test.want}, got); d != "" {
					t.Errorf("counted by the limits: %s", d)
				}
				for _, r := range []*effect.AgentReply{whole, pieces} {
					if d := cmp.Diff(test.want, numbers{r.TokensIn, r.TokensOut, true, r.Estimated}); d != "" {
						t.Errorf("reply: %s", d)
					}
				}
			})
		})
	}
}

// TestBrokenStreamCounts checks that the prompt and the received text of a stream that breaks off
// count, for the provider charges for them.
func TestBrokenStreamCounts(t *testing.T) {
	eachRemote(t, func(t *testing.T, provider string) {
		_, conn := server(t, provider, modelserver.Reply{Text: "a b c d", StreamEnd: modelserver.StreamEnd{CutAfter: twoPieces[provider]}})
		var in, out int64
		var estimated bool
		c := New(Config{Connections: []Connection{conn}, Getenv: func(string) (string, bool) { return key, true },
			Meter: func(context.Context, Metered) (int64, func(models.Spent), error) {
				return 0, func(x models.Spent) {
					if x.Answered {
						t.Error("the call counts as answered")
					}
					in, out, estimated = x.In, x.Out, x.Estimated
				}, nil
			}})
		t.Cleanup(c.Close)
		text, _, err := streamed(t.Context(), c, effect.AgentCall{})
		if err == nil || text == "" {
			t.Fatalf("the stream did not break off: %q, error %v", text, err)
		}
		if want := tokens(text); in != 2 || out != want || !estimated {
			t.Errorf("limits counted %d tokens in and %d out, estimated: %t; want 2 and %d", in, out, estimated, want)
		}
	})
}

// TestAnthropicUsage checks that the largest report of each number counts, wherever a server sends
// it.
func TestAnthropicUsage(t *testing.T) {
	for _, test := range []struct {
		name, start, delta string
		in, out            int64
	}{
		{"at the start", `{"input_tokens":9,"output_tokens":4}`, `{}`, 9, 4},
		{"in the delta", `{"input_tokens":0,"output_tokens":0}`, `{"input_tokens":5000,"cache_read_input_tokens":200,"output_tokens":7}`, 5200, 7},
		{"both", `{"input_tokens":9,"cache_creation_input_tokens":5,"output_tokens":1}`, `{"output_tokens":70}`, 14, 70},
		{"smaller in the delta", `{"input_tokens":9,"output_tokens":4}`, `{"input_tokens":0,"output_tokens":3}`, 9, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := anthropic{}.assemble(nil)
			for _, event := range []string{
				`{"type":"message_start","message":{"usage":` + test.start + `}}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + test.delta + `}`,
				`{"type":"message_stop"}`,
			} {
				if _, err := s.event([]byte(event)); err != nil {
					t.Fatal(err)
				}
			}
			if r, ok := s.reply(); !ok || r.TokensIn != test.in || r.TokensOut != test.out {
				t.Errorf("got %d and %d tokens, want %d and %d", r.TokensIn, r.TokensOut, test.in, test.out)
			}
		})
	}
}

// TestParts checks that each provider's report of cached tokens and reasoning is read, whole and
// from a stream, and that it determines the cost.
func TestParts(t *testing.T) {
	given := modelserver.Reply{Text: "a reply", TokensIn: 1000, TokensOut: 50, Repeat: true,
		Parts: modelserver.Parts{Cached: 600, CacheWrite: 300, CacheWrite1h: 100, Reasoning: 20, Tier: "priority"}}
	full := models.Usage{In: 1000, Out: 50, Parts: models.Parts{Cached: 600, CacheWrite: 300, Reasoning: 20}, CacheWrite1h: 100, Tier: "priority"}
	for _, c := range []struct {
		provider string
		without  func(*models.Usage) // removes what the API does not report
	}{
		{"anthropic", func(*models.Usage) {}},
		{"bedrock", func(u *models.Usage) { u.Reasoning, u.Tier = 0, "" }},
		{"openai", func(u *models.Usage) { u.CacheWrite1h = 0 }},
		{"azure", func(u *models.Usage) { u.CacheWrite1h = 0 }},
		{"gemini", func(u *models.Usage) { u.CacheWrite, u.CacheWrite1h, u.Tier = 0, 0, "" }},
		{"ollama", func(u *models.Usage) { u.Parts, u.CacheWrite1h, u.Tier = models.Parts{}, 0, "" }},
	} {
		t.Run(c.provider, func(t *testing.T) {
			_, conn := server(t, c.provider, given)
			rates := models.Rates{Input: 10, Output: 100, CacheRead: new(1.0), CacheWrite: new(20.0), CacheWrite1h: new(40.0)}
			conn.Prices = map[string]models.Rates{AnyModel: rates}
			want := full
			c.without(&want)
			cost := (want.In-want.Cached-want.CacheWrite)*10e6 + want.Cached*1e6 + (want.CacheWrite-want.CacheWrite1h)*20e6 + want.CacheWrite1h*40e6 + want.Out*100e6
			cl, _ := client(t, conn)
			whole, err := ask(cl, effect.AgentCall{})
			if err != nil {
				t.Fatal(err)
			}
			_, pieces, err := streamed(t.Context(), cl, effect.AgentCall{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []*effect.AgentReply{whole, pieces} {
				if d := cmp.Diff(want, r.Usage()); d != "" {
					t.Error(d)
				}
				if r.Picodollars() != cost || r.Unpriced {
					t.Errorf("the cost is %d, want %d; unpriced: %t", r.Picodollars(), cost, r.Unpriced)
				}
			}
		})
	}
}

// TestWrongUsage checks that a report that cannot be true is limited: it reduces no budget, and no
// part exceeds the whole.
func TestWrongUsage(t *testing.T) {
	for provider, answers := range map[string][]string{
		"anthropic": {
			`{"model":"m","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":-5,"cache_read_input_tokens":40,"cache_creation_input_tokens":-3,"output_tokens":-2,"cache_creation":{"ephemeral_1h_input_tokens":9}}}`,
			`{"model":"m","content":[{"type":"text","text":"x"}],"usage":null}`,
		},
		"openai": {
			`{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":500,"cache_write_tokens":7},"completion_tokens_details":{"reasoning_tokens":90}}}`,
			`{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":null}}`,
			`{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-10,"completion_tokens":-3,"prompt_tokens_details":{"cached_tokens":-1}}}`,
			`{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`,
		},
		"gemini": {
			`{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":-1,"thoughtsTokenCount":9,"cachedContentTokenCount":50}}`,
		},
	} {
		for _, answer := range answers {
			_, conn := server(t, provider, modelserver.Reply{Raw: &answer})
			conn.Prices = map[string]models.Rates{AnyModel: {Input: 1, Output: 2}}
			var spent models.Spent
			c := New(Config{Connections: []Connection{conn}, Getenv: func(string) (string, bool) { return key, true },
				Meter: func(context.Context, Metered) (int64, func(models.Spent), error) {
					return 0, func(x models.Spent) { spent = x }, nil
				}})
			t.Cleanup(c.Close)
			r, err := ask(c, effect.AgentCall{})
			if err != nil {
				t.Errorf("%s: %v", answer, err)
				continue
			}
			u := spent.Usage
			if d := cmp.Diff(u, r.Usage()); d != "" || u != u.Limited() || u.In <= 0 || u.Out <= 0 || spent.Cost <= 0 || spent.Cost > u.In*1.25e6+u.Out*2e6 || r.Picodollars() != spent.Cost {
				t.Errorf("%s: counted %+v with the cost %d, reply %+v", answer, u, spent.Cost, r.Usage())
			}
		}
	}
}

// TestVendorPrices checks where built-in prices apply, and which names a manifest's prices match.
func TestVendorPrices(t *testing.T) {
	now := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	own := map[string]models.Rates{"claude-opus-5-5": {Input: 8, Output: 40}}
	for _, c := range []struct {
		name  string
		conn  Connection
		model string
		want  *models.Rates // nil for an unknown price
	}{
		{"the vendor's address", Connection{Provider: "anthropic"}, "claude-opus-5-5-20261120", &models.Rates{Input: 4, Output: 20, CacheRead: new(0.2), CacheWrite: new(5.0), CacheWrite1h: new(8.0)}},
		{"written in full", Connection{Provider: "anthropic", BaseURL: "https://api.anthropic.com"}, "claude-opus-5-5", &models.Rates{Input: 4, Output: 20, CacheRead: new(0.2), CacheWrite: new(5.0), CacheWrite1h: new(8.0)}},
		{"a gateway", Connection{Provider: "anthropic", BaseURL: "https://gateway.example/v1"}, "claude-opus-5-5", nil},
		{"a region", Connection{Provider: "openai", BaseURL: "https://eu.api.openai.com/v1"}, "gpt-6.2-sol", nil},
		{"a reseller", Connection{Provider: "bedrock", Adds: Adds{Location: "us-east-1"}}, "us.anthropic.claude-opus-5-5-v1:0", nil},
		{"a function", Connection{Provider: "anthropic", Function: func(context.Context, *Request) (*effect.AgentReply, error) { return nil, nil }}, "claude-opus-5-5", nil},
		{"the manifest with the vendor's ratios", Connection{Provider: "anthropic", BaseURL: "https://gateway.example/v1", Prices: own}, "anthropic/claude-opus-5-5-20261120",
			&models.Rates{Input: 8, Output: 40, CacheRead: new(0.4), CacheWrite: new(10.0), CacheWrite1h: new(16.0)}},
		{"the manifest without a vendor", Connection{Provider: "openai", BaseURL: "https://api.deepseek.com", Prices: map[string]models.Rates{AnyModel: {Input: 1, Output: 2}}}, "deepseek-chat", &models.Rates{Input: 1, Output: 2}},
		{"scripted", Connection{Provider: "scripted"}, "m", &models.Rates{}},
		{"local", Connection{Provider: "ollama"}, "llama3", &models.Rates{}},
		{"another local port", Connection{Provider: "ollama", BaseURL: "http://127.0.0.1:1"}, "llama3", &models.Rates{}},
		{"another machine", Connection{Provider: "ollama", BaseURL: "https://ollama.example"}, "llama3", nil},
	} {
		var got *models.Rates
		if p := c.conn.Price(c.model, now); p != nil {
			got = &p.Rates
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// TestCostOf checks that a recorded reply costs what it did, and that one without a recorded cost
// has the manifest's price.
func TestCostOf(t *testing.T) {
	conn := Connection{Provider: "openai", Prices: map[string]models.Rates{"m": {Input: 2, Output: 10}}}
	reply := effect.AgentReply{Model: "m", TokensIn: 100, TokensOut: 10}
	for _, c := range []struct {
		name    string
		conn    Connection
		cost    float64
		isUnset bool // Unpriced
		want    int64
		ok      bool
	}{
		{"recorded", conn, 0.0123, false, 12_300_000_000, true},
		{"recorded without a manifest", Connection{Provider: "openai"}, 0.0123, false, 12_300_000_000, true},
		{"an old record", conn, 0, false, 300_000_000, true},
		{"priced later", conn, 0, true, 300_000_000, true},
		{"unknown", Connection{Provider: "openai"}, 0, false, 0, false},
		{"free", Connection{Provider: "scripted"}, 0, false, 0, true},
	} {
		r := reply
		r.CostUSD, r.Unpriced = c.cost, c.isUnset
		if got, ok := c.conn.CostOf(&r); got != c.want || ok != c.ok {
			t.Errorf("%s: got %d, %t; want %d, %t", c.name, got, ok, c.want, c.ok)
		}
	}
}
