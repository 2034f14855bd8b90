package llm

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// TestFinishReasons checks that a reply contains the reason that the provider has given for its
// end, also if the reply was streamed.
func TestFinishReasons(t *testing.T) {
	for provider, wire := range map[string]string{"openai": "length", "responses": "max_output_tokens", "anthropic": "max_tokens", "gemini": "MAX_TOKENS", "ollama": "length", "bedrock": "max_tokens"} {
		t.Run(provider, func(t *testing.T) {
			_, conn := server(t, provider, modelserver.Reply{Text: "x", Stop: wire}, modelserver.Reply{Text: "x", Stop: wire})
			c, _ := client(t, conn)
			check := func(got *effect.AgentReply, err error) {
				if err != nil || got.FinishReason != wire || got.StopReason != "length" {
					t.Errorf("reply %+v (error %v), want the finish reason %s and the stop reason length", got, err, wire)
				}
			}
			check(ask(c, effect.AgentCall{}))
			_, got, err := streamed(t.Context(), c, effect.AgentCall{})
			check(got, err)
		})
	}
}

// TestEmptyReplies checks that a reply that ends before any text is an error, also if it was
// streamed, whose tokens the budget counts, and that no other attempt follows.
func TestEmptyReplies(t *testing.T) {
	for _, c := range []struct{ provider, stop, reason, message string }{
		{"openai", "length", "length", "the reply was cut off before any text, after 7 tokens (raise max_tokens, or lower reasoning_effort)"},
		{"responses", "max_output_tokens", "length", "cut off before any text, after 7 tokens"},
		{"responses", "content_filter", "content_filter", "the provider has withheld the whole reply: content_filter"},
		{"anthropic", "max_tokens", "length", "cut off before any text, after 7 tokens"},
		{"gemini", "MAX_TOKENS", "length", "cut off before any text, after 7 tokens"},
		{"ollama", "length", "length", "cut off before any text, after 7 tokens"},
		{"bedrock", "max_tokens", "length", "cut off before any text, after 7 tokens"},
		{"openai", "content_filter", "content_filter", "the provider has withheld the whole reply: content_filter"},
		{"anthropic", "refusal", "refusal", "the model refuses to answer (change the prompt)"},
		{"gemini", "SAFETY", "content_filter", "the provider has withheld the whole reply: SAFETY"},
	} {
		s, conn := server(t, c.provider, modelserver.Reply{Stop: c.stop, TokensIn: 3, TokensOut: 7, Repeat: true})
		cl, _ := client(t, conn)
		var charged []int64
		cl.cfg.Meter = func(context.Context, Metered) (int64, func(models.Spent), error) {
			return 0, func(x models.Spent) { charged = append(charged, x.In, x.Out) }, nil
		}
		check := func(err error) {
			t.Helper()
			if e := agentError(t, err); e.Fields["reason"] != c.reason || !strings.Contains(e.Message, c.message) || e.Fields["retryable"] != false {
				t.Errorf("%s: error %s, fields %v", c.provider, e.Message, e.Fields)
			}
		}
		call := effect.AgentCall{Retry: &effect.Retry{MaxAttempts: 3}}
		_, err := ask(cl, call)
		check(err)
		_, _, err = streamed(t.Context(), cl, call)
		check(err)
		if want := []int64{3, 7, 3, 7}; !slices.Equal(charged, want) || len(s.Requests()) != 2 {
			t.Errorf("%s: tokens %v are charged for %d requests, want %v", c.provider, charged, len(s.Requests()), want)
		}
	}
}

// TestRefusals checks that a refusal of the model is an error with the provider's explanation, also
// after a part of the text, and that neither a retry nor a fallback follows.
func TestRefusals(t *testing.T) {
	whole := func(stop string) string {
		return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Well"}],"stop_reason":"refusal"` + stop + `,"usage":{"input_tokens":3,"output_tokens":7}}`
	}
	pieces := func(stop string) string {
		var b strings.Builder
		for _, e := range []string{`{"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":3}}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Well"}}`, `{"type":"message_delta","delta":{"stop_reason":"refusal"` + stop + `},"usage":{"output_tokens":7}}`, `{"type":"message_stop"}`} {
			b.WriteString("event: x\ndata: " + e + "\n\n")
		}
		return b.String()
	}
	const details = `,"stop_details":{"type":"refusal","category":"cyber","explanation":"I do not write malware."}`
	for _, c := range []struct {
		name, provider, raw, message string
		category                     any
		streams                      bool
	}{
		{"details", "anthropic", whole(details), "the model refuses to answer: I do not write malware. (change the prompt)", "cyber", false},
		{"a category only", "anthropic", whole(`,"stop_details":{"type":"refusal","category":"cyber","explanation":null}`), "the model refuses to answer: cyber (change the prompt)", "cyber", false},
		{"no details", "anthropic", whole(`,"stop_details":null`), "the model refuses to answer (change the prompt)", nil, false},
		{"streamed", "anthropic", pieces(details), "the model refuses to answer: I do not write malware. (change the prompt)", "cyber", true},
		{"chat", "openai", `{"model":"m","choices":[{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}]}`, "the model refuses to answer: No. (change the prompt)", nil, false},
		{"chat, after a text", "openai", `{"model":"m","choices":[{"message":{"content":"Well","refusal":"No."},"finish_reason":"stop"}]}`, "the model refuses to answer: No. (change the prompt)", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, conn := server(t, c.provider, modelserver.Reply{Raw: &c.raw, Repeat: true})
			backup := conn
			backup.Name, conn.Fallback, conn.Retry = "backup", []string{"backup"}, nil
			cl, _ := client(t, conn, backup)
			var err error
			if c.streams {
				var text string
				if text, _, err = streamed(t.Context(), cl, effect.AgentCall{}); text != "Well" {
					t.Errorf("pieces %q, want Well", text)
				}
			} else {
				_, err = ask(cl, effect.AgentCall{})
			}
			e := agentError(t, err)
			if e.Fields["reason"] != "refusal" || e.Fields["category"] != c.category || !strings.HasSuffix(e.Message, ": "+c.message) || len(s.Requests()) != 1 {
				t.Errorf("error %s, fields %v after %d requests", e.Message, e.Fields, len(s.Requests()))
			}
		})
	}
}
