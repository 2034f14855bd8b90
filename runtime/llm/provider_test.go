package llm

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// remotes lists the providers that are reached by HTTP, and those in otherAPIs. Each test runs for
// all of them. The test server validates every request against the provider's published API.
var remotes = func() (names []string) {
	for _, p := range models.Providers {
		if p.Name != models.Scripted {
			names = append(names, p.Name)
		}
	}
	return append(names, slices.Sorted(maps.Keys(otherAPIs))...)
}()

// TestEveryProviderHasAnAdapter checks that the table of providers and the table of adapters have
// the same names.
func TestEveryProviderHasAnAdapter(t *testing.T) {
	for _, p := range models.Providers {
		if adapters[p.Name] == nil {
			t.Errorf("provider %q has no adapter", p.Name)
		}
	}
	for name := range adapters {
		if models.ProviderNamed(name).Name == "" {
			t.Errorf("internal/data/models has no provider for the adapter %q", name)
		}
	}
}

// eachRemote runs a test for every provider in remotes.
func eachRemote(t *testing.T, f func(t *testing.T, provider string)) {
	for _, p := range remotes {
		t.Run(p, func(t *testing.T) { f(t, p) })
	}
}

// published fails the test if a request did not conform to the published API.
func published(t *testing.T, s *modelserver.Server) {
	t.Helper()
	for _, m := range s.InvalidRequests() {
		t.Error(m)
	}
}

// streamed performs a call with a streamed reply. It returns the streamed text and the reply at the
// end of the stream.
func streamed(ctx context.Context, c *Client, call effect.AgentCall) (string, *effect.AgentReply, error) {
	call.Agent = "A"
	if call.Connection == "" {
		call.Connection = "main"
	}
	if call.Messages == nil {
		call.Messages = []effect.ChatMessage{{Role: "user", Content: "hello"}}
	}
	r, err := c.Perform(ctx, &effect.StreamOpen{AgentCall: call})
	if err != nil {
		return "", nil, err
	}
	id := r.(*effect.StreamOpened).ID
	defer c.Perform(ctx, &effect.StreamClose{ID: id})
	var text strings.Builder
	for {
		r, err := c.Perform(ctx, &effect.StreamNext{ID: id})
		if err != nil {
			return text.String(), nil, err
		}
		p := r.(*effect.StreamPiece)
		text.WriteString(p.Text)
		if p.Reply != nil {
			return text.String(), p.Reply, nil
		}
	}
}

// conversation returns a call that contains everything that a request can contain.
func conversation() effect.AgentCall {
	return effect.AgentCall{
		Model: "big", System: "Be <kind>.", Temperature: ptr(0.5), TopP: ptr(0.9), MaxTokens: ptr(int64(77)), Stop: []string{"END", "STOP"},
		Tools: []effect.ToolSpec{{Name: "Calc_add", Description: "Add", Parameters: []byte(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}},
		Messages: []effect.ChatMessage{
			{Role: "system", Content: "Be brief."},
			{Role: "user", Content: "hi"},
			{Role: "assistant", Content: "Let me see.", ToolCalls: []effect.ToolCall{{ID: "c1", Name: "Calc_add", Args: `{"a":1}`}, {ID: "c2", Name: "Calc_add", Args: `oops`}}},
			{Role: "tool", ToolCallID: "c1", Content: "2"},
			{Role: "tool", ToolCallID: "c2", Content: "no object", IsError: true},
			{Role: "assistant", Content: "", ToolCalls: []effect.ToolCall{{ID: "c3", Name: "Calc_add", Args: `{}`}}},
			{Role: "tool", ToolCallID: "c3", Content: ""},
		},
	}
}

// TestConversation checks that every request conforms to the published API, and that the reply is
// complete even if the response arrives byte by byte.
func TestConversation(t *testing.T) {
	eachRemote(t, func(t *testing.T, provider string) {
		reply := modelserver.Reply{Text: "Grüße, 世界 🌍!", TokensIn: 9, TokensOut: 4, Chunk: 1, Repeat: true, Pieces: []string{"Grü", "ße, 世", "界 🌍", "!"}}
		s, conn := server(t, provider, reply)
		conn.Models = map[string]string{"big": "models/gpt/4:x"}
		c, _ := client(t, conn)
		call := conversation()
		if provider == "responses" {
			call.Stop = nil // which the API lacks
		}
		want := &effect.AgentReply{Text: reply.Text, TokensIn: 9, TokensOut: 4, Model: "m", Provider: "main", StopReason: "end"}
		got, err := ask(c, call)
		if provider != "gemini" && provider != "vertex" {
			want.Model = "models/gpt/4:x" // the server returns the model of the request
		}
		wantReply(t, got, err, want)
		text, got, err := streamed(t.Context(), c, call)
		if text != reply.Text {
			t.Errorf("streamed text = %q, want %q", text, reply.Text)
		}
		if got != nil {
			got.Model = want.Model
		}
		wantReply(t, got, err, want)
		published(t, s)
		if n := len(s.Requests()); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}

func TestBareRequest(t *testing.T) {
	eachRemote(t, func(t *testing.T, provider string) {
		s, conn := server(t, provider, modelserver.Reply{Text: "x"})
		c, _ := client(t, conn)
		if _, err := ask(c, effect.AgentCall{}); err != nil {
			t.Error(err)
		}
		published(t, s)
	})
}

// TestToolRounds checks that the tool calls of a model are returned with their IDs, both in a
// streamed reply and in a reply that arrives as a whole. A second request, which contains the
// results of the tools, must conform to the published API.
func TestToolRounds(t *testing.T) {
	eachRemote(t, func(t *testing.T, provider string) {
		calls := modelserver.Reply{Text: "First a tool.", ToolCalls: []modelserver.Call{
			{ID: "c1", Name: "f", Args: []byte(`{"a":"é"}`)}, {ID: "c2", Name: "g", Args: []byte(`{}`)}}}
		s, conn := server(t, provider, calls, calls, modelserver.Reply{Text: "done"})
		c, _ := client(t, conn)
		call := effect.AgentCall{
			Tools:    []effect.ToolSpec{{Name: "f", Parameters: []byte(`{"type":"object"}`)}, {Name: "g", Description: "G", Parameters: []byte(`{"type":"object"}`)}},
			Messages: []effect.ChatMessage{{Role: "user", Content: "go"}},
		}
		whole, err := ask(c, call)
		if err != nil {
			t.Fatal(err)
		}
		_, inPieces, err := streamed(t.Context(), c, call)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(whole.ToolCalls, inPieces.ToolCalls); d != "" || whole.StopReason != "tool" || inPieces.StopReason != "tool" {
			t.Errorf("tool calls differ between the whole and the streamed reply, or a stop reason is not tool: %s, %s, %s", d, whole.StopReason, inPieces.StopReason)
		}
		if n := len(whole.ToolCalls); n != 2 || whole.ToolCalls[0].Name != "f" || whole.ToolCalls[1].Name != "g" || whole.ToolCalls[0].ID == whole.ToolCalls[1].ID {
			t.Fatalf("tool calls = %+v, want f and g with different IDs", whole.ToolCalls)
		}
		call.Messages = append(call.Messages,
			effect.ChatMessage{Role: "assistant", Content: whole.Text, ToolCalls: whole.ToolCalls},
			effect.ChatMessage{Role: "tool", ToolCallID: whole.ToolCalls[0].ID, Content: "1"},
			effect.ChatMessage{Role: "tool", ToolCallID: whole.ToolCalls[1].ID, Content: "broken", IsError: true})
		if got, err := ask(c, call); err != nil || got.Text != "done" {
			t.Error(got, err)
		}
		published(t, s)
	})
}

// TestSchemas checks that a reply to a call with a schema contains the JSON value as its text,
// whichever part of the API's response transports the value. A schema that is not an object is
// wrapped in an object.
func TestSchemas(t *testing.T) {
	eachRemote(t, func(t *testing.T, provider string) {
		for name, c := range map[string]struct{ schema, reply, want string }{
			"object": {`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`, `{"n":1}`, `{"n":1}`},
			"array":  {`{"type":"array","items":{"type":"integer"}}`, `{"value":[1,2]}`, `[1,2]`},
		} {
			for _, tools := range [][]effect.ToolSpec{nil, {{Name: "f", Parameters: []byte(`{"type":"object"}`)}}} {
				s, conn := server(t, provider, modelserver.Reply{JSON: []byte(c.reply), Repeat: true})
				cl, _ := client(t, conn)
				call := effect.AgentCall{Schema: []byte(c.schema), SchemaName: "Array<Int>", Tools: tools}
				got, err := ask(cl, call)
				if err != nil || got.Text != c.want || got.StopReason != "end" || len(got.ToolCalls) != 0 {
					t.Errorf("schema %s, %d tools: reply %+v (error %v), want text %s", name, len(tools), got, err, c.want)
				}
				_, got, err = streamed(t.Context(), cl, call)
				if err != nil || got.Text != c.want || got.StopReason != "end" || len(got.ToolCalls) != 0 {
					t.Errorf("schema %s, %d tools, streamed: reply %+v (error %v), want text %s", name, len(tools), got, err, c.want)
				}
				if text := s.Requests()[0].Text; !strings.Contains(text, `integer`) {
					t.Errorf("the request does not contain the schema: %s", text)
				}
				published(t, s)
			}
		}
	})
}

// TestRequestIDs checks that the reply or the error contains the provider's ID of the request, from
// the header or from the body.
func TestRequestIDs(t *testing.T) {
	for provider, header := range map[string]string{"openai": "X-Request-Id", "anthropic": "Request-Id"} {
		_, conn := server(t, provider, modelserver.Reply{Text: "x", Headers: map[string]string{header: "req_7"}}, modelserver.Reply{Text: "x"},
			modelserver.Reply{Status: 400, Headers: map[string]string{header: "req_8"}})
		c, _ := client(t, conn)
		if got, err := ask(c, effect.AgentCall{}); err != nil || got.RequestID != "req_7" {
			t.Error(got, err)
		}
		if got, err := ask(c, effect.AgentCall{}); err != nil || got.RequestID != map[string]string{"openai": "chatcmpl-1", "anthropic": "msg_1"}[provider] {
			t.Error(got, err)
		}
		_, err := ask(c, effect.AgentCall{})
		if e := agentError(t, err); e.Fields["request_id"] != "req_8" {
			t.Error(e.Fields)
		}
	}
}

// TestErrorClasses checks the class and the text of the errors for the error responses of the
// providers.
func TestErrorClasses(t *testing.T) {
	for _, c := range []struct {
		provider string
		status   int
		body     string
		class    Class
		hint     string
	}{
		{"openai", 401, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, ClassAuth, "check the key in KEY"},
		{"openai", 403, `{"error":{"message":"Project does not have access to model","type":"invalid_request_error","code":null}}`, ClassAuth, "the key has no access to this model"},
		{"openai", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, ClassQuota, "no credit left"},
		{"openai", 429, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`, ClassRate, "rate_limit"},
		{"openai", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}`, ClassContextLength, "larger context"},
		{"openai", 400, `{"error":{"message":"Your request was rejected","type":"invalid_request_error","code":"content_policy_violation"}}`, ClassContentFilter, "change the prompt"},
		{"openai", 404, `{"error":{"message":"The model 'x' does not exist","type":"invalid_request_error","code":"model_not_found"}}`, ClassNotFound, "check the model's name"},
		{"openai", 400, `{"error":{"message":"Unsupported value","type":"invalid_request_error","code":"unsupported_value"}}`, ClassBadRequest, "check the agent's fields"},
		{"openai", 503, `{"error":{"message":"Slow down","code":503}}`, ClassOverloaded, "fallback"},
		{"openai", 500, `oops`, ClassServer, "fallback"},
		// vLLM, llama.cpp, a gateway
		{"openai", 400, `{"object":"error","error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens","type":"BadRequestError","code":400}}`, ClassContextLength, "larger context"},
		{"openai", 400, `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing it","type":"exceed_context_size_error"}}`, ClassContextLength, "larger context"},
		{"openai", 400, `{"error":{"code":400,"message":"the request exceeds the available context size"}}`, ClassContextLength, "larger context"},
		{"openai", 400, `[{"error":{"message":"slow down","code":"rate_limit_exceeded"}}]`, ClassRate, "rate_limit"},
		{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 190000 + 20000 > 200000"}}`, ClassContextLength, "larger context"},
		{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01"}}`, ClassQuota, "no credit left"},
		{"gemini", 400, `[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]`, ClassAuth, "check the key in KEY"},
		{"gemini", 429, `[{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED"}}]`, ClassRate, "rate_limit"},
		{"anthropic", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, ClassAuth, "check the key in KEY"},
		{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}`, ClassQuota, "no credit left"},
		{"anthropic", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, ClassRate, "rate_limit"},
		{"anthropic", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, ClassOverloaded, "fallback"},
		{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, ClassContextLength, "larger context"},
		{"anthropic", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, ClassContextLength, "larger context"},
		{"anthropic", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`, ClassNotFound, "check the model's name"},
		{"gemini", 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, ClassAuth, "check the key in KEY"},
		{"gemini", 403, `{"error":{"code":403,"message":"denied","status":"PERMISSION_DENIED"}}`, ClassAuth, "the key has no access to this model"},
		{"gemini", 429, `{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`, ClassRate, "rate_limit"},
		{"gemini", 429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details","status":"RESOURCE_EXHAUSTED"}}`, ClassQuota, "no credit left"},
		{"gemini", 503, `{"error":{"code":503,"message":"The model is overloaded","status":"UNAVAILABLE"}}`, ClassOverloaded, "fallback"},
		{"gemini", 400, `{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, ClassContextLength, "larger context"},
		{"gemini", 404, `{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}`, ClassNotFound, "check the model's name"},
		{"gemini", 200, `{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4}}`, ClassContentFilter, "change the prompt"},
		{"gemini", 200, `{"candidates":[{"content":{"parts":[]},"finishReason":"MALFORMED_FUNCTION_CALL"}]}`, ClassBadAnswer, "try again"},
		{"gemini", 200, `{"usageMetadata":{"promptTokenCount":4}}`, ClassBadAnswer, "base_url"},
		{"ollama", 404, `{"error":"model 'x' not found"}`, ClassNotFound, "ollama pull"},
		{"ollama", 400, `{"error":"registry.ollama.ai/library/x does not support tools"}`, ClassBadRequest, "check the agent's fields"},
		{"ollama", 500, `{"error":"llama runner process has terminated"}`, ClassServer, "fallback"},
		{"ollama", 200, `{"error":"out of memory"}`, ClassServer, "fallback"},
		{"ollama", 200, `{"models":[]}`, ClassBadAnswer, "base_url"},
	} {
		_, conn := server(t, c.provider, modelserver.Reply{Status: c.status, Raw: &c.body, Repeat: true})
		cl, _ := client(t, conn)
		_, err := ask(cl, effect.AgentCall{})
		e := agentError(t, err)
		if e.Fields["reason"] != string(c.class) || e.Fields["retryable"] != classes[c.class].retry || !strings.Contains(e.Message, c.hint) {
			t.Errorf("provider %s, response %s: error\n%s\nwith fields %v", c.provider, c.body, e.Message, e.Fields)
		}
		if e.Fields["status"] != int64(c.status) {
			t.Errorf("provider %s, response %s: field status = %v, want %d", c.provider, c.body, e.Fields["status"], c.status)
		}
		_, _, serr := streamed(t.Context(), cl, effect.AgentCall{})
		if s := agentError(t, serr); c.provider != "gemini" && c.class != ClassBadAnswer && (s.Message != e.Message || !cmp.Equal(s.Fields, e.Fields)) {
			t.Errorf("provider %s, response %s: the streamed call has another error:\n%s\n%v", c.provider, c.body, s.Message, s.Fields)
		}
	}
}

// TestRetryDelayInBody checks that the delay in an error of Gemini is used like a Retry-After
// header.
func TestRetryDelayInBody(t *testing.T) {
	body := `{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"2s"}]}}`
	_, conn := server(t, "gemini", modelserver.Reply{Status: 429, Raw: &body}, modelserver.Reply{Text: "x"})
	c, sl := client(t, conn)
	if _, err := ask(c, effect.AgentCall{Retry: &effect.Retry{MaxAttempts: 2}}); err != nil || len(sl.d) != 1 || sl.d[0].Seconds() != 2 {
		t.Error(err, sl.d)
	}
}

// TestRefusedBeforehand checks that requests with unsupported features are refused before they are
// sent.
func TestRefusedBeforehand(t *testing.T) {
	for provider, c := range map[string]struct {
		call effect.AgentCall
		want string
	}{
		"gemini":    {effect.AgentCall{Stop: []string{"a", "b", "c", "d", "e", "f"}}, "6 stop_sequences, but the provider accepts at most 5: remove some"},
		"anthropic": {effect.AgentCall{Temperature: ptr(1.5)}, "temperature is 1.5, but the provider accepts 0 to 1: choose a lower one"},
	} {
		s, conn := server(t, provider, modelserver.Reply{Text: "x"})
		cl, _ := client(t, conn)
		_, err := ask(cl, c.call)
		e := agentError(t, err)
		if !strings.HasSuffix(e.Message, c.want) || e.Fields["reason"] != "bad_request" || len(s.Requests()) != 0 {
			t.Errorf("error = %s after %d requests, want %q without a request", e.Message, len(s.Requests()), c.want)
		}
	}
}

// TestOpenAIOwn checks that OpenAI's own server receives max_completion_tokens and has a limit on
// stop sequences. Other servers receive max_tokens and have no limit.
func TestOpenAIOwn(t *testing.T) {
	req := &Request{AgentCall: &effect.AgentCall{MaxTokens: ptr(int64(5))}, Model: "m"}
	for own, want := range map[bool]string{
		true:  `{"model":"m","messages":null,"max_completion_tokens":5}`,
		false: `{"model":"m","messages":null,"max_tokens":5}`,
	} {
		if got, err := jsonwrite.Encode(openAI{own}.body(req, nil, false)); err != nil || string(got) != want {
			t.Errorf("own = %v: body %s (error %v), want %s", own, got, err, want)
		}
	}
	if (openAI{true}).Capabilities().MaxStop != 4 || (openAI{}).Capabilities().MaxStop != 0 {
		t.Error("MaxStop is not 4 for OpenAI's own server and 0 for others")
	}
	p, err := openOpenAI(&Connection{Provider: "openai", APIKeyEnv: "KEY"}, &world{refused: &refusals{}})
	if err != nil || !p.(*remote).apis.chat.(openAI).own {
		t.Error(p, err)
	}
}

// TestCancelledRequests checks that cancelling a call aborts its request.
func TestCancelledRequests(t *testing.T) {
	eachRemote(t, func(t *testing.T, provider string) {
		s, conn := server(t, provider, modelserver.Reply{Hang: true})
		c, _ := client(t, conn)
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-s.Arrived
			cancel(stop)
		}()
		if _, err := askIn(ctx, c, effect.AgentCall{}); err != stop {
			t.Error(err)
		}
		<-s.Disconnected
	})
}
