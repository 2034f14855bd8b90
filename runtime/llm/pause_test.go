package llm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// TestPauses checks that a paused reply is continued in the same call: its content is returned as
// it was received, and the texts and the tokens of all parts are those of one reply.
func TestPauses(t *testing.T) {
	const search = `{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}}`
	const found = `{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}`
	whole := func(content, stop string) modelserver.Reply {
		return modelserver.Reply{Raw: ptr(`{"content":[` + content + `],"stop_reason":"` + stop + `","usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":3}}`)}
	}
	events := func(lines ...string) modelserver.Reply {
		return modelserver.Reply{Raw: ptr("data: " + strings.Join(lines, "\n\ndata: ") + "\n\n"), Headers: map[string]string{"Content-Type": "text/event-stream"}}
	}
	start := func(i, block string) string {
		return `{"type":"content_block_start","index":` + i + `,"content_block":` + block + `}`
	}
	const begin = `{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}}}`
	end := func(stop string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"` + stop + `"},"usage":{"output_tokens":3}}` + "\n\ndata: " + `{"type":"message_stop"}`
	}
	paused := `{"type":"text","text":"Let me look. "},` + search + `,` + found
	for name, replies := range map[string][]modelserver.Reply{
		"whole": {whole(paused, "pause_turn"), whole(search+`,`+found, "pause_turn"), whole(`{"type":"text","text":"It is."}`, "end_turn")},
		"streamed": {
			events(begin, start("0", `{"type":"text","text":""}`), `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Let me look. "}}`,
				start("1", `{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}`), `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"query\":"}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"x\"}"}}`, start("2", found), end("pause_turn")),
			events(begin, start("0", search), start("1", found), end("pause_turn")),
			events(begin, start("0", `{"type":"text","text":"It is."}`), end("end_turn")),
		},
	} {
		s, conn := server(t, "anthropic", replies...)
		cl, _ := client(t, conn)
		var got *effect.AgentReply
		var err error
		if name == "whole" {
			got, err = ask(cl, effect.AgentCall{Model: "m"})
		} else {
			var text string
			text, got, err = streamed(t.Context(), cl, effect.AgentCall{Model: "m"})
			if text != "Let me look. It is." {
				t.Errorf("streamed text %q", text)
			}
		}
		if err != nil {
			t.Fatal(name, err)
		}
		if got.Text != "Let me look. It is." || got.StopReason != "end" || got.TokensIn != 45 || got.TokensOut != 9 || got.Parts != (models.Parts{Cached: 15}) {
			t.Errorf("%s: %+v", name, got)
		}
		var last []any
		for _, m := range s.Requests()[2].Body["messages"].([]any)[1:] {
			last = append(last, m.(map[string]any)["content"].([]any)...)
		}
		if d := cmp.Diff([]string{"text", "server_tool_use", "web_search_tool_result", "server_tool_use", "web_search_tool_result"}, typesOf(last)); d != "" {
			t.Error(name, d)
		}
		if text := s.Requests()[1].Text; !strings.Contains(text, `"input":{"query":"x"}`) {
			t.Error(name, text)
		}
	}
	for name, reply := range map[string]modelserver.Reply{"endless": whole(paused, "pause_turn"), "own tool": whole(`{"type":"tool_use","id":"c","name":"f","input":{}}`, "pause_turn")} {
		reply.Repeat = true
		s, conn := server(t, "anthropic", reply)
		cl, _ := client(t, conn)
		_, err := ask(cl, effect.AgentCall{Model: "m"})
		want := map[string]int{"endless": maxPauses + 1, "own tool": 1}[name]
		if e := agentError(t, err); e.Fields["reason"] != "bad_answer" || !strings.Contains(e.Message, "pause_turn") || len(s.Requests()) != want {
			t.Errorf("%s: %s after %d requests, want %d", name, e.Message, len(s.Requests()), want)
		}
	}
}

func typesOf(blocks []any) (out []string) {
	for _, b := range blocks {
		out = append(out, b.(map[string]any)["type"].(string))
	}
	return out
}
