package testllm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
)

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestServer(t *testing.T) {
	replies, err := modelserver.Load([]byte(`[{"when": "two", "text": "b"}, {"text": "a", "repeat": true}, {"text": "never"}]`))
	if err != nil {
		t.Fatal(err)
	}
	s := Start(replies...)
	defer s.Close()
	for _, c := range []struct{ path, body, want string }{
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"one"}]}`, `"content":"a"`},
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"two"}]}`, `"content":"b"`},
		{"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"two"}]}`, `"text":"a"`},
		{"/v1/messages", `{"model":"m","messages":[{"role":"user","content":"two"}]}`, `max_tokens: missing`},
		{"/other", `{}`, `no such path: /other`},
		{"/v1/messages", `no`, `no JSON`},
	} {
		if _, got := post(t, s.URL+c.path, c.body); !strings.Contains(got, c.want) {
			t.Errorf("response of %s to %s: %s", c.path, c.body, got)
		}
	}
	if got := s.Requests(); len(got) != 3 || !strings.Contains(got[1].Text, "two") || got[2].Path != "/v1/messages" || len(s.InvalidRequests()) != 1 {
		t.Errorf("recorded requests = %+v", got)
	}
}

const question = `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`

func TestExhausted(t *testing.T) {
	s := Start()
	defer s.Close()
	if code, got := post(t, s.URL+"/v1/messages", question); code != 500 || !strings.Contains(got, "script exhausted") {
		t.Error(code, got)
	}
}

func TestMainServesUntilItsInputEnds(t *testing.T) {
	script := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(script, []byte(`[{"json": {"a": 1}}]`), 0o666); err != nil {
		t.Fatal(err)
	}
	in, stop := io.Pipe()
	out, w := io.Pipe()
	code := make(chan int)
	go func() { code <- Main([]string{script}, in, w, io.Discard) }()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, got := post(t, strings.TrimSpace(url)+"/v1/messages", strings.TrimSuffix(question, "}")+`,"tool_choice":{"type":"any"},"tools":[{"name":"x","input_schema":{"type":"object"}},{"name":"T","input_schema":{"type":"object"}}]}`)
	var reply struct {
		Content []struct {
			Name  string
			Input json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(got), &reply); err != nil || len(reply.Content) != 1 || reply.Content[0].Name != "T" || string(reply.Content[0].Input) != `{"a":1}` {
		t.Error(got, err)
	}
	stop.Close()
	if c := <-code; c != 0 {
		t.Error(c)
	}
}

func TestMainRefuses(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{{nil, 2, "usage: testllm SCRIPT"}, {[]string{bad + "x"}, 1, "no such file"}, {[]string{bad}, 1, "read script: "}} {
		var err bytes.Buffer
		if got := Main(c.args, strings.NewReader(""), io.Discard, &err); got != c.code || !strings.Contains(err.String(), c.want) {
			t.Errorf("Main(%v): exit code %d, stderr %s", c.args, got, err.String())
		}
	}
}

// TestAgents checks that requests of agents are not validated, and that the reply has the format of
// the requested path.
func TestAgents(t *testing.T) {
	s, err := modelserver.Start(nil, modelserver.Reply{Repeat: true, Thought: "hm", Text: "let me look", ToolCalls: []modelserver.Call{{ID: "c1", Name: "run", Args: json.RawMessage(`{"cmd":"ls"}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct{ path, want string }{
		{"/v1/responses", `"delta":"hm"`},
		{"/v1/responses", `"delta":"look"`},
		{"/v1/responses", `"arguments":"{\"cmd\":\"ls\"}","call_id":"c1"`},
		{"/v1/responses", "event: response.completed\n"},
		{"/v1/messages", `"thinking":"hm"`},
	} {
		code, got := post(t, s.URL+c.path, `{"model":"m","stream":true,"client_metadata":{"no":"form has it"}}`)
		if code != 200 || !strings.Contains(got, c.want) {
			t.Errorf("%s: status %d, want a response that contains %s: %s", c.path, code, c.want, got)
		}
	}
	if _, got := post(t, s.URL+"/v1/responses", `{"model":"m"}`); !strings.Contains(got, `"status":"completed"`) {
		t.Error(got)
	}
	if len(s.InvalidRequests()) != 0 {
		t.Error(s.InvalidRequests())
	}
}

// TestResponses checks what the server of the Responses API refuses.
func TestResponses(t *testing.T) {
	s := Start(modelserver.Reply{Text: "a", Repeat: true})
	defer s.Close()
	reasoning := func(id, encrypted string) string {
		return `{"type":"reasoning","id":"` + id + `","summary":[],"encrypted_content":"` + encrypted + `"}`
	}
	const (
		user   = `{"role":"user","content":"x"}`
		call   = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}"}`
		result = `{"type":"function_call_output","call_id":"c1","output":"1"}`
		tool   = `{"type":"function","name":"f","parameters":{"type":"object"}`
	)
	thought := reasoning("rs_1", modelserver.Encrypted("rs_1"))
	for _, c := range []struct{ members, input, want string }{
		{``, user, `"output_text"`},
		{``, user + "," + thought + "," + call + "," + result, `"output_text"`},
		{`,"tools":[` + tool + `,"strict":false}]`, user, `"output_text"`},
		{`,"tools":[` + tool + `}]`, user, `tools[0].strict: missing`},
		{`,"tools":[` + tool + `,"strict":true}]`, user, `the schema of f is not strict`},
		{`,"text":{"format":{"type":"json_schema","name":"r","strict":true,"schema":{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}}}`, user, `the schema of the reply is not strict`},
		{`,"stop":["x"]`, user, `stop`},
		{`,"seed":1`, user, `seed`},
		{`,"max_tokens":1`, user, `max_tokens`},
		{`,"stream_options":{}`, user, `stream`},
		{``, user + "," + result, `No tool call found for function call output with call_id c1`},
		{``, user + "," + call, `No tool output found for function call c1`},
		{``, user + "," + thought, `Item 'rs_1' of type 'reasoning' was provided without its required following item`},
		{``, user + "," + thought + `,{"role":"assistant","content":"a"}`, `without its required following item`},
		{``, user + "," + thought + "," + user, `without its required following item`},
		{``, user + "," + thought + "," + thought + "," + call + "," + result, `Duplicate item found with id rs_1`},
		{``, user + "," + reasoning("rs_1", "gAAAAA") + "," + call + "," + result, `The encrypted content for item rs_1 could not be verified`},
	} {
		if _, got := post(t, s.URL+"/v1/responses", `{"model":"m","store":false`+c.members+`,"input":[`+c.input+`]}`); !strings.Contains(got, c.want) {
			t.Errorf("members %s, input %s:\n got %s\nwant %s", c.members, c.input, got, c.want)
		}
	}
	for _, c := range []struct{ body, want string }{
		{`{"model":"m","input":[` + user + `]}`, `store: missing`},
		{`{"model":"m","store":true,"input":[` + user + `]}`, `store`},
		{`{"model":"gpt-4o","store":false,"include":["reasoning.encrypted_content"],"input":[` + user + `]}`, `Encrypted content is not supported with this model`},
	} {
		if _, got := post(t, s.URL+"/v1/responses", c.body); !strings.Contains(got, c.want) || strings.Contains(got, "output_text") {
			t.Errorf("request %s: %s, want %s", c.body, got, c.want)
		}
	}
}

// TestCache checks what the server of Anthropic's API counts and stores: prefixes that are equal
// and long enough, up to a mark, which it finds among the last 20 blocks before a mark.
func TestCache(t *testing.T) {
	long := func(word string) string {
		return `{"type":"text","text":"` + strings.Repeat(word+" ", 2048/(len(word)+1)) + `"`
	}
	const mark, hour = `,"cache_control":{"type":"ephemeral"}}`, `,"cache_control":{"type":"ephemeral","ttl":"1h"}}`
	many := func(n int) (all string) {
		for range n {
			all += `{"type":"text","text":"x"},`
		}
		return all
	}
	system, other := long("rule"), long("rules")
	s := Start(modelserver.Reply{Text: "a", Counts: true, Repeat: true})
	defer s.Close()
	for _, c := range []struct {
		name, model, system, content string
		cached, written, hour        bool
	}{
		{"written", "claude-opus-5-5", system + mark, `{"type":"text","text":"x"}`, false, true, false},
		{"read", "claude-opus-5-5", system + mark, `{"type":"text","text":"y"}`, true, false, false},
		{"another text", "claude-opus-5-5", other + mark, `{"type":"text","text":"y"}`, false, true, false},
		{"another model", "claude-sonnet-5", system + mark, `{"type":"text","text":"` + strings.Repeat("long", 600) + `"` + mark, false, true, false},
		{"below the minimum", "claude-haiku-4-5", system + mark, `{"type":"text","text":"x"}`, false, false, false},
		{"no mark", "claude-opus-5-5", system + "}", `{"type":"text","text":"x"}`, false, false, false},
		{"18 blocks later", "claude-opus-5-5", system + "}", many(18) + `{"type":"text","text":"z"` + mark, true, true, false},
		{"20 blocks later", "claude-opus-5-5", other + "}", many(19) + `{"type":"text","text":"z"` + mark, false, true, false},
		{"an hour", "claude-opus-5-5", system + mark, `{"type":"text","text":"w"` + hour, true, true, true},
	} {
		_, got := post(t, s.URL+"/v1/messages", `{"model":"`+c.model+`","max_tokens":1,"system":[`+c.system+`],"messages":[{"role":"user","content":[`+c.content+`]}]}`)
		all := s.Requests()
		r := all[len(all)-1].Reply
		if r.Cached > 0 != c.cached || r.CacheWrite > 0 != c.written || r.CacheWrite1h > 0 != c.hour || r.TokensIn < r.Cached+r.CacheWrite || r.TokensIn < 512 {
			t.Errorf("%s: %d tokens, %d read, %d written, %d for an hour: %s", c.name, r.TokensIn, r.Cached, r.CacheWrite, r.CacheWrite1h, got)
		}
	}
	five := strings.Repeat(`{"type":"text","text":"x"`+mark+",", 4) + `{"type":"text","text":"x"` + mark
	if code, got := post(t, s.URL+"/v1/messages", `{"model":"claude-opus-5-5","max_tokens":1,"messages":[{"role":"user","content":[`+five+`]}]}`); code != 400 || !strings.Contains(got, "A maximum of 4 blocks with cache_control may be provided. Found 5") {
		t.Error(code, got)
	}
}
