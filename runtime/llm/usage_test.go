package llm

import (
	"context"
	"testing"

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
