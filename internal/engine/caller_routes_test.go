package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/tool/tooltest"
)

// The tests of this file call the same tools in the same order from an agent, a host, dispatch_tool
// and an MCP client. Each must receive the same bytes as a caller in Go.

// toolHost is a host that sends the text of each prompt as a tool call, and returns the answer as
// its result.
func toolHost(in io.Reader, out io.Writer) {
	lines := bufio.NewReader(in)
	for {
		var prompt, answer struct {
			Text  string          `json:"text"`
			Value json.RawMessage `json:"value"`
			Error *string         `json:"error"`
		}
		line, err := lines.ReadBytes('\n')
		if err != nil || json.Unmarshal(line, &prompt) != nil {
			return
		}
		fmt.Fprintf(out, "%s\n", prompt.Text)
		if line, err = lines.ReadBytes('\n'); err != nil || json.Unmarshal(line, &answer) != nil {
			return
		}
		text, _ := json.Marshal(string(line))
		fmt.Fprintf(out, `{"type":"result","text":%s}`+"\n", text)
	}
}

// step is a call that the program must make, and a channel that receives the result.
type step struct {
	name string
	args json.RawMessage
	got  chan tooltest.Got
}

// playing is a run of a program that makes one tool call after another.
type playing struct {
	tools  *tool.Registry
	steps  chan *step
	now    *step
	failed string // outcome that the program received in on_tool_error; "" if there was no error
	ended  chan error
}

// play runs a program. The program receives each call as the answer to an awaited emit on `next`.
// It emits the result on `done`, as an array of the outcome and either the value or the error
// message.
func play(t *testing.T, app *tooltest.App, program, manifest string, environ ...string) *playing {
	p := compileTests(t, map[string]string{"main.conc": program, "Concerto.toml": manifest})
	x := &playing{tools: tooltest.Registry(t), steps: make(chan *step), ended: make(chan error, 1)}
	go func() {
		x.ended <- p.Run(context.Background(), engine.Options{Tools: x.tools, Environ: append(os.Environ(), environ...),
			OnEmit: func(channel string, payload json.RawMessage) {
				app.Emit(channel, payload)
				switch channel {
				case "outcome":
					_ = json.Unmarshal(payload, &x.failed)
				case "done":
					x.done(payload)
				}
			},
			OnAwait: func(_ context.Context, channel string, payload json.RawMessage) (json.RawMessage, error) {
				if channel == tool.ApprovalChannel {
					answer, ok := app.Approve(payload)
					if !ok {
						return nil, tool.ErrNoApprover
					}
					return answer, nil
				}
				s, more := <-x.steps
				if !more {
					return json.RawMessage("null"), nil
				}
				x.now, x.failed = s, ""
				return json.Marshal(map[string]any{"tool": s.name, "args": s.args})
			}})
	}()
	t.Cleanup(func() {
		close(x.steps)
		if err := <-x.ended; err != nil {
			t.Error(err)
		}
	})
	return x
}

func (x *playing) done(payload json.RawMessage) {
	var parts []json.RawMessage
	var outcome tool.Outcome
	if json.Unmarshal(payload, &parts) != nil || len(parts) != 2 || json.Unmarshal(parts[0], &outcome) != nil {
		panic("done with " + string(payload))
	}
	r := tool.Result{Success: true, Output: parts[1]}
	text, _ := r.Text()
	x.now.got <- tooltest.Got{Text: text, Failed: outcome != tool.OutcomeOK, Outcome: outcome}
}

func (x *playing) Call(_ context.Context, name string, args json.RawMessage) tooltest.Got {
	s := &step{name, args, make(chan tooltest.Got, 1)}
	select {
	case x.steps <- s:
	case err := <-x.ended:
		x.ended <- err
		return tooltest.Got{Text: fmt.Sprint("the run has ended: ", err), Failed: true}
	}
	select {
	case got := <-s.got:
		return got
	case err := <-x.ended:
		x.ended <- err
		return tooltest.Got{Text: fmt.Sprint("the run has ended: ", err), Failed: true}
	}
}

func (x *playing) Unregister(name string) error {
	if !x.tools.Unregister(name) {
		return fmt.Errorf("there is no tool %s", name)
	}
	return nil
}

// whoeverCancels is the reason why routes from a program do not test cancelling.
const whoeverCancels = "what is cancelled in a program gives nothing"

func TestDispatchRoute(t *testing.T) {
	tooltest.Run(t, tooltest.Route{Name: "dispatch", Lacks: map[string]string{"cancel": whoeverCancels, "approval edit": "a program gets the result, not the text for a model"}, Open: func(t *testing.T, app *tooltest.App) tooltest.Session {
		return play(t, app, `
			fn called(c: Any) -> Any { try { ["ok", dispatch_tool(to_string(c.tool), c.args)] } catch ToolError(e) { [e.reason, e.message] } }
			fn main() {
				loop {
					let next = await emit("next", nil)?;
					if next == nil { return nil; }
					emit("done", called(next));
				}
			}`, "")
	}})
}

func TestHostRoute(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tooltest.Run(t, tooltest.Route{Name: "host", Lacks: map[string]string{"cancel": whoeverCancels}, Open: func(t *testing.T, app *tooltest.App) tooltest.Session {
		return play(t, app, `
			use std::json;
			host Worker { connector: "worker", output_format: "json" }
			fn main() {
				loop {
					let next = await emit("next", nil)?;
					if next == nil { return nil; }
					let said = json::parse(Worker.execute(json::stringify({ type: "tool_call", id: "1", tool: next.tool, args: next.args }))?)?;
					emit("done", if said.error == nil { ["ok", said.value] } else { ["", said.error] });
				}
			}`, fmt.Sprintf("[hosts.worker]\ncommand = %q\nenv = { CONCERTO_TEST_HOST = \"1\" }\n", exe))
	}})
}

// model is an HTTP server for a model that calls the current step's tool and then ends its reply.
type model struct {
	x    *playing
	text string // tool result in the last request
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	message := map[string]any{"role": "assistant", "content": "done"}
	if last := asked.Messages[len(asked.Messages)-1]; last.Role == "tool" {
		m.text = last.Content
	} else {
		message = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": "1", "type": "function",
			"function": map[string]any{"name": m.x.now.name, "arguments": string(m.x.now.args)}}}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"id": "x", "object": "chat.completion", "model": "m", "choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": "stop"}},
		"usage": map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})
}

// agentPlaying reads the result's text from the requests to the model, and the outcome from the
// agent's on_tool_error.
type agentPlaying struct {
	*playing
	m *model
}

func (a agentPlaying) Call(ctx context.Context, name string, args json.RawMessage) tooltest.Got {
	got := a.playing.Call(ctx, name, args)
	outcome := tool.Outcome(a.failed)
	if outcome == "" {
		outcome = tool.OutcomeOK
	}
	if got.Failed {
		return got
	}
	text, isError := strings.CutPrefix(a.m.text, "Error: ") // the client adds this prefix to errors for this provider
	if isError != (outcome != tool.OutcomeOK) {
		return tooltest.Got{Text: "the model was told: " + a.m.text, Outcome: outcome}
	}
	return tooltest.Got{Text: text, Failed: outcome != tool.OutcomeOK, Outcome: outcome}
}

func TestAgentRoute(t *testing.T) {
	tooltest.Run(t, tooltest.Route{Name: "agent", Lacks: map[string]string{"cancel": whoeverCancels}, Open: func(t *testing.T, app *tooltest.App) tooltest.Session {
		m := &model{}
		server := httptest.NewServer(m)
		t.Cleanup(server.Close)
		m.x = play(t, app, `
			agent Clerk uses main { model: "m", on_tool_error: tell }
			fn tell(e: ToolError) -> Any { emit("outcome", e.reason); nil }
			fn main() {
				loop {
					let next = await emit("next", nil)?;
					if next == nil { return nil; }
					emit("done", ["ok", Clerk.execute("go")?.text]);
				}
			}`, "[connections.main]\nprovider = \"openai\"\napi_key_env = \"TEST_KEY\"\nbase_url = \""+server.URL+"/v1\"\n", "TEST_KEY=k3y-for-tests")
		return agentPlaying{m.x, m}
	}})
}

// mcpPlaying calls the tools of a served program as an MCP client.
type mcpPlaying struct{ c *mcpClient }

func (m mcpPlaying) Call(_ context.Context, name string, args json.RawMessage) tooltest.Got {
	switch name { // the server offers both versions under these names
	case "versioned@1":
		name = "versioned__1"
	case "versioned@2", "versioned":
		name = "versioned__2"
	}
	text := m.c.call(name, args)
	error, failed := strings.CutPrefix(text, "!")
	return tooltest.Got{Text: error, Failed: failed}
}

func (m mcpPlaying) Unregister(string) error { return nil }

func TestMCPRoute(t *testing.T) {
	static := "a server offers what there is when it begins"
	tooltest.Run(t, tooltest.Route{Name: "mcp serve", Lacks: map[string]string{"cancel": "a client does not hear of what it has cancelled", "arguments not found": static, "version missing": static,
		"unregister": static}, Open: func(t *testing.T, app *tooltest.App) tooltest.Session {
		p := compileTests(t, map[string]string{"main.conc": "fn main() {}", "Concerto.toml": ""})
		c, _, end := served(t, p, engine.Options{Tools: tooltest.Registry(t), OnEmit: app.Emit,
			OnAwait: func(_ context.Context, _ string, payload json.RawMessage) (json.RawMessage, error) {
				answer, ok := app.Approve(payload)
				if !ok {
					return nil, tool.ErrNoApprover
				}
				return answer, nil
			}})
		t.Cleanup(func() {
			if err := end(); err != nil {
				t.Error(err)
			}
		})
		return mcpPlaying{c}
	}})
}
