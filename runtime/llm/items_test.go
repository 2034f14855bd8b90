package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestItems checks that the hidden content of a reply with calls is sent back as it was received,
// in its order, whether the reply was streamed or not.
func TestItems(t *testing.T) {
	const (
		anthropicWhole = `{"id":"m","model":"m","content":[{"type":"thinking","thinking":"hmm","signature":"SIG=="},{"type":"text","text":"I look."},{"type":"redacted_thinking","data":"XX"},` +
			`{"type":"tool_use","id":"t1","name":"clock","input":{"zone":"CET"}},{"type":"tool_use","id":"t2","name":"clock","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`
		anthropicSent = `[{"signature":"SIG==","thinking":"hmm","type":"thinking"},{"text":"I look.","type":"text"},{"data":"XX","type":"redacted_thinking"},` +
			`{"id":"t1","input":{"zone":"CET"},"name":"clock","type":"tool_use"},{"id":"t2","input":{},"name":"clock","type":"tool_use"}]`
		chatWhole = `{"choices":[{"message":{"content":"I look.","reasoning_content":"think hard","tool_calls":[{"id":"t1","function":{"name":"clock","arguments":"{\"zone\":\"CET\"}"}}]},"finish_reason":"tool_calls"}]}`
		chatSent  = `{"content":"I look.","reasoning_content":"think hard","role":"assistant","tool_calls":[{"function":{"arguments":"{\"zone\":\"CET\"}","name":"clock"},"id":"t1","type":"function"}]}`
	)
	start := func(i, block string) string {
		return `{"type":"content_block_start","index":` + i + `,"content_block":` + block + `}`
	}
	delta := func(i, d string) string {
		return `{"type":"content_block_delta","index":` + i + `,"delta":` + d + `}`
	}
	anthropicEvents := []string{`{"type":"message_start","message":{"id":"m","model":"m","usage":{"input_tokens":1}}}`,
		start("0", `{"type":"thinking","thinking":"","signature":""}`), delta("0", `{"type":"thinking_delta","thinking":"h"}`), delta("0", `{"type":"thinking_delta","thinking":"mm"}`), delta("0", `{"type":"signature_delta","signature":"SIG=="}`),
		start("1", `{"type":"text","text":""}`), delta("1", `{"type":"text_delta","text":"I look."}`), start("2", `{"type":"redacted_thinking","data":"XX"}`),
		start("3", `{"type":"tool_use","id":"t1","name":"clock","input":{}}`), delta("3", `{"type":"input_json_delta","partial_json":"{\"zone\":\"CET\"}"}`), start("4", `{"type":"tool_use","id":"t2","name":"clock","input":{}}`),
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`}
	chatEvents := []string{`{"choices":[{"delta":{"reasoning_content":"think "}}]}`, `{"choices":[{"delta":{"reasoning_content":"hard"}}]}`, `{"choices":[{"delta":{"content":"I look."}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"t1","function":{"name":"clock","arguments":"{\"zone\":\"CET\"}"}}]},"finish_reason":"tool_calls"}]}`, "[DONE]"}
	for name, c := range map[string]struct {
		provider string
		reply    modelserver.Reply
		stream   bool
		want     string
	}{
		"anthropic":           {"anthropic", modelserver.Reply{Raw: new(anthropicWhole)}, false, anthropicSent},
		"anthropic, streamed": {"anthropic", events(anthropicEvents...), true, anthropicSent},
		"chat":                {"openai", modelserver.Reply{Raw: new(chatWhole)}, false, chatSent},
		"chat, streamed":      {"openai", events(chatEvents...), true, chatSent},
	} {
		t.Run(name, func(t *testing.T) {
			s, conn := server(t, c.provider, c.reply, modelserver.Reply{Text: "done", Repeat: true})
			cl, _ := client(t, conn)
			var first *effect.AgentReply
			var err error
			if c.stream {
				_, first, err = streamed(t.Context(), cl, effect.AgentCall{})
			} else {
				first, err = ask(cl, effect.AgentCall{})
			}
			if err != nil || first.Items == nil {
				t.Fatal(first, err)
			}
			second := func(items *effect.Items) string {
				messages := []effect.ChatMessage{{Role: "user", Content: "hello"}, {Role: "assistant", Content: first.Text, ToolCalls: first.ToolCalls, Items: items}}
				for _, call := range first.ToolCalls {
					messages = append(messages, effect.ChatMessage{Role: "tool", ToolCallID: call.ID, Content: "noon"})
				}
				if _, err := ask(cl, effect.AgentCall{Messages: messages}); err != nil {
					t.Fatal(err)
				}
				all := s.Requests()
				sent := all[len(all)-1].Body["messages"].([]any)[1]
				if c.provider == "anthropic" {
					sent = sent.(map[string]any)["content"]
				}
				text, err := json.Marshal(sent)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			if d := cmp.Diff(c.want, second(first.Items)); d != "" {
				t.Error(d)
			}
			foreign := *first.Items
			foreign.Model = "another"
			for _, other := range []*effect.Items{&foreign, {API: "gemini", Connection: "main", Model: "m", Content: first.Items.Content}} {
				if got := second(other); strings.Contains(got, "hmm") || strings.Contains(got, "think hard") {
					t.Errorf("another model's hidden content was sent: %s", got)
				}
			}
			if text, err := json.Marshal(effect.ChatMessage{Items: first.Items}); err != nil || strings.Contains(string(text), "items") {
				t.Error("a request is recorded with hidden content", string(text), err)
			}
		})
	}
}

// TestItemsWithSecrets checks that a reply has no hidden content if it contains a secret of the
// run.
func TestItemsWithSecrets(t *testing.T) {
	whole := `{"choices":[{"message":{"content":"","reasoning_content":"the key is ` + key + `","tool_calls":[{"id":"t1","function":{"name":"clock","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	chunk := `{"choices":[{"delta":{"reasoning_content":"the key is ` + key + `","tool_calls":[{"id":"t1","function":{"name":"clock","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	_, conn := server(t, "openai", modelserver.Reply{Raw: &whole}, events(chunk, "[DONE]"))
	cl, _ := client(t, conn)
	if got, err := ask(cl, effect.AgentCall{}); err != nil || got.Items != nil || len(got.ToolCalls) != 1 {
		t.Error(got, err)
	}
	if _, got, err := streamed(t.Context(), cl, effect.AgentCall{}); err != nil || got.Items != nil || len(got.ToolCalls) != 1 {
		t.Error(got, err)
	}
}
