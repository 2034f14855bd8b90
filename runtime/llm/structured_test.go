package llm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
)

// number is the schema of an object with one number.
const number = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`

// formOf returns the form in which a request contains a schema.
func formOf(t *testing.T, r modelserver.Request) string {
	t.Helper()
	var found []string
	for _, x := range []struct{ member, form string }{{"output_config", "native"}, {"outputConfig", "native"}, {"tool_choice", "tool"}} {
		if r.Body[x.member] != nil {
			found = append(found, x.form)
		}
	}
	if c, ok := r.Body["toolConfig"].(map[string]any); ok && c["toolChoice"] != nil {
		found = append(found, "tool")
	}
	if strings.Contains(fmt.Sprint(r.Body["system"]), "JSON Schema") {
		found = append(found, "prompt")
	}
	if len(found) != 1 {
		t.Fatalf("forms %v in the request %s", found, r.Text)
	}
	return found[0]
}

// TestSchemaForms checks that each model receives a schema in the first form that it accepts.
func TestSchemaForms(t *testing.T) {
	tools := []effect.ToolSpec{{Name: "f", Parameters: []byte(`{"type":"object"}`)}}
	recursive := `{"$ref":"#/$defs/T","$defs":{"T":{"type":"object","properties":{"next":{"$ref":"#/$defs/T"}},"required":[],"additionalProperties":false}}}`
	for _, c := range []struct {
		provider, model, schema, want, withTools string
	}{
		{"anthropic", "claude-opus-5-5", number, "native", "native"},
		{"anthropic", "claude-opus-5-5", `{"type":"array","items":{"type":"integer"}}`, "native", "native"},
		{"anthropic", "claude-opus-5-5", recursive, "prompt", "prompt"},
		{"anthropic", "claude-opus-5-5", `{"type":"object","additionalProperties":{"type":"integer"}}`, "native", "native"},
		{"anthropic", "claude-haiku-4-5-20251001", number, "native", "native"},
		{"anthropic", "claude-haiku-4-5-20251001", recursive, "tool", "tool"},
		{"anthropic", "deepseek-chat", number, "tool", "tool"},
		{"bedrock", "us.anthropic.claude-opus-5-5-v1:0", number, "prompt", "prompt"},
		{"bedrock", "anthropic.claude-opus-4-6-v1", number, "native", "native"},
		{"bedrock", "anthropic.claude-haiku-4-5-20251001-v1:0", number, "tool", "tool"},
		{"bedrock", "amazon.nova-pro-v1:0", number, "tool", "tool"},
	} {
		for _, offer := range [][]effect.ToolSpec{nil, tools} {
			want := c.want
			if offer != nil {
				want = c.withTools
			}
			reply := modelserver.Reply{JSON: []byte(`{"n":1}`), Repeat: true}
			text := `{"n":1}`
			switch {
			case strings.Contains(c.schema, "array"):
				reply.JSON, text = []byte(`{"value":[1]}`), `[1]`
			case strings.Contains(c.schema, `"additionalProperties":{`):
				reply.JSON, text = []byte(`{"value":[{"key":"n","value":1}]}`), `[{"key":"n","value":1}]`
			}
			s, conn := server(t, c.provider, reply)
			cl, _ := client(t, conn)
			call := effect.AgentCall{Model: c.model, System: "Count.", Schema: []byte(c.schema), SchemaName: "N", Tools: offer}
			got, err := ask(cl, call)
			if err != nil || got.Text != text || got.StopReason != "end" || len(got.ToolCalls) != 0 {
				t.Errorf("%s: reply %+v (error %v)", c.model, got, err)
			}
			if _, got, err = streamed(t.Context(), cl, call); err != nil || got.Text != text || len(got.ToolCalls) != 0 {
				t.Errorf("%s, streamed: reply %+v (error %v)", c.model, got, err)
			}
			for _, r := range s.Requests() {
				if got := formOf(t, r); got != want {
					t.Errorf("%s, %d tools, schema %s: form %s, want %s", c.model, len(offer), c.schema, got, want)
				}
			}
			published(t, s)
		}
	}
}

// TestRefusedForm checks that the next form of a schema is tried after the provider has refused
// one, without an attempt of the retry policy, that the connection remembers it for this model
// alone, and that other refusals are errors.
func TestRefusedForm(t *testing.T) {
	refused := modelserver.Reply{Status: 400, Error: "output_config.format.schema: the compiled grammar is too large"}
	fits := modelserver.Reply{JSON: []byte(`{"n":1}`)}
	s, conn := server(t, "anthropic", refused, fits, fits, fits, modelserver.Reply{Status: 400, Error: "tool_choice: not supported"}, fits, fits)
	cl, _ := client(t, conn)
	call := func(model string) *effect.AgentReply {
		t.Helper()
		got, err := ask(cl, effect.AgentCall{Model: model, Schema: []byte(number), SchemaName: "N", MaxTokens: ptr(int64(100))})
		if err != nil || got.Text != `{"n":1}` {
			t.Fatalf("reply %+v (error %v)", got, err)
		}
		return got
	}
	if got := call("claude-opus-5"); len(got.Failed) != 1 {
		t.Errorf("failed attempts: %+v", got.Failed)
	}
	if got := call("claude-opus-5"); len(got.Failed) != 0 {
		t.Errorf("failed attempts: %+v", got.Failed)
	}
	call("claude-opus-4-8")
	var forms []string
	for _, r := range s.Requests() {
		forms = append(forms, formOf(t, r))
	}
	if want := []string{"native", "tool", "tool", "native"}; !slices.Equal(forms, want) {
		t.Errorf("forms %v, want %v", forms, want)
	}
	for _, c := range []struct{ model, error string }{
		{"claude-opus-4-8", "max_tokens: 100 is too small"},
		{"claude-opus-4-8", "output_config.effort: not supported"},
		{"claude-opus-4-8", "tool_choice: not supported"}, // the request has none
		{"deepseek-chat", "tool_choice: not supported"},
	} {
		s, conn := server(t, "anthropic", modelserver.Reply{Status: 400, Error: c.error}, fits)
		cl, _ := client(t, conn)
		_, err := ask(cl, effect.AgentCall{Model: c.model, Schema: []byte(number), SchemaName: "N"})
		if e := agentError(t, err); e.Fields["reason"] != "bad_request" || !strings.Contains(e.Message, c.error) || len(s.Requests()) != 1 {
			t.Errorf("%s after %d requests", e.Message, len(s.Requests()))
		}
	}
}

// TestRefusedSampling checks that a parameter that the model does not accept is an error before the
// request, and that models about which nothing is known receive it.
func TestRefusedSampling(t *testing.T) {
	for _, c := range []struct {
		provider, model string
		call            effect.AgentCall
		want            string
	}{
		{"anthropic", "claude-opus-5-5", effect.AgentCall{Temperature: ptr(0.5)}, "claude-opus-5-5 does not accept temperature: remove it"},
		{"anthropic", "claude-sonnet-5", effect.AgentCall{TopP: ptr(0.5)}, "claude-sonnet-5 does not accept top_p: remove it"},
		{"azure", "gpt-5.1", effect.AgentCall{Temperature: ptr(0.5)}, "gpt-5.1 accepts temperature only without reasoning: remove it, or set reasoning_effort"},
		{"azure", "gpt-5.1", effect.AgentCall{Temperature: ptr(0.5), Effort: "none"}, ""},
		{"anthropic", "claude-haiku-4-5", effect.AgentCall{Temperature: ptr(0.5)}, ""},
		{"openai", "our-model", effect.AgentCall{Temperature: ptr(0.5)}, ""},
		{"azure", "our-deployment", effect.AgentCall{Temperature: ptr(0.5)}, ""},
	} {
		s, conn := server(t, c.provider, modelserver.Reply{Text: "x"})
		cl, _ := client(t, conn)
		c.call.Model = c.model
		_, err := ask(cl, c.call)
		if c.want == "" {
			if err != nil || len(s.Requests()) != 1 {
				t.Errorf("%s: error %v after %d requests", c.model, err, len(s.Requests()))
			}
			continue
		}
		if e := agentError(t, err); !strings.Contains(e.Message, c.want) || e.Fields["reason"] != "bad_request" || len(s.Requests()) != 0 {
			t.Errorf("error = %s after %d requests, want %q without a request", e.Message, len(s.Requests()), c.want)
		}
	}
}

// TestAnthropicLimit checks the max_tokens of requests without one, and that requests whose reply
// may be long are streamed, with the agent's retries.
func TestAnthropicLimit(t *testing.T) {
	for _, c := range []struct {
		model string
		set   *int64
		want  float64
	}{
		{"claude-opus-5-5", nil, 32000}, {"claude-haiku-4-5", nil, 8192}, {"deepseek-chat", nil, 8192},
		{"claude-opus-5-5", ptr(int64(21333)), 21333}, {"deepseek-chat", ptr(int64(21334)), 21334},
	} {
		s, conn := server(t, "anthropic", modelserver.Reply{Status: 529, Error: "overloaded"}, modelserver.Reply{Text: "two"})
		cl, _ := client(t, conn)
		got, err := ask(cl, effect.AgentCall{Model: c.model, MaxTokens: c.set, Retry: &effect.Retry{MaxAttempts: 2}})
		if err != nil || got.Text != "two" || len(got.Failed) != 1 {
			t.Errorf("%s: reply %+v (error %v)", c.model, got, err)
		}
		for _, r := range s.Requests() {
			if stream, _ := r.Body["stream"].(bool); r.Body["max_tokens"] != c.want || stream != (c.want > maxWhole) {
				t.Errorf("%s: request %s, want max_tokens %v", c.model, r.Text, c.want)
			}
		}
	}
}
