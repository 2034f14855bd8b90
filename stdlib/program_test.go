package stdlib_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/world/clock"
	"github.com/concerto-lang/concerto/runtime/world/files"
	"github.com/concerto-lang/concerto/runtime/world/random"
)

// TestPrograms runs the programs in testdata with and without copy-on-write. The programs use every
// public function of the library and assert its result.
func TestPrograms(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.conc")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		for _, copies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/copy=%t", filepath.Base(path), copies), func(t *testing.T) {
				runProgram(t, compile(t, path), copies)
			})
		}
	}
}

// compile returns the IR of a program, for which the compiler must report no diagnostics.
func compile(t *testing.T, path string) *ir.Program {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return compiletest.CompileClean(t, string(text))
}

// runProgram runs p and returns the performer of its requests.
func runProgram(t *testing.T, p *ir.Program, copies bool) *world {
	t.Helper()
	w := newWorld(t)
	c := compiletest.Config(p, w, copies)
	c.MaxStack = 0
	_, failed, err := compiletest.Run(context.Background(), c)
	if err != nil {
		t.Error(err)
	}
	if failed != nil {
		t.Error(compiletest.Failure(failed) + compiletest.Trace(failed))
	}
	return w
}

// world performs the requests of the programs in testdata in a reproducible way. Models echo the
// prompt, hosts play a script for each prompt, and clocks do not advance. Files are in a new
// directory, and random numbers have a fixed seed.
type world struct {
	files   *files.Files
	chance  *random.Source
	clock   *clock.Clock
	lines   []string // prints, logs and emits
	replies []string // replies to hosts
	asked   []*effect.AgentCall
	opened  []*effect.ExchangeOpen
	play    [][]string // remaining messages of each exchange
}

func newWorld(t *testing.T) *world {
	seed := int64(1)
	w := &world{files: files.New(files.Options{Dir: t.TempDir()}), chance: random.New(&seed), clock: clock.New(nil)}
	t.Cleanup(func() {
		if err := w.files.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	if effect.Lookup(r.Kind()).By == effect.Files {
		return w.files.Perform(ctx, r)
	}
	switch r := r.(type) {
	case *effect.Print:
		w.lines = append(w.lines, "print "+r.Text)
	case *effect.Step:
		return nil, nil
	case *effect.Log:
		w.lines = append(w.lines, strings.TrimSpace(fmt.Sprintf("%s: %s %s", r.Level, r.Message, r.Fields)))
	case *effect.Emit:
		w.lines = append(w.lines, fmt.Sprintf("[%s] %s", r.Channel, r.Payload))
	case *effect.AwaitEmit:
		w.lines = append(w.lines, fmt.Sprintf("[%s] %s?", r.Channel, r.Payload))
		return nil, effect.Errorf("EmitError", "no handler answers on %s", r.Channel).With("channel", r.Channel).With("reason", "no_listener")
	case *effect.Sleep:
	case *effect.Clock:
		return &effect.Time{Unix: 1_772_357_400_250, Monotonic: 5}, nil
	case *effect.Env:
		return &effect.EnvValue{Value: "here", Set: r.Name == "STDLIB_TEST_SET"}, nil
	case *effect.EnvAll:
		return &effect.EnvVariables{Names: []string{"A", "B"}, Values: []string{"1", ""}}, nil
	case *effect.Args:
		return &effect.ArgsValue{Args: []string{"--flag", "x"}}, nil
	case *effect.Random, *effect.RandomSeed, *effect.Secret:
		return w.chance.Perform(ctx, r)
	case *effect.Zone:
		return w.clock.Perform(ctx, r)
	case *effect.HTTP:
		return served(r)
	case *effect.Command:
		if r.Command != "echo" {
			return nil, effect.Errorf("ToolError", "running %s is not permitted", r.Command).With("tool", "RunCommand")
		}
		return &effect.CommandOutput{Stdout: fmt.Sprint("echo ", strings.Join(r.Args, " "), " ", r.Timeout)}, nil
	case *effect.AgentCall:
		w.asked = append(w.asked, r)
		return answer(r)
	case *effect.ExchangeOpen:
		w.opened = append(w.opened, r)
		w.play = append(w.play, scripts[r.Prompt])
		return &effect.ExchangeOpened{ID: int64(len(w.play) - 1)}, nil
	case *effect.ExchangeNext:
		return w.next(r.ID)
	case *effect.ExchangeReply:
		w.replies = append(w.replies, fmt.Sprintf("%s %s: %s%s", r.InReplyTo, r.AnswerTo, r.Value, r.Error))
	case *effect.ExchangeContinue:
		w.play[r.ID] = scripts["text"] // does not fit a schema either
		return &effect.ExchangeSteered{Outcome: effect.SteerQueued}, nil
	case *effect.ExchangeClose:
	default:
		return nil, fmt.Errorf("the test does not support the request %T", r)
	}
	return nil, nil
}

// served answers an HTTP request with the content of the request. Some paths have fixed answers.
func served(r *effect.HTTP) (*effect.HTTPResponse, error) {
	path, status := strings.TrimPrefix(r.URL, "http://test"), int64(200)
	if path == "/down" {
		return nil, effect.Errorf("HttpError", "GET %s: there is no host test", r.URL).With("url", r.URL)
	}
	if path == "/missing" {
		status = 404
	}
	body := "nothing"
	if r.Body != nil {
		body = *r.Body
	}
	text, err := json.Marshal(map[string]any{"method": r.Method, "headers": r.Headers, "body": body, "timeout": r.Timeout})
	return &effect.HTTPResponse{Status: status, Headers: []effect.Header{{Name: "content-type", Value: "application/json"}}, Body: string(text)}, err
}

// next returns the next message of an exchange.
func (w *world) next(id int64) (effect.Result, error) {
	line := w.play[id][0]
	w.play[id] = w.play[id][1:]
	typ, tag, payload, err := value.ParseMessage([]byte(line))
	if err != nil {
		return nil, err
	}
	return &effect.ExchangeMessages{Messages: []effect.HostMessage{{Type: typ, ID: string(tag), Payload: payload, Text: []byte(line)}}}, nil
}

// scripts contains the messages that a host sends for a prompt.
var scripts = map[string][]string{
	"text":     {`{"type":"progress","message":"p"}`, `{"type":"log","message":"l"}`, `{"type":"result","text":"done"}`},
	"partials": {`{"type":"partial","text":"one "}`, `{"type":"partial","text":"two"}`, `{"type":"result"}`},
	"payload":  {`{"type":"result","files":["a"],"passed":true}`},
	"number":   {`{"type":"result","text":42}`},
	"asks": {`{"type":"question","id":"q","question":"why?"}`, `{"type":"approval","id":"a","description":"drop"}`,
		`{"type":"result","text":"end"}`},
	"tools": {`{"type":"tool_call","id":"t1","tool":"lookup","args":{"email":"ann@example.com"}}`,
		`{"type":"tool_call","id":"t2","tool":"Users::lookup","args":{"email":"bob@example.com"}}`,
		`{"type":"tool_call","id":"t3","tool":"nothing"}`, `{"type":"tool_call","id":"t4"}`, `{"type":"result","text":"end"}`},
	"fails":      {`{"type":"error","message":"no disk","code":"E7"}`},
	"json text":  {`{"type":"result","text":"Sure: {\"files\":[\"a\",\"b\"],\"passed\":false,}"}`},
	"wrong json": {`{"type":"result","text":"{\"passed\":1}"}`},
}

// answer returns the prompt as the reply. Conversations with certain first prompts have fixed
// answers.
func answer(r *effect.AgentCall) (*effect.AgentReply, error) {
	reply := &effect.AgentReply{Text: "scripted reply to: " + r.Messages[len(r.Messages)-1].Content, TokensIn: 10, TokensOut: 1,
		Model: "m", Provider: r.Connection, LatencyMS: 2, StopReason: "end"}
	round, prompt := 0, ""
	for _, m := range r.Messages {
		switch {
		case m.Role == "user" && prompt != "second try\nContext: [1]" && prompt != "never right":
			round, prompt = 0, m.Content
		case m.Role == "assistant":
			round++
		}
	}
	calls := func(calls ...effect.ToolCall) { reply.ToolCalls, reply.Text, reply.StopReason = calls, "", "tool" }
	switch {
	case prompt == "tools" && round == 0:
		calls(effect.ToolCall{ID: "c0", Name: "Calc_add", Args: `{"a": 2, "b": 3}`}, effect.ToolCall{ID: "c1", Name: "Calc_add", Args: `{"a": 29}`},
			effect.ToolCall{ID: "c2", Name: "Calc_add", Args: `{"a": "x"}`}, effect.ToolCall{ID: "c3", Name: "Calc_add", Args: `{"a"`})
	case prompt == "tools" && round == 1:
		calls(effect.ToolCall{ID: "c4", Name: "Calc_fail"}, effect.ToolCall{ID: "c5", Name: "Calc_fault", Args: "{}"},
			effect.ToolCall{ID: "c6", Name: "Calc_describe", Args: "{}"}, effect.ToolCall{ID: "c7", Name: "Nobody_knows", Args: "{}"})
	case prompt == "tools":
		reply.Text = "5 and 30"
	case prompt == "endless":
		calls(effect.ToolCall{ID: "c", Name: "Calc_add", Args: `{"a": 1}`})
	case strings.HasPrefix(prompt, "second try") && round == 0:
		reply.Text = `{"label": "ugly", "score": "high"}`
	case strings.HasPrefix(prompt, "second try"):
		reply.Text = `{"label": "good", "score": 0.5}`
	case prompt == "never right":
		reply.Text = "I would rather not."
	case prompt == "broken":
		return nil, effect.Errorf("AgentError", "slow down").With("status", int64(429))
	case r.Schema != nil:
		reply.Text = `{"label":"good","score":0.0}`
	}
	return reply, nil
}

// TestAgentConversation checks the messages that models receive in the loops for tools and for
// schemas.
func TestAgentConversation(t *testing.T) {
	w := runProgram(t, compile(t, "testdata/loop.conc"), false)
	if len(w.asked) < 7 {
		t.Fatalf("models received only %d requests, want at least 7", len(w.asked))
	}
	var offered []string
	for _, tool := range w.asked[0].Tools {
		offered = append(offered, tool.Name)
	}
	if diff := cmp.Diff([]string{"Calc_add", "Calc_fail", "Calc_fault", "Calc_describe"}, offered); diff != "" {
		t.Errorf("offered tools (-want +got):\n%s", diff)
	}
	if r := w.asked[0]; r.System != "Be brief." || r.Model != "m-1" || r.Schema != nil {
		t.Errorf("first request: system = %q, model = %q, schema = %s", r.System, r.Model, r.Schema)
	}
	third := w.asked[2].Messages // the request after two rounds of tool calls
	got := make([]string, len(third))
	for i, m := range third {
		got[i] = fmt.Sprintf("%s %s %d %q %t", m.Role, m.ToolCallID, len(m.ToolCalls), m.Content, m.IsError)
	}
	want := []string{
		`user  0 "tools" false`,
		`assistant  4 "" false`, `tool c0 0 "5" false`, `tool c1 0 "30" false`,
		`tool c2 0 `, `tool c3 0 "the arguments are not JSON: `,
		`assistant  4 "" false`, `tool c4 0 "out of order" true`, `tool c5 0 `, `tool c6 0 "{\"calls\":2}" false`, `tool c7 0 `,
	}
	for i := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("messages of the third request: message %d must begin with %s: %q", i, want[i], got)
			break
		}
		if failed := i == 4 || i == 5 || i == 7 || i == 8 || i == 10; failed != third[i].IsError {
			t.Errorf("message %d: IsError = %t, which is wrong: %s", i, third[i].IsError, got[i])
		}
	}
	if n := len(w.asked[3:7]); w.asked[3].Messages[0].Content != "tools" || w.asked[6].Messages[2].Content != "endless" {
		t.Errorf("requests 3 to 6 do not begin with the messages of the memory, or are not %d requests for three rounds", n)
	}
	second := w.asked[8] // the second attempt to receive a Verdict
	last := second.Messages[len(second.Messages)-1]
	if last.Role != "user" || !strings.Contains(last.Content, "label") || !strings.Contains(last.Content, "score") || second.SchemaName != "Verdict" {
		t.Errorf("repeated request ends with %s %q, schema = %s", last.Role, last.Content, second.SchemaName)
	}
}

// TestHostConversation checks the emits and the replies of the default handlers of execute.
func TestHostConversation(t *testing.T) {
	w := runProgram(t, compile(t, "testdata/host.conc"), false)
	replies := []string{
		`question "q": ""`, `approval "a": "yes"`,
		`question "q": "skip"`, `approval "a": "yes"`,
		`tool_call "t1": "Ann"`, `tool_call "t2": no user bob@example.com`,
	}
	if len(w.replies) < len(replies)+2 {
		t.Fatalf("replies = %q", w.replies)
	}
	if diff := cmp.Diff(replies, w.replies[:len(replies)]); diff != "" {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
	for i, want := range []string{`tool_call "t3": `, `tool_call "t4": `} {
		if got := w.replies[len(replies)+i]; !strings.HasPrefix(got, want) || len(got) == len(want) {
			t.Errorf("reply = %s", got)
		}
	}
	output := strings.Join(w.lines, "\n")
	for _, want := range []string{
		`[host:progress] {"message":"p"}`,
		`[host:log] {"message":"l"}`,
		`[host:question] {"id":"q","question":"why?"}?`,
		`[host:approval] {"id":"a","description":"drop"}?`,
		`warn: host 'Worker': the question "why?" was answered with "": no handler answers on host:question`,
		`warn: host 'Worker': the approval of "drop" was answered with "yes": no handler answers on host:approval`,
		`warn: host 'Careful': the question "why?" was answered with "skip": no handler answers on host:question`,
	} {
		if !strings.Contains(output, want) {
			t.Errorf("output does not contain %s:\n%s", want, output)
		}
	}
	for _, o := range w.opened {
		typed := strings.Contains(string(o.Schema), `"passed"`)
		if wanted := o.Prompt == "json text" || o.Prompt == "wrong json"; wanted && !typed {
			t.Errorf("exchange with the prompt %q has no schema of the result: %s", o.Prompt, o.Schema)
		}
		if o.Schema == nil && typed || o.Schema != nil && !json.Valid(o.Schema) {
			t.Errorf("unexpected schema %s", o.Schema)
		}
	}
}
