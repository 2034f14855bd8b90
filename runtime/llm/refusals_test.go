package llm

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// collected is a refusal that a user of a provider has reported.
type collected struct {
	N        int    `json:"n"`
	Provider string `json:"provider"`
	API      string `json:"api"`
	Status   int    `json:"status"`
	Text     string `json:"text"`
	Source   string `json:"source"`
	Action   string `json:"action"`
	Want     string `json:"want"` // part of the error; "" if the request is repaired
}

// TestCollectedRefusals checks that each of the collected refusals is repaired with one more
// request, or explained with the value to change.
func TestCollectedRefusals(t *testing.T) {
	file, err := os.Open("testdata/refusals.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for lines := bufio.NewScanner(file); lines.Scan(); n++ {
		var r collected
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.Source == "" {
			t.Fatalf("line %d: %v", n+1, err)
		}
		_, conn := server(t, r.connection(), modelserver.Reply{Status: r.Status, Error: r.Text}, modelserver.Reply{Text: "x", JSON: []byte(`{"n":1}`)})
		if strings.HasPrefix(r.Action, "line of extra") || strings.HasPrefix(r.Action, "names") {
			conn.Adds.Extra = []byte(map[string]string{"anthropic": `{"metadata":{"user_id":"u"}}`, "openai": `{"response_format":{"type":"text"}}`, "vertex": `{"safetySettings":[]}`}[r.Provider])
		}
		cl, _ := client(t, conn)
		got, err := ask(cl, r.call())
		switch {
		case r.Want == "" && (err != nil || len(got.Failed) != 1):
			t.Errorf("%d: reply %+v, error %v; want a reply after one refusal (%s)", r.N, got, err, r.Text)
		case r.Want == "":
		case err == nil:
			t.Errorf("%d: no error, want %s (%s)", r.N, r.Want, r.Text)
		default:
			if e := agentError(t, err); e.Fields["reason"] != "bad_request" || !strings.Contains(e.Message, r.Want) {
				t.Errorf("%d: %s; want %s", r.N, e.Message, r.Want)
			}
		}
	}
	if n < 42 {
		t.Errorf("%d refusals, want at least 42", n)
	}
}

// connection returns the provider of a connection that may receive the refusal, or a key of
// otherAPIs.
func (r *collected) connection() string {
	switch {
	case r.API == "responses":
		return r.API
	case r.API == "openai-compatible":
		return "openai"
	case strings.HasPrefix(r.Text, "tool_choice"):
		return "bedrock" // whose models have the form that is refused
	}
	return r.Provider
}

// call returns a request that may be refused so.
func (r *collected) call() effect.AgentCall {
	call := effect.AgentCall{Model: "m", Temperature: ptr(0.5), Effort: "medium", MaxTokens: ptr(int64(100))}
	has := func(action string) bool { return strings.Contains(r.Action, action) }
	switch {
	case has("schema = next form"):
		call = effect.AgentCall{Model: "claude-opus-5", Schema: []byte(number), SchemaName: "N"}
		if strings.HasPrefix(r.Text, "tool_choice") { // the model has a form before this one
			call.Model = "claude-opus-4-7"
		}
	case has("drop cache points"):
		call = effect.AgentCall{Model: "anthropic.claude-sonnet-4-6", System: strings.Repeat("a rule of the house, ", 1000)}
	case has("drop items"), has("skip_thought"):
		items := &effect.Items{API: itemsAnthropic, Connection: "main", Model: "m", Content: []json.RawMessage{[]byte(`{"type":"thinking","thinking":"","signature":"s"}`), itemCall}}
		if r.API == "responses" {
			items = itemsLike(strings.Replace(thought, "gAAA==", modelserver.Encrypted("rs_9"), 1), callOne)
		}
		call.Temperature, call.Effort, call.MaxTokens = nil, "", nil
		call.Messages = []effect.ChatMessage{{Role: "user", Content: "go"}, {Role: "assistant", ToolCalls: []effect.ToolCall{{ID: "c1", Name: "f", Args: "{}"}}, Items: items}, {Role: "tool", ToolCallID: "c1", Content: "1"}}
	case has("api=responses"):
		call = effect.AgentCall{Model: "m", Effort: "low", Tools: []effect.ToolSpec{{Name: "f", Parameters: []byte(`{"type":"object"}`)}}}
	case has("rename member"), has("max_tokens"), has("max_output_tokens"):
		call = effect.AgentCall{Model: "m", MaxTokens: ptr(int64(100))}
	case has("line of the model"):
		call = effect.AgentCall{Model: "anthropic.claude-sonnet-4-6"}
	case has("line of temperature"):
		call.Effort, call.MaxTokens = "", nil
	case has("include_thoughts"):
		call = effect.AgentCall{Model: "m"}
	case has("reasoning_effort"), has("thinking"):
		call.Temperature, call.MaxTokens = nil, nil
	}
	return call
}

// TestRenamedLimit checks that the new name of max_tokens is used at once after it was learned,
// also by another client of the pool, and for its model only.
func TestRenamedLimit(t *testing.T) {
	refusal := modelserver.Reply{Status: 400, Error: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}
	s, conn := server(t, "openai", refusal, modelserver.Reply{Text: "x", Repeat: true})
	var pool Pool
	for _, model := range []string{"new", "new", "old"} {
		cl, _ := client(t, conn)
		cl.cfg.Pool = &pool
		if _, err := ask(cl, effect.AgentCall{Model: model, MaxTokens: ptr(int64(100))}); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, r := range s.Requests() {
		name := "max_tokens"
		if strings.Contains(r.Text, "max_completion_tokens") {
			name = "max_completion_tokens"
		}
		names = append(names, name)
	}
	if want := "max_tokens max_completion_tokens max_completion_tokens max_tokens"; strings.Join(names, " ") != want {
		t.Errorf("requests with %v, want %s", names, want)
	}
}

// TestAnySignature checks what Gemini receives after it has refused the signature of a call.
func TestAnySignature(t *testing.T) {
	s, conn := server(t, "gemini", modelserver.Reply{Status: 400, Error: "Corrupted thought signature"}, modelserver.Reply{Text: "x"})
	cl, _ := client(t, conn)
	call := effect.AgentCall{Messages: []effect.ChatMessage{{Role: "user", Content: "go"}, {Role: "assistant", ToolCalls: []effect.ToolCall{{ID: "c1" + signed + "abc", Name: "f", Args: "{}"}}}, {Role: "tool", ToolCallID: "c1" + signed + "abc", Content: "1"}}}
	if _, err := ask(cl, call); err != nil {
		t.Fatal(err)
	}
	all := s.Requests()
	if len(all) != 2 || !strings.Contains(all[0].Text, `"thoughtSignature":"abc"`) || !strings.Contains(all[1].Text, `"thoughtSignature":"`+anySignature+`"`) {
		t.Errorf("%d requests: %+v", len(all), all)
	}
}

// TestRefusalsHaveSources checks the table.
func TestRefusalsHaveSources(t *testing.T) {
	for _, r := range models.RefusalsIn(400, "temperature top_p") {
		if len(r.Source) == 0 || r.Parameter == "" {
			t.Errorf("%+v has no source or no parameter", r)
		}
	}
}
