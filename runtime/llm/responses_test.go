package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestResponsesRequest checks the members of a request of the Responses API.
func TestResponsesRequest(t *testing.T) {
	s, conn := server(t, "responses", modelserver.Reply{Text: "one", TokensIn: 9, TokensOut: 4, Repeat: true})
	c, _ := client(t, conn)
	call := effect.AgentCall{
		Model: "gpt", System: "Be <kind>.", Temperature: ptr(0.0), TopP: ptr(0.5), MaxTokens: ptr(int64(77)), Effort: "low",
		Tools: []effect.ToolSpec{{Name: "Calc_add", Description: "Add", Parameters: []byte(`{"type":"object"}`)},
			{Name: "now", Parameters: []byte(`{"type":"object","properties":{},"required":[],"additionalProperties":false}`)}},
		Schema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`), SchemaName: "Array<Int>",
		Messages: []effect.ChatMessage{
			{Role: "system", Content: "Known: 1."},
			{Role: "user", Content: "hi"},
			{Role: "assistant", Content: "I look.", ToolCalls: []effect.ToolCall{{ID: "c1", Name: "Calc_add", Args: `{"a":1}`}, {ID: "c2", Name: "now", Args: `{}`}}},
			{Role: "tool", ToolCallID: "c1", Content: "no such", IsError: true},
			{Role: "tool", ToolCallID: "c2", Content: ""},
		},
	}
	got, err := ask(c, call)
	wantReply(t, got, err, &effect.AgentReply{Text: "one", TokensIn: 9, TokensOut: 4, Model: "gpt", Provider: "main", StopReason: "end"})
	if _, _, err := streamed(t.Context(), c, call); err != nil {
		t.Fatal(err)
	}
	published(t, s)
	for i, more := range []string{``, `,"stream":true,"stream_options":{"include_obfuscation":false}`} {
		r := s.Requests()[i]
		key, _ := r.Body["prompt_cache_key"].(string)
		if len(key) != 32 || r.Path != "/v1/responses" || r.Header.Get("Authorization") != "Bearer sk-very-secret" {
			t.Errorf("key %q, path %s, header %v", key, r.Path, r.Header)
		}
		delete(r.Body, "prompt_cache_key")
		body(t, r, `{"model":"gpt","instructions":"Be <kind>.","store":false,"include":["reasoning.encrypted_content"],"temperature":0,"top_p":0.5,"max_output_tokens":77,"reasoning":{"effort":"low"},
		"tools":[{"type":"function","name":"Calc_add","description":"Add","parameters":{"type":"object"},"strict":false},
			{"type":"function","name":"now","parameters":{"type":"object","properties":{},"required":[],"additionalProperties":false},"strict":true}],
		"text":{"format":{"type":"json_schema","name":"Array_Int_","schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false},"strict":true}},
		"input":[{"role":"developer","content":"Known: 1."},{"role":"user","content":[{"type":"input_text","text":"hi"}]},
			{"role":"assistant","content":"I look."},{"type":"function_call","call_id":"c1","name":"Calc_add","arguments":"{\"a\":1}"},{"type":"function_call","call_id":"c2","name":"now","arguments":"{}"},
			{"type":"function_call_output","call_id":"c1","output":"Error: no such"},{"type":"function_call_output","call_id":"c2","output":""}]`+more+`}`)
	}
}

// TestHiddenReasoningOfModels checks that hidden reasoning is requested only of models that
// may reason.
func TestHiddenReasoningOfModels(t *testing.T) {
	for model, want := range map[string]bool{"gpt-4o": false, "gpt-4.1-mini-2025-04-14": false, "gpt-6.2-sol": true, "our-deployment": true} {
		s, conn := server(t, "responses", modelserver.Reply{Text: "x"})
		c, _ := client(t, conn)
		if _, err := ask(c, effect.AgentCall{Model: model}); err != nil {
			t.Fatal(err)
		}
		if _, got := s.Requests()[0].Body["include"]; got != want {
			t.Errorf("%s: include is sent: %v", model, got)
		}
	}
}

// TestCacheKey checks that requests have the same key if and only if they begin with the same text.
func TestCacheKey(t *testing.T) {
	tools := []effect.ToolSpec{{Name: "f", Parameters: []byte(`{"type":"object"}`)}}
	key := func(c effect.AgentCall) string { return cacheKey(&Request{AgentCall: &c}) }
	first := key(effect.AgentCall{Agent: "A", System: "s", Tools: tools, Messages: []effect.ChatMessage{{Content: "x"}}})
	if got := key(effect.AgentCall{Agent: "A", System: "s", Tools: tools}); got != first || len(got) != 32 {
		t.Errorf("keys %s and %s", first, got)
	}
	for _, other := range []effect.AgentCall{{Agent: "B", System: "s", Tools: tools}, {Agent: "A", System: "t", Tools: tools}, {Agent: "A", System: "s"}} {
		if key(other) == first {
			t.Errorf("%+v has the same key", other)
		}
	}
}

// TestChoiceOfAPI checks which path a request gets.
func TestChoiceOfAPI(t *testing.T) {
	const (
		ours      = "/v1/responses"
		chat      = "/v1/chat/completions"
		azureNow  = "/openai/v1/responses"
		azureChat = "/openai/deployments/M/chat/completions?api-version=2024-10-21"
	)
	seed, stop := effect.AgentCall{Seed: ptr(int64(1))}, effect.AgentCall{Stop: []string{"x"}}
	tools := []effect.ToolSpec{{Name: "f"}}
	both := effect.AgentCall{Seed: ptr(int64(1)), Tools: tools}
	for _, c := range []struct {
		conn  Connection
		model string
		call  effect.AgentCall
		want  string
	}{
		{Connection{}, "gpt-6.2-sol", effect.AgentCall{Tools: tools, Effort: "high"}, ours},
		{Connection{}, "gpt-4o", effect.AgentCall{}, ours},
		{Connection{BaseURL: "https://eu.api.openai.com/v1"}, "gpt-4o", effect.AgentCall{}, ours},
		{Connection{BaseURL: "https://gateway.example"}, "gpt-6.2-sol", effect.AgentCall{}, chat},
		{Connection{BaseURL: "https://gateway.example", Adds: Adds{API: "responses"}}, "gpt-6.2-sol", effect.AgentCall{}, ours},
		{Connection{Adds: Adds{API: "chat"}}, "gpt-6.2-sol", effect.AgentCall{Tools: tools}, chat},
		{Connection{}, "gpt-6.2-sol", seed, chat},
		{Connection{}, "gpt-6.2-sol", stop, chat},
		{Connection{}, "gpt-4o", effect.AgentCall{MaxTokens: ptr(int64(15))}, chat},
		{Connection{}, "gpt-4o", effect.AgentCall{MaxTokens: ptr(int64(16))}, ours},
		{Connection{}, "gpt-6.2-sol", both, ours}, // which refuses it
		{Connection{}, "gpt-5.4", both, chat},
		{Connection{}, "gpt-5.4", effect.AgentCall{Seed: ptr(int64(1)), Tools: tools, Effort: "low"}, ours},
		{Connection{}, "gpt-4o", both, chat},
		{Connection{Adds: Adds{API: "responses"}}, "gpt-4o", seed, ours},
		{Connection{Provider: "azure", BaseURL: "https://x.openai.azure.com"}, "M", effect.AgentCall{}, azureNow},
		{Connection{Provider: "azure", BaseURL: "https://x.openai.azure.com", Adds: Adds{APIVersion: "preview"}}, "M", effect.AgentCall{}, azureNow + "?api-version=preview"},
		{Connection{Provider: "azure", BaseURL: "https://x.openai.azure.com"}, "M", both, azureChat},
		{Connection{Provider: "azure", BaseURL: "https://x.openai.azure.com", Adds: Adds{APIVersion: "2024-10-21"}}, "M", effect.AgentCall{}, azureChat},
		{Connection{Provider: "azure", BaseURL: "https://x.openai.azure.com", Adds: Adds{API: "chat"}}, "M", effect.AgentCall{}, azureChat},
	} {
		c.conn.APIKeyEnv = "KEY"
		if c.conn.Provider == "" {
			c.conn.Provider = "openai"
		}
		p, err := adapters[c.conn.Provider](&c.conn, &world{refused: &refusals{}})
		if err != nil {
			t.Fatal(err)
		}
		r, req := p.(*remote), &Request{AgentCall: &c.call, Model: c.model, row: c.conn.endpoint().Model(c.model)}
		at, err := r.resolve(r.prepare(req).path(req, false))
		if err != nil || at.RequestURI() != c.want {
			t.Errorf("%+v, model %s, call %+v: path %v (error %v), want %s", c.conn, c.model, c.call, at.RequestURI(), err, c.want)
		}
	}
}

// TestResponsesRefusesSeed checks that a request that no API accepts is refused before it is sent.
func TestResponsesRefusesSeed(t *testing.T) {
	for want, call := range map[string]effect.AgentCall{
		"the provider does not support seed: remove it":                    {Seed: ptr(int64(1))},
		"the provider does not support stop_sequences: remove them":        {Stop: []string{"x"}},
		"max_tokens is 15, but the provider accepts at least 16: raise it": {MaxTokens: ptr(int64(15))},
	} {
		s, conn := server(t, "responses", modelserver.Reply{Text: "x"})
		c, _ := client(t, conn)
		_, err := ask(c, call)
		if e := agentError(t, err); !strings.HasSuffix(e.Message, want) || len(s.Requests()) != 0 {
			t.Errorf("error %s after %d requests, want %s", e.Message, len(s.Requests()), want)
		}
	}
}

// TestOnlyChatInExtra checks that members that only chat completions have are errors.
func TestOnlyChatInExtra(t *testing.T) {
	for extra, want := range map[string]string{
		`{"verbosity":"low"}`:      "extra: `verbosity` is a member of chat completions, which the Responses API lacks: write `text.verbosity`, or write `api = \"chat\"`",
		`{"presence_penalty":0.5}`: "extra: `presence_penalty` is a member of chat completions, which the Responses API lacks: remove it, or write `api = \"chat\"`",
	} {
		_, conn := server(t, "responses")
		conn.Extra = json.RawMessage(extra)
		c, _ := client(t, conn)
		_, err := ask(c, effect.AgentCall{})
		if e := agentError(t, err); !strings.HasSuffix(e.Message, want) || e.Fields["reason"] != "config" {
			t.Errorf("error %s, want %s", e.Message, want)
		}
	}
}

// TestServiceTier checks the name under which each provider receives the tier, and that extra takes
// precedence.
func TestServiceTier(t *testing.T) {
	eachRemote(t, func(t *testing.T, provider string) {
		want := map[string]any{"service_tier": "flex"}
		switch provider {
		case "gemini", "vertex":
			want = map[string]any{"serviceTier": "flex"}
		case "bedrock":
			want = map[string]any{"serviceTier": map[string]any{"type": "flex"}}
		case "ollama":
			want = map[string]any{}
		}
		p, err := adapters[cmpProvider(provider)](&Connection{Provider: cmpProvider(provider), APIKeyEnv: "KEY", BaseURL: "https://x.example", Project: "p", Adds: Adds{Location: "l", ServiceTier: "flex"}}, &world{refused: &refusals{}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := p.(*remote).mergeExtra([]byte(`{}`))
		var got map[string]any
		if err != nil || json.Unmarshal(text, &got) != nil {
			t.Fatal(string(text), err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
	s, conn := server(t, "openai", modelserver.Reply{Text: "x"})
	conn.ServiceTier, conn.Extra = "flex", json.RawMessage(`{"service_tier":"default","user":"u"}`)
	c, _ := client(t, conn)
	if _, err := ask(c, effect.AgentCall{}); err == nil {
		t.Error("the published schema has no service_tier, and the request must be refused")
	}
	if all := s.InvalidRequests(); len(all) != 1 || !strings.Contains(all[0], `"service_tier":"default"`) {
		t.Error(all)
	}
}

// cmpProvider returns the provider of a name in remotes.
func cmpProvider(name string) string {
	if other, ok := otherAPIs[name]; ok {
		return other.Provider
	}
	return name
}

// item returns an item of a response in JSON.
func item(kind, id, members string) string {
	return fmt.Sprintf(`{"type":%q,"id":%q,"status":"completed"%s}`, kind, id, members)
}

func message(id, text string) string {
	return item("message", id, fmt.Sprintf(`,"role":"assistant","content":[{"type":"output_text","text":%q,"annotations":[]}]`, text))
}

const (
	thought = `{"type":"reasoning","id":"rs_9","summary":[],"encrypted_content":"gAAA=="}`
	callOne = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{\"a\": 1}","status":"completed"}`
	callTwo = `{"type":"function_call","id":"fc_2","call_id":"c2","name":"g","arguments":"{}","status":"completed"}`
	refused = `{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"refusal","refusal":"I will not."}]}`
	usage   = `{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":15},"total_tokens":120}`
)

// response returns a whole response.
func response(status, more string, items ...string) string {
	return fmt.Sprintf(`{"id":"resp_7","model":"m-1","status":%q,"output":[%s],"usage":%s%s}`, status, strings.Join(items, ","), usage, more)
}

// responseEvents returns the events of the same response.
func responseEvents(status, more string, items ...string) (all []string) {
	all = append(all, `{"type":"response.created","response":{"id":"resp_7","model":"m-1","status":"in_progress","output":[],"usage":null}}`, `{"type":"response.in_progress"}`)
	for i, x := range items {
		var o responsesOutput
		if err := json.Unmarshal([]byte(x), &o); err != nil {
			panic(err)
		}
		all = append(all, fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":%s}`, i, x))
		if text, _ := o.texts(); text != "" {
			for _, p := range []string{text[:1], text[1:]} {
				all = append(all, fmt.Sprintf(`{"type":"response.output_text.delta","output_index":%d,"delta":%q}`, i, p))
			}
		}
		all = append(all, fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, x))
	}
	return append(all, fmt.Sprintf(`{"type":"response.%s","response":%s}`, status, response(status, more, items...)))
}

// TestResponses checks the replies for responses of the Responses API, whole and streamed.
func TestResponses(t *testing.T) {
	parts := models.Parts{Cached: 60, CacheWrite: 30, Reasoning: 15}
	one, two := effect.ToolCall{ID: "c1", Name: "f", Args: `{"a": 1}`}, effect.ToolCall{ID: "c2", Name: "g", Args: `{}`}
	incomplete := func(reason string) string { return `,"incomplete_details":{"reason":"` + reason + `"}` }
	cutOff := `{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{\"a\"","status":"incomplete"}`
	for name, c := range map[string]struct {
		status, more string
		items        []string
		want         effect.AgentReply
		reason, text string // of an error
	}{
		"text":              {status: "completed", items: []string{message("m", "hello")}, want: effect.AgentReply{Text: "hello", StopReason: "end", FinishReason: "completed"}},
		"two messages":      {status: "completed", items: []string{message("m", "hel"), message("n", "lo")}, want: effect.AgentReply{Text: "hello", StopReason: "end", FinishReason: "completed"}},
		"a call":            {status: "completed", items: []string{callOne}, want: effect.AgentReply{ToolCalls: []effect.ToolCall{one}, StopReason: "tool", FinishReason: "completed"}},
		"parallel calls":    {status: "completed", items: []string{message("m", "I look."), callOne, callTwo}, want: effect.AgentReply{Text: "I look.", ToolCalls: []effect.ToolCall{one, two}, StopReason: "tool", FinishReason: "completed"}},
		"reasoning":         {status: "completed", items: []string{thought, message("m", "hello")}, want: effect.AgentReply{Text: "hello", StopReason: "end", FinishReason: "completed", Items: itemsLike(thought, message("m", "hello"))}},
		"reasoning, a call": {status: "completed", items: []string{thought, callOne}, want: effect.AgentReply{ToolCalls: []effect.ToolCall{one}, StopReason: "tool", FinishReason: "completed", Items: itemsLike(thought, callOne)}},
		"not encrypted": {status: "completed", items: []string{`{"type":"reasoning","id":"rs_9","summary":[],"encrypted_content":null}`, callOne},
			want: effect.AgentReply{ToolCalls: []effect.ToolCall{one}, StopReason: "tool", FinishReason: "completed"}},
		"another item": {status: "completed", items: []string{`{"type":"web_search_call","id":"ws_1","status":"completed"}`, message("m", "hello")},
			want: effect.AgentReply{Text: "hello", StopReason: "end", FinishReason: "completed", Items: itemsLike(`{"type":"web_search_call","id":"ws_1","status":"completed"}`, message("m", "hello"))}},
		"a phase": {status: "completed", items: []string{item("message", "m", `,"phase":"commentary","content":[{"type":"output_text","text":"hello"}]`)},
			want: effect.AgentReply{Text: "hello", StopReason: "end", FinishReason: "completed", Items: itemsLike(item("message", "m", `,"phase":"commentary","content":[{"type":"output_text","text":"hello"}]`))}},
		"cut off":          {status: "incomplete", more: incomplete("max_output_tokens"), items: []string{message("m", "hel")}, want: effect.AgentReply{Text: "hel", StopReason: "length", FinishReason: "max_output_tokens"}},
		"filtered":         {status: "incomplete", more: incomplete("content_filter"), items: []string{message("m", "hel")}, want: effect.AgentReply{Text: "hel", StopReason: "filter", FinishReason: "content_filter"}},
		"only reasoning":   {status: "incomplete", more: incomplete("max_output_tokens"), items: []string{thought}, reason: "length", text: "the reply was cut off before any text, after 20 tokens, of which 15 were reasoning"},
		"a call cut off":   {status: "incomplete", more: incomplete("max_output_tokens"), items: []string{cutOff}, reason: "length", text: "the reply was cut off before any text"},
		"withheld":         {status: "incomplete", more: incomplete("content_filter"), reason: "content_filter", text: "the provider has withheld the whole reply: content_filter"},
		"unknown reason":   {status: "incomplete", more: incomplete("max_messages"), items: []string{message("m", "hel")}, reason: "bad_answer", text: "unknown, and may be incomplete: max_messages"},
		"refusal":          {status: "completed", items: []string{refused}, reason: "refusal", text: "the model refuses to answer: I will not. (change the prompt)"},
		"text and refusal": {status: "completed", items: []string{message("m", "hel"), refused}, reason: "refusal", text: "the model refuses to answer: I will not."},
		"a limit":          {status: "failed", more: `,"error":{"code":"rate_limit_exceeded","message":"slow down"}`, reason: "rate", text: "the provider returned an error: slow down"},
		"server":           {status: "failed", more: `,"error":{"code":"server_error","message":"oops"}`, reason: "server", text: "oops"},
		"policy":           {status: "failed", more: `,"error":{"code":"bio_policy","message":"no"}`, reason: "content_filter", text: "no"},
		"image policy":     {status: "failed", more: `,"error":{"code":"image_content_policy_violation","message":"no"}`, reason: "content_filter", text: "no"},
		"too long":         {status: "failed", more: `,"error":{"code":"context_length_exceeded","message":"too long"}`, reason: "context_length", text: "too long"},
		"another code":     {status: "failed", more: `,"error":{"code":"invalid_image","message":"bad image"}`, reason: "bad_request", text: "bad image"},
		"no error":         {status: "failed", reason: "server", text: "the response has failed"},
	} {
		t.Run(name, func(t *testing.T) {
			whole := response(c.status, c.more, c.items...)
			s, conn := server(t, "responses", modelserver.Reply{Raw: &whole}, events(responseEvents(c.status, c.more, c.items...)...))
			cl, _ := client(t, conn)
			check := func(got *effect.AgentReply, err error) {
				t.Helper()
				if c.reason != "" {
					if e := agentError(t, err); e.Fields["reason"] != c.reason || !strings.Contains(e.Message, c.text) {
						t.Errorf("error %s with %v, want reason %s and %q", e.Message, e.Fields, c.reason, c.text)
					}
					return
				}
				want := c.want
				want.Model, want.Provider, want.TokensIn, want.TokensOut, want.Parts = "m-1", "main", 100, 20, parts
				if err != nil || got.RequestID != "resp_7" {
					t.Error(got, err)
				}
				wantReply(t, got, err, &want)
			}
			check(ask(cl, effect.AgentCall{}))
			text, got, err := streamed(t.Context(), cl, effect.AgentCall{})
			check(got, err)
			if got != nil && text != got.Text {
				t.Errorf("streamed text %q, want %q", text, got.Text)
			}
			published(t, s)
		})
	}
}

// itemsLike returns the hidden content of the connection main.
func itemsLike(items ...string) *effect.Items {
	out := &effect.Items{API: "responses", Connection: "main", Model: "m"}
	for _, x := range items {
		out.Content = append(out.Content, json.RawMessage(x))
	}
	return out
}

// TestRefusalInStream checks that a refusal after a part of the text is an error of the stream,
// which is not repeated, and whose tokens are counted.
func TestRefusalInStream(t *testing.T) {
	s, conn := server(t, "responses", modelserver.Reply{Text: "half ", Refusal: "I will not.", TokensIn: 3, TokensOut: 7, Repeat: true})
	cl, _ := client(t, conn)
	text, _, err := streamed(t.Context(), cl, effect.AgentCall{Retry: &effect.Retry{MaxAttempts: 3}})
	if e := agentError(t, err); text != "half " || e.Fields["reason"] != "refusal" || e.Fields["retryable"] != false || len(s.Requests()) != 1 {
		t.Errorf("text %q, error %v with %v after %d requests", text, err, e.Fields, len(s.Requests()))
	}
}

// TestResponsesRounds checks that the reasoning of each round of tool calls returns unchanged, as
// the server requires, whether replies are streamed or not, and that no other model receives it.
func TestResponsesRounds(t *testing.T) {
	round := func(n int, calls ...string) modelserver.Reply {
		r := modelserver.Reply{Thought: fmt.Sprint("thought ", n), Text: fmt.Sprint("round ", n)}
		for _, id := range calls {
			r.ToolCalls = append(r.ToolCalls, modelserver.Call{ID: id, Name: "f", Args: []byte(`{"a":"é"}`)})
		}
		return r
	}
	for _, stream := range []bool{false, true} {
		s, conn := server(t, "responses", round(1, "a", "b"), round(2, "c"), round(3, "d"), modelserver.Reply{Thought: "last", Text: "done"}, modelserver.Reply{Text: "x", Repeat: true})
		cl, _ := client(t, conn)
		call := effect.AgentCall{Effort: "high", Tools: []effect.ToolSpec{{Name: "f", Parameters: []byte(`{"type":"object"}`)}}, Messages: []effect.ChatMessage{{Role: "user", Content: "go"}}}
		for round := range 4 {
			var got *effect.AgentReply
			var err error
			if stream {
				_, got, err = streamed(t.Context(), cl, call)
			} else {
				got, err = ask(cl, call)
			}
			if err != nil || got.Items == nil || (round == 3) != (len(got.ToolCalls) == 0) {
				t.Fatalf("round %d: %+v %v", round, got, err)
			}
			call.Messages = append(call.Messages, effect.ChatMessage{Role: "assistant", Content: got.Text, ToolCalls: got.ToolCalls, Items: got.Items})
			for _, c := range got.ToolCalls {
				call.Messages = append(call.Messages, effect.ChatMessage{Role: "tool", ToolCallID: c.ID, Content: "1"})
			}
		}
		hidden := func(call effect.AgentCall) int {
			call.Messages = append(slices.Clone(call.Messages), effect.ChatMessage{Role: "user", Content: "more"})
			if _, err := ask(cl, call); err != nil {
				t.Fatal(err)
			}
			all := s.Requests()
			return strings.Count(all[len(all)-1].Text, `"encrypted_content":`)
		}
		if n := hidden(call); n != 4 {
			t.Errorf("%d items of reasoning are sent, want 4", n)
		}
		call.Model = "another"
		if n := hidden(call); n != 0 {
			t.Errorf("another model receives %d items of reasoning", n)
		}
		published(t, s)
	}
}

// TestCallsBeyondLimit checks that a message that lacks a call of its reply is sent without hidden
// content, because the call has no result.
func TestCallsBeyondLimit(t *testing.T) {
	s, conn := server(t, "responses", modelserver.Reply{Text: "x", Repeat: true})
	cl, _ := client(t, conn)
	_, err := ask(cl, effect.AgentCall{Messages: []effect.ChatMessage{{Role: "user", Content: "go"},
		{Role: "assistant", ToolCalls: []effect.ToolCall{{ID: "c1", Name: "f", Args: "{}"}}, Items: itemsLike(thought, callOne, callTwo)}, {Role: "tool", ToolCallID: "c1", Content: "1"}}})
	if err != nil {
		t.Fatal(err)
	}
	published(t, s)
	if text := s.Requests()[0].Text; strings.Contains(text, "rs_9") || !strings.Contains(text, `"call_id":"c1"`) {
		t.Error(text)
	}
}

// TestHostileResponses checks that a stream that does not conform to the API is an error or read in
// the only way that it can be meant.
func TestHostileResponses(t *testing.T) {
	randtest.RacedElsewhere(t)
	done := func(index, x string) string {
		return `{"type":"response.output_item.done","output_index":` + index + `,"item":` + x + `}`
	}
	delta := func(index, text string) string {
		return `{"type":"response.output_text.delta","output_index":` + index + `,"delta":"` + text + `"}`
	}
	completed := func(items ...string) string {
		return `{"type":"response.completed","response":` + response("completed", "", items...) + `}`
	}
	counts := func(text string) string {
		return `{"type":"response.completed","response":{"output":[` + message("m", "hi") + `],"usage":` + text + `}}`
	}
	big := strings.Repeat("x", 20<<20)
	for name, c := range map[string]struct {
		events []string
		text   string // of the reply
		error  string // part of the error
	}{
		"a gap":                 {[]string{done("0", thought), done("7", message("m", "hi")), completed()}, "hi", ""},
		"in another order":      {[]string{done("1", message("n", "lo")), done("0", message("m", "hel")), completed()}, "hello", ""},
		"negative":              {[]string{done("-1", message("m", "hi")), completed()}, "hi", ""},
		"huge":                  {[]string{done("9000000000000000000", message("m", "hi")), completed()}, "hi", ""},
		"the same item twice":   {[]string{delta("0", "hi"), done("0", message("m", "hi")), done("0", message("m", "hi")), completed(message("m", "hi"))}, "hi", ""},
		"two items":             {[]string{done("0", message("m", "hi")), done("0", message("n", "ho")), completed()}, "", "has two items with index 0"},
		"only at the end":       {[]string{completed(message("m", "hi"))}, "hi", ""},
		"the rest at the end":   {[]string{delta("0", "h"), completed(message("m", "hi"))}, "hi", ""},
		"another text":          {[]string{delta("0", "ho"), done("0", message("m", "hi")), completed()}, "", "another text than it has streamed, in the item with index 0"},
		"text without an item":  {[]string{delta("3", "hi"), completed(message("m", "hi"))}, "", "has no item with index 3, whose text it has streamed"},
		"no type":               {[]string{done("0", `{"id":"x"}`), completed()}, "", "has an item without a type"},
		"null":                  {[]string{done("0", "null"), completed()}, "", "has an item without a type"},
		"not an object":         {[]string{done("0", `[1]`), completed()}, "", "unexpected form"},
		"no item":               {[]string{`{"type":"response.output_item.done","output_index":0}`, completed()}, "", "not JSON"},
		"delta of a number":     {[]string{`{"type":"response.output_text.delta","output_index":0,"delta":5}`}, "", "unexpected form"},
		"after the end":         {[]string{completed(message("m", "hi")), delta("0", "more"), `{"type":"error","code":"server_error","message":"late"}`, "no JSON"}, "hi", ""},
		"unknown events":        {[]string{`{"type":"response.new.kind","output_index":"x"}`, completed(message("m", "hi"))}, "", "unexpected form"},
		"a keepalive":           {[]string{`{"type":"keepalive"}`, completed(message("m", "hi")), "[DONE]"}, "hi", ""},
		"no end":                {[]string{delta("0", "hi"), done("0", message("m", "hi")), "[DONE]"}, "", "closed the connection before the response was complete"},
		"nothing":               {nil, "", "empty body"},
		"no response":           {[]string{`{"type":"response.completed"}`}, "", "not JSON"},
		"an error":              {[]string{delta("0", "hi"), `{"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null}`}, "", "the provider returned an error: slow down"},
		"a nested error":        {[]string{`{"type":"error","error":{"type":"x","code":"rate_limit_exceeded","message":"slow down"}}`}, "", "slow down"},
		"an error without all":  {[]string{`{"type":"error"}`}, "", "the provider returned an error"},
		"a large item":          {[]string{done("0", `{"type":"reasoning","id":"r","summary":[],"encrypted_content":"`+big+`"}`), done("1", message("m", "hi")), completed()}, "hi", ""},
		"too large":             {[]string{done("0", `{"type":"reasoning","id":"r","summary":[],"encrypted_content":"`+big+`"}`), done("1", message("m", big))}, "", "the response is longer than"},
		"negative usage":        {[]string{counts(`{"input_tokens":-5,"output_tokens":-1,"input_tokens_details":{"cached_tokens":-9}}`)}, "hi", ""},
		"absurd usage":          {[]string{counts(`{"input_tokens":9000000000000000000,"output_tokens":9000000000000000000,"output_tokens_details":{"reasoning_tokens":9000000000000000000}}`)}, "hi", ""},
		"more than the whole":   {[]string{counts(`{"input_tokens":5,"output_tokens":1,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":4},"output_tokens_details":{"reasoning_tokens":2}}`)}, "hi", ""},
		"usage of another form": {[]string{counts(`{"input_tokens":1e300}`)}, "", "unexpected form"},
	} {
		t.Run(name, func(t *testing.T) {
			_, conn := server(t, "responses", events(c.events...))
			cl, _ := client(t, conn)
			text, got, err := streamed(t.Context(), cl, effect.AgentCall{})
			if c.error != "" {
				if e := agentError(t, err); !strings.Contains(e.Message, c.error) {
					t.Errorf("error %.300s, want %q", e.Message, c.error)
				}
				return
			}
			if err != nil || got.Text != c.text {
				t.Fatalf("text %q (error %v), want %q", text, err, c.text)
			}
			n := got.Parts
			if got.TokensIn < 0 || got.TokensOut < 0 || n.Cached < 0 || n.Cached+n.CacheWrite > got.TokensIn || n.Reasoning > got.TokensOut {
				t.Errorf("tokens: %+v", got)
			}
		})
	}
}

// TestHTMLInsteadOfResponses checks that a page with status 200 is an error that names it.
func TestHTMLInsteadOfResponses(t *testing.T) {
	page := modelserver.Reply{Raw: ptr("<!doctype html><p>Sign in"), Headers: map[string]string{"Content-Type": "text/html"}, Repeat: true}
	_, conn := server(t, "responses", page)
	cl, _ := client(t, conn)
	_, whole := ask(cl, effect.AgentCall{})
	_, _, inPieces := streamed(t.Context(), cl, effect.AgentCall{})
	for _, err := range []error{whole, inPieces} {
		if e := agentError(t, err); !strings.Contains(e.Message, "HTML instead of JSON") || e.Fields["reason"] != "bad_answer" {
			t.Error(e.Message, e.Fields)
		}
	}
	other := `{"choices":[]}`
	_, conn = server(t, "responses", modelserver.Reply{Raw: &other})
	cl, _ = client(t, conn)
	_, err := ask(cl, effect.AgentCall{})
	if e := agentError(t, err); !strings.Contains(e.Message, "the provider's response has no output (check the connection's base_url and api)") {
		t.Error(e.Message)
	}
}

// TestLearnedAPI checks that requests that chat completions refuse in favour of the Responses API
// are sent there, from then on at once, if the manifest does not set the API.
func TestLearnedAPI(t *testing.T) {
	refused := modelserver.Reply{Status: 400, Error: "Function tools with reasoning_effort are not supported for new in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."}
	call := effect.AgentCall{Model: "new", Effort: "low", Tools: []effect.ToolSpec{{Name: "f", Parameters: []byte(`{"type":"object"}`)}}}
	paths := func(s *modelserver.Server) (out []string) {
		for _, r := range s.Requests() {
			out = append(out, r.Path)
		}
		return out
	}
	s, conn := server(t, "openai", refused, modelserver.Reply{Text: "x", Repeat: true})
	cl, _ := client(t, conn)
	var lines []string
	cl.cfg.Log = func(level, line string) { lines = append(lines, level+" "+line) }
	first, err := ask(cl, call)
	if err != nil || len(first.Failed) != 1 {
		t.Fatal(first, err)
	}
	if _, second, err := streamed(t.Context(), cl, call); err != nil || len(second.Failed) != 0 {
		t.Fatal(second, err)
	}
	bare := call
	bare.Tools = nil
	if _, err := ask(cl, bare); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"/v1/chat/completions", "/v1/responses", "/v1/responses", "/v1/chat/completions"}, paths(s)); d != "" {
		t.Error(d)
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "info connection 'main': chat completions refuse requests to new; the Responses API is used from now on (the provider answered 400") {
		t.Error(lines)
	}
	seeded := call
	seeded.Seed = ptr(int64(1))
	if _, err := ask(cl, seeded); err == nil || !strings.Contains(err.Error(), "does not support seed") {
		t.Error(err)
	}

	s, conn = server(t, "openai", refused, refused)
	cl, _ = client(t, conn)
	_, err = ask(cl, seeded)
	if e := agentError(t, err); !strings.Contains(e.Message, "the Responses API has neither seed nor stop_sequences, and max_tokens must be at least 16 there: remove them from agent") || len(s.Requests()) != 1 {
		t.Error(e.Message, paths(s))
	}
	conn.API = models.Chat
	cl, _ = client(t, conn)
	if _, err = ask(cl, call); err == nil || len(s.Requests()) != 2 {
		t.Error(err, paths(s))
	}
}

// TestRefusedHiddenContent checks that a request whose hidden content is refused is sent without
// it, and that further requests to the model contain none.
func TestRefusedHiddenContent(t *testing.T) {
	for _, text := range []string{"Encrypted content is not supported with this model.", "The encrypted content gAAA...DQ== could not be verified.",
		"Item 'rs_9' of type 'reasoning' was provided without its required following item."} {
		s, conn := server(t, "responses", modelserver.Reply{Status: 400, Error: text}, modelserver.Reply{Text: "x", Repeat: true})
		cl, _ := client(t, conn)
		items := itemsLike(thought, callOne)
		items.Content[0] = json.RawMessage(strings.Replace(thought, "gAAA==", modelserver.Encrypted("rs_9"), 1))
		call := effect.AgentCall{Messages: []effect.ChatMessage{{Role: "user", Content: "go"}, {Role: "assistant", ToolCalls: []effect.ToolCall{{ID: "c1", Name: "f", Args: "{}"}}, Items: items},
			{Role: "tool", ToolCallID: "c1", Content: "1"}}}
		for range 2 {
			if _, err := ask(cl, call); err != nil {
				t.Fatal(err)
			}
		}
		published(t, s)
		all := s.Requests()
		if len(all) != 3 || !strings.Contains(all[0].Text, "rs_9") || strings.Contains(all[1].Text, "rs_9") || strings.Contains(all[2].Text, "encrypted") {
			t.Errorf("%d requests: %+v", len(all), all)
		}
	}
}

// TestRemovedReasoning checks that the log contains why the provider has removed reasoning.
func TestRemovedReasoning(t *testing.T) {
	whole := response("completed", `,"input_transformations":[{"type":"reasoning","id":"rs_1","action":"removed","reason":"prefix_mismatch"}]`, message("m", "hi"))
	_, conn := server(t, "responses", modelserver.Reply{Raw: &whole})
	cl, _ := client(t, conn)
	var lines []string
	cl.cfg.Log = func(level, line string) { lines = append(lines, level+" "+line) }
	if _, err := ask(cl, effect.AgentCall{}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"debug response resp_7: the provider has removed reasoning from the request: prefix_mismatch"}, lines); d != "" {
		t.Error(d)
	}
}

// TestBeginOfResponse checks which events end the wait for the beginning of a reply.
func TestBeginOfResponse(t *testing.T) {
	for event, want := range map[string]bool{
		`{"type":"response.created","response":{"id":"r"}}`: false, `{"type":"response.in_progress"}`: false,
		`{"type":"response.output_item.added","output_index":0,"item":` + thought + `}`: false,
		`{"type":"response.reasoning_summary_part.added"}`:                              true,
		`{"type":"response.refusal.delta","delta":"x"}`:                                 true, `{"type":"response.function_call_arguments.delta","delta":"x"}`: true,
		`{"type":"response.output_item.done","output_index":0,"item":` + thought + `}`: true,
	} {
		s := responses{}.assemble(nil)
		if _, err := s.event([]byte(event)); err != nil || s.(beginner).hasBegun() != want {
			t.Errorf("%s: begun %v (error %v)", event, s.(beginner).hasBegun(), err)
		}
	}
}

// TestSecretsInItems checks that a reply whose hidden content contains a secret has none.
func TestSecretsInItems(t *testing.T) {
	leak := `{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"the key is ` + key + `"}],"encrypted_content":"gAAA"}`
	whole := response("completed", "", leak, callOne)
	_, conn := server(t, "responses", modelserver.Reply{Raw: &whole}, events(responseEvents("completed", "", leak, callOne)...))
	cl, _ := client(t, conn)
	if got, err := ask(cl, effect.AgentCall{}); err != nil || got.Items != nil || len(got.ToolCalls) != 1 {
		t.Error(got, err)
	}
	if _, got, err := streamed(t.Context(), cl, effect.AgentCall{}); err != nil || got.Items != nil || len(got.ToolCalls) != 1 {
		t.Error(got, err)
	}
}

// TestAzureResponses checks the address and the key of a request to Azure.
func TestAzureResponses(t *testing.T) {
	s, conn := server(t, "azure", modelserver.Reply{Text: "x"})
	c, _ := client(t, conn)
	if _, err := ask(c, effect.AgentCall{Model: "our-deployment"}); err != nil {
		t.Fatal(err)
	}
	r := s.Requests()[0]
	if r.Path != "/openai/v1/responses" || r.Body["model"] != "our-deployment" || r.Header.Get("Api-Key") != key || r.Header.Get("Authorization") != "" {
		t.Error(r.Path, r.Body["model"], http.Header(r.Header))
	}
}

// FuzzResponses checks that no stream of events makes the reader panic, and that the program
// receives the whole text of a reply.
func FuzzResponses(f *testing.F) {
	f.Add([]byte(strings.Join(responseEvents("completed", "", thought, message("m", "hello"), callOne), "\n")))
	f.Add([]byte(strings.Join(responseEvents("incomplete", `,"incomplete_details":{"reason":"content_filter"}`, refused), "\n")))
	f.Add([]byte(strings.Join(responseEvents("failed", `,"error":{"code":1,"message":null}`, callTwo), "\n")))
	f.Add([]byte(`{"type":"response.output_item.done","output_index":-1,"item":{"type":"message","content":[{"type":"output_text"}]}}` + "\n" + `{"type":"error","error":[]}`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		s, text := responses{}.assemble(nil), ""
		for line := range bytes.Lines(stream) {
			more, err := s.event(bytes.TrimSpace(line))
			if err != nil {
				return
			}
			text += more
		}
		got, ok := s.reply()
		if ok && got.StopReason != stopRefusal && len(got.Text) != len(text) {
			t.Errorf("text %q, streamed %q", got.Text, text)
		}
	})
}
