package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// toolRun runs a program with tools. It returns the emits as lines, and the approval requests.
func toolRun(t *testing.T, program, manifest string, tools *tool.Registry, answer func(payload json.RawMessage) (json.RawMessage, error)) (emits []string, asked []map[string]any) {
	t.Helper()
	p := compileTests(t, map[string]string{"main.conc": program, "Concerto.toml": manifest})
	var log bytes.Buffer
	err := p.Run(t.Context(), engine.Options{Tools: tools, Log: &log, Environ: os.Environ(),
		Session: tool.Context{Metadata: map[string]any{"user": "ada"}, Render: []string{"text/html"}},
		OnEmit: func(channel string, payload json.RawMessage) {
			if channel != "tool:approval" {
				emits = append(emits, channel+" "+string(payload))
			}
		},
		OnAwait: func(_ context.Context, channel string, payload json.RawMessage) (json.RawMessage, error) {
			var q map[string]any
			if err := json.Unmarshal(payload, &q); err != nil || channel != "tool:approval" {
				t.Errorf("awaited emit %s on channel %s, want an approval request; error: %v", payload, channel, err)
			}
			asked = append(asked, q)
			return answer(payload)
		}})
	if err != nil {
		t.Fatalf("Run: %v\nlog:\n%s", err, &log)
	}
	return emits, asked
}

type stockIn struct {
	SKU   string `json:"sku" doc:"the article"`
	Token string `json:"token,omitempty" redact:"true"`
}

func stock(approve bool) tool.Definition {
	d := tool.New("stock", "Pieces in stock", func(_ context.Context, in stockIn) (int, error) {
		if in.SKU == "none" {
			return 0, errors.New("no such article")
		}
		return len(in.SKU), nil
	})
	d.RequiresApproval, d.Category = approve, "shop"
	return d
}

const shopManifest = `
[connections.main]
provider = "scripted"
replies = [
  { tool_calls = [{ name = "stock", args = { sku = "a1" } }, { name = "stock", args = { sku = 7 } }, { name = "stock", args = { sku = "none" } }] },
  { text = "done" },
]
`

// TestToolsOfAgents checks that an agent is offered the application's tools, calls them, and
// receives their results.
func TestToolsOfAgents(t *testing.T) {
	var tools tool.Registry
	if err := tools.Register(stock(false)); err != nil {
		t.Fatal(err)
	}
	var seen []string
	see := tool.New("see", "What the handler knows", func(ctx context.Context, in struct{}) (map[string]any, error) { return nil, nil })
	see.Handler = func(_ context.Context, _ json.RawMessage, c *tool.Context) (tool.Result, error) {
		seen = append(seen, c.Caller+" "+c.Route+" "+c.CallID[:2]+" "+c.Metadata["user"].(string), strings.Join(c.Chain, ","))
		return tool.Result{Success: true, Output: json.RawMessage(`{"big":9007199254740993}`)}, nil
	}
	if err := tools.Register(see); err != nil {
		t.Fatal(err)
	}
	emits, _ := toolRun(t, `
		use std::app;
		agent Clerk uses main { on_tool_error: tell }
		fn tell(e: ToolError) -> String? { emit("failed", [e.tool, e.reason, e.message]); nil }
		fn main() {
			println(Clerk.execute("how many?")?.text);
			emit("direct", dispatch_tool("stock", { "sku": "abc" }));
			emit("see", dispatch_tool("see@1", {}));
			try { dispatch_tool("stok", {}); } catch ToolError(e) { emit("missing", [e.reason, e.message]); }
			try { dispatch_tool("stock", { "skus": 1 }); } catch ToolError(e) { emit("bad", [e.reason, e.message]); }
			emit("render", app::session().render);
			emit("tools", app::tools().map(|t| (t.name, t.version, t.category)));
		}`, shopManifest, &tools, nil)
	want := []string{
		`failed ["stock","arguments","bad arguments for stock: sku: expected string, got 7"]`,
		`failed ["stock","failed","no such article"]`,
		`direct 3`,
		`see {"big":9007199254740993}`,
		`missing ["not_found","unknown tool 'stok'; did you mean 'stock'?"]`,
		`bad ["arguments","bad arguments for stock: sku: missing; skus: unknown (did you mean sku?)"]`,
		`render ["text/html"]`,
		`tools [["see",1,""],["stock",1,"shop"]]`,
	}
	slices.Sort(emits[:2]) // sorted because the calls are concurrent
	if diff := cmp.Diff(want, emits); diff != "" {
		t.Error(diff)
	}
	if want := []string{"main dispatch r_ ada", "see"}; !slices.Equal(seen, want) {
		t.Errorf("calls seen by the handler = %q, want %q", seen, want)
	}
}

// TestApprovalOfTools checks the answers to approval requests: they approve, deny, change or answer
// a call. After a grant for the session, the following calls need no approval.
func TestApprovalOfTools(t *testing.T) {
	const program = `
		agent Clerk uses main {}
		fn main() {
			match Clerk.execute("how many?") { Ok(r) => emit("text", r.text), Err(e) => emit("error", e.message) }
			for i in 0..2 {
				let said: Any = try { dispatch_tool("stock", { "sku": "abcd", "token": "s3cr3t" }) } catch ToolError(e) { [e.reason, e.message] };
				emit("stock", said);
			}
		}`
	const manifest = `
[connections.main]
provider = "scripted"
replies = [{ tool_calls = [{ name = "stock", args = { sku = "a1" } }] }, { text = "done" }]
`
	for _, c := range []struct {
		name, answer string
		asked        int
		emits        []string
	}{
		{"once", `true`, 3, []string{`text "done"`, `stock 4`, `stock 4`}},
		{"for the session", `{"decision":"allow","scope":"session"}`, 1, []string{`text "done"`, `stock 4`, `stock 4`}},
		{"these arguments", `{"decision":"allow","scope":"session","match":"args"}`, 2, []string{`text "done"`, `stock 4`, `stock 4`}},
		{"a reason", `"not on Sundays"`, 3, []string{`text "done"`, `stock ["denied","stock was not called: not on Sundays"]`, `stock ["denied","stock was not called: not on Sundays"]`}},
		{"nonsense", `7`, 3, []string{`text "done"`, `stock ["denied","stock was not called: not a decision: 7"]`, `stock ["denied","stock was not called: not a decision: 7"]`}},
		{"respond", `{"decision":"respond","output":{"n":0}}`, 3, []string{`text "done"`, `stock {"n":0}`, `stock {"n":0}`}},
		{"other arguments", `{"decision":"allow","args_sha256":"00"}`, 3, []string{`text "done"`, `stock ["denied","stock was not called: the approval is for other arguments"]`, `stock ["denied","stock was not called: the approval is for other arguments"]`}},
		{"changed", `{"decision":"allow","input":{"sku":"ab"}}`, 3, []string{`text "done"`, `stock 2`, `stock 2`}},
		{"changed badly", `{"decision":"allow","input":{"sku":2}}`, 3, []string{`text "done"`, `stock ["arguments","bad arguments for stock: sku: expected string, got 2"]`, `stock ["arguments","bad arguments for stock: sku: expected string, got 2"]`}},
		{"stop", `{"decision":"deny","reason":"enough","stop":true}`, 3, []string{`error "agent 'Clerk': stock was not called: enough"`, `stock ["denied","stock was not called: enough"]`, `stock ["denied","stock was not called: enough"]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tools tool.Registry
			if err := tools.Register(stock(true)); err != nil {
				t.Fatal(err)
			}
			emits, asked := toolRun(t, program, manifest, &tools, func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(c.answer), nil })
			if diff := cmp.Diff(c.emits, emits); diff != "" || len(asked) != c.asked {
				t.Errorf("approval requests = %d, want %d; emits differ (-want +got):\n%s", len(asked), c.asked, diff)
			}
			first := asked[0]
			for name, want := range map[string]any{"tool": "stock", "by": "Clerk", "route": "agent", "version": 1.0, "description": "Pieces in stock", "timeout_s": 300.0} {
				if first[name] != want {
					t.Errorf("member %s of the first request = %v, want %v", name, first[name], want)
				}
			}
			if last := asked[len(asked)-1]["args"].(map[string]any); len(asked) > 1 && !strings.HasPrefix(last["token"].(string), "[redacted:") {
				t.Errorf("arguments in the last request = %v, want the token redacted", last)
			}
		})
	}
	var tools tool.Registry
	if err := tools.Register(stock(true)); err != nil {
		t.Fatal(err)
	}
	emits, _ := toolRun(t, program, manifest, &tools, func(json.RawMessage) (json.RawMessage, error) { return nil, errors.New("gone home") })
	if len(emits) != 3 || emits[1] != `stock ["denied","stock was not called: it was not approved: gone home"]` {
		t.Errorf("emits = %q, want the error of the approver", emits)
	}
}

// TestWhichToolsAreOffered checks that `app_tools` of an agent or a host and [permissions] select
// the offered tools. A tool of the program hides a tool of the application with the same name.
func TestWhichToolsAreOffered(t *testing.T) {
	var tools tool.Registry
	calc := tool.New("Calc_add", "Of the application", func(context.Context, struct{}) (string, error) { return "application", nil })
	if err := tools.Register(stock(false), calc); err != nil {
		t.Fatal(err)
	}
	emits, _ := toolRun(t, `
		tool Calc { description: "Sums", @describe("Adds") pub fn add(self) -> String { "program" } }
		agent All uses main {}
		agent Shop uses main { app_tools: ["category:shop"] }
		agent Bare uses main { app_tools: false }
		fn main() {
			for a in [All, Shop, Bare, All.without_tools()] { emit("text", a.execute("x")?.text); }
			emit("add", dispatch_tool("Calc_add", {}));
			let denied: Any = try { dispatch_tool("stock", { "sku": "a" }) } catch ToolError(e) { [e.reason, e.message] };
			emit("stock", denied);
		}`, `
[permissions]
tools = ["Calc"]
[connections.main]
provider = "scripted"
replies = [{ text = "x", repeat = true }]
`, &tools, nil)
	want := []string{`text "x"`, `text "x"`, `text "x"`, `text "x"`, `add "program"`,
		`stock ["denied","tool stock is not permitted: add \"stock\" to ` + "`tools` in [permissions]" + `"]`}
	if diff := cmp.Diff(want, emits); diff != "" {
		t.Error(diff)
	}
}

// TestToolsOfHosts checks that a host calls the application's tools by name, like the program's.
func TestToolsOfHosts(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the host is a script for sh: ", err)
	}
	var tools tool.Registry
	if err := tools.Register(stock(true)); err != nil {
		t.Fatal(err)
	}
	emits, asked := toolRun(t, `
		host Worker { connector: worker, output_format: "json" }
		host Deaf { connector: worker, output_format: "json", app_tools: ["other"] }
		fn main() {
			emit("said", Worker.execute("go")?);
			emit("said", Deaf.execute("go")?);
			for m in Worker.stream("go") { emit(m.type, m.text); }
		}`, `
[hosts.worker]
command = "sh"
args = ["-c", """
while read prompt; do
  echo '{"type":"tool_call","id":"1","tool":"stock","args":{"sku":"abc"}}'
  read answer
  case "$answer" in *'"value":3'*) said=three;; *unknown\\ tool*) said=none;; *) said="$answer";; esac
  echo '{"type":"result","text":"'$said'"}'
done"""]
`, &tools, func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`"yes"`), nil })
	if diff := cmp.Diff([]string{`said "three"`, `said "none"`, `result "three"`}, emits); diff != "" {
		t.Error(diff)
	}
	if len(asked) != 2 || asked[0]["by"] != "Worker" || asked[0]["route"] != "host" {
		t.Errorf("approval requests = %v, want one for each call of the host", asked)
	}
}

// TestHostsReceiveTools checks the list of tools that a prompt contains if the host's section sets
// send_tools. The list contains the tools of the host's declaration first, and then the tools of
// the application that the host may call.
func TestHostsReceiveTools(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the host is a script for sh: ", err)
	}
	var tools tool.Registry
	free := tool.New("free", "Of the application", func(context.Context, struct{}) (int, error) { return 1, nil })
	if err := tools.Register(stock(true), free); err != nil {
		t.Fatal(err)
	}
	emits, _ := toolRun(t, `
		use std::json;
		tool Own { description: "Own", @describe("Adds") pub fn add(self) -> Int { 1 } }
		host All { connector: worker, output_format: "json", tools: [Own] }
		host Few { connector: worker, output_format: "json", app_tools: ["category:shop"] }
		host Bare { connector: worker, output_format: "json", app_tools: false }
		fn main() {
			for h in [All, Few, Bare, All.without_tools()] {
				emit("told", json::parse(h.execute("go")?)?.tools.map(|t| t.name));
			}
		}`, `
[hosts.worker]
send_tools = true
command = "sh"
args = ["-c", """
while read -r prompt; do
  echo '{"type":"result","text":"'"$(printf %s "$prompt" | sed 's/[\\"]/\\\\&/g')"'"}'
done"""]
`, &tools, nil)
	if diff := cmp.Diff([]string{`told ["Own_add","free","stock"]`, `told ["stock"]`, `told []`, `told []`}, emits); diff != "" {
		t.Error(diff)
	}
}
