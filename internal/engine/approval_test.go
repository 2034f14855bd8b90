package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// audited runs a program with an audit log. It returns the log's records of calls in a short form,
// with the caller and the decision, and the text of the log.
func audited(t *testing.T, p *engine.Program, o engine.Options) (calls []string, log string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "audit.ndjson")
	a, err := audit.Open(file, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Records.Audit = a
	err = p.Run(t.Context(), o)
	if closing := a.Close(); closing != nil {
		t.Error(closing)
	}
	text, readErr := os.ReadFile(file)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return shortened(t, string(text)), string(text), err
}

func shortened(t *testing.T, log string) (calls []string) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(log), "\n") {
		var r struct {
			Kind    string
			Actor   struct{ Type, Name string }
			Subject struct{ Tool string }
			Data    struct {
				Outcome  string
				Approval *struct {
					Decision string
					Actor    struct{ Type, Name string }
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("invalid audit record %s: %v", line, err)
		}
		switch approval := "-"; r.Kind {
		case "call":
			if a := r.Data.Approval; a != nil {
				approval = strings.TrimSpace(a.Decision + " by " + a.Actor.Type + " " + a.Actor.Name)
			}
			calls = append(calls, fmt.Sprintf("%s %s calls %s: %s", r.Actor.Type, r.Actor.Name, r.Subject.Tool, approval))
		case "done":
			calls = append(calls, fmt.Sprintf("%s %s", r.Subject.Tool, r.Data.Outcome))
		}
	}
	return calls
}

const oneOrder = `
fn main() {
	let said: Any = try { dispatch_tool("order", { "sku": "a" }) } catch ToolError(e) { [e.reason, e.message] };
	emit("said", said);
}`

func orders(change func(*tool.Definition)) *tool.Registry {
	var tools tool.Registry
	d := tool.New("order", "Orders", func(_ context.Context, in struct {
		SKU string `json:"sku"`
	}) (string, error) {
		return "ordered " + in.SKU, nil
	})
	d.RequiresApproval = true
	change(&d)
	if err := tools.Register(d); err != nil {
		panic(err)
	}
	return &tools
}

// TestWhoApproves checks that the record of a decision names who made it, or why there was no
// answer.
func TestWhoApproves(t *testing.T) {
	waits := func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	for _, c := range []struct {
		name    string
		o       engine.Options
		timeout string // on_timeout of the tool; "" means no time limit
		want    string
		printed string
	}{
		{"the command line", engine.Options{Answers: engine.Answers{Fixed: []emit.Fixed{{Channel: "tool:approval", Value: "okay!"}}}}, "", "allow by flag --answer", `"ordered a"`},
		{"the command line, in full", engine.Options{Answers: engine.Answers{Fixed: []emit.Fixed{{Channel: "tool:approval", Value: ` {"decision":"allow","input":{"sku":"b"}}`}}}}, "",
			"allow by flag --answer", `"ordered b"`},
		{"a handler", engine.Options{Answers: engine.Answers{Handler: `read line; echo '{"value":{"approved":true}}'`}}, "", "allow by application --emit-handler", `"ordered a"`},
		{"the application", engine.Options{OnAwait: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`"reject"`), nil
		}}, "",
			"deny by application", `["denied","order was not called: the application rejected it"]`},
		{"nobody", engine.Options{}, "", "deny by default", `["denied","order was not called: it was not approved: no handler for the emit on channel 'tool:approval': use --answer tool:approval=VALUE or --emit-handler COMMAND, or run in a terminal"]`},
		{"an application that is not there", engine.Options{OnAwait: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return nil, errors.New("gone home")
		}}, "",
			"deny by default", `["denied","order was not called: it was not approved: gone home"]`},
		{"nobody in time", engine.Options{OnAwait: waits}, "deny", "deny by timeout", `["denied","order was not called: there was no answer within 0.01 s"]`},
		{"nobody in time, which allows", engine.Options{OnAwait: waits}, "allow", "allow by timeout", `"ordered a"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compileTests(t, map[string]string{"main.conc": oneOrder, "Concerto.toml": ""})
			c.o.Tools = orders(func(d *tool.Definition) {
				if c.timeout != "" {
					d.ApprovalTimeout, d.OnTimeout = 10*time.Millisecond, c.timeout
				}
			})
			var output string
			c.o.Environ = os.Environ()
			c.o.OnEmit = func(channel string, payload json.RawMessage) {
				if channel == "said" {
					output = string(payload)
				}
			}
			calls, _, err := audited(t, p, c.o)
			outcome := "order ok"
			if !strings.HasPrefix(output, `"`) {
				outcome = "order denied"
			}
			if diff := cmp.Diff([]string{"program main calls order: " + c.want, outcome}, calls); diff != "" || err != nil || output != c.printed {
				t.Errorf("error = %v, output = %s, records differ (-want +got):\n%s", err, output, diff)
			}
		})
	}
}

// TestMustApprove checks `approve` in [permissions]. Every route then requires an approval. A
// session grant is valid for later calls, and their records name who granted it. If the approval of
// a tool with on_timeout `halt` times out, the agent's call fails.
func TestMustApprove(t *testing.T) {
	const program = `
		agent Clerk uses main {}
		fn main() {
			println(Clerk.execute("order")?.text);
			println(dispatch_tool("order", { "sku": "b" }));
			println(dispatch_tool("outer", {}));
			println(dispatch_tool("free", {}));
			match Clerk.execute("halt") { Ok(r) => println(r.text), Err(e) => emit("halted", e.message) }
		}`
	const manifest = `
[permissions]
approve = ["category:shop", "halting@1"]
[connections.main]
provider = "scripted"
replies = [
  { match = "order", tool_calls = [{ name = "order", args = { sku = "a" } }] }, { match = "order", text = "done" },
  { match = "halt", tool_calls = [{ name = "halting", args = {} }] },
]
`
	tools := orders(func(d *tool.Definition) { d.RequiresApproval, d.Category = false, "shop" })
	free := tool.New("free", "Is not asked about", func(context.Context, struct{}) (int, error) { return 1, nil })
	halting := tool.New("halting", "Halts", func(context.Context, struct{}) (int, error) { return 1, nil })
	halting.ApprovalTimeout, halting.OnTimeout = 10*time.Millisecond, "halt"
	outer := tool.New("outer", "Orders by another", func(context.Context, struct{}) (int, error) { return 0, nil })
	outer.Handler = func(ctx context.Context, _ json.RawMessage, c *tool.Context) (tool.Result, error) {
		return c.Call(ctx, "order", map[string]string{"sku": "c"}), nil
	}
	if err := tools.Register(free, halting, outer); err != nil {
		t.Fatal(err)
	}
	var routes []string
	halted := ""
	p := compileTests(t, map[string]string{"main.conc": program, "Concerto.toml": manifest})
	calls, _, err := audited(t, p, engine.Options{Tools: tools,
		OnEmit: func(channel string, payload json.RawMessage) {
			if channel == "halted" {
				halted = string(payload)
			}
		},
		OnAwait: func(ctx context.Context, channel string, payload json.RawMessage) (json.RawMessage, error) {
			var q struct{ Tool, Route string }
			if err := json.Unmarshal(payload, &q); err != nil {
				return nil, err
			}
			routes = append(routes, q.Tool+" "+q.Route)
			switch {
			case q.Tool == "halting":
				<-ctx.Done()
				return nil, context.Cause(ctx)
			case q.Route == "dispatch":
				return json.RawMessage(`"session"`), nil
			}
			return json.RawMessage(`true`), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"agent Clerk calls order: allow by application", "order ok",
		"program main calls order: allow by application", "order ok",
		"program main calls outer: -", "tool outer calls order: allow by session", "order ok", "outer ok",
		"program main calls free: -", "free ok",
		"agent Clerk calls halting: deny by timeout", "halting denied",
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"order agent", "order dispatch", "halting agent"}, routes); diff != "" {
		t.Error(diff)
	}
	if want := `"agent 'Clerk': halting was not called: there was no answer within 0.01 s"`; halted != want {
		t.Errorf("error of the agent's call = %s, want %s", halted, want)
	}
}

// TestApprovalCancelled cancels calls while they wait for approval. The tool must not be called,
// and the audit log must contain the cancelled calls.
func TestApprovalCancelled(t *testing.T) {
	p := compileTests(t, map[string]string{"Concerto.toml": "", "main.conc": `
		fn late() -> Any { await emit("go", 1)?; 2 }
		fn main() { for i in 0..3 { emit("got", race (dispatch_tool("order", { "sku": "a" }), late())); } }`})
	asked := make(chan bool, 1)
	var got []string
	calls, _, err := audited(t, p, engine.Options{Tools: orders(func(*tool.Definition) {}),
		OnEmit: func(channel string, payload json.RawMessage) {
			if channel == "got" {
				got = append(got, string(payload))
			}
		},
		OnAwait: func(ctx context.Context, channel string, payload json.RawMessage) (json.RawMessage, error) {
			if channel == "go" {
				<-asked
				return json.RawMessage("1"), nil
			}
			asked <- true
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}})
	if one := "program main calls order: - order cancelled "; err != nil || strings.Join(calls, " ")+" " != strings.Repeat(one, 3) || strings.Join(got, " ") != "2 2 2" {
		t.Errorf("error = %v, records = %q, emits = %q, want three cancelled calls", err, calls, got)
	}
}

// TestUnrecordedCalls checks that a call is not made if the audit log cannot be written, for tools
// of the application and of the program.
func TestUnrecordedCalls(t *testing.T) {
	p := compileTests(t, map[string]string{"Concerto.toml": "", "main.conc": `
		tool Own { description: "Own", @describe("Counts") pub fn count(self) -> Int { emit("counted", 1); 1 } }
		fn called(name: String) -> Any { try { dispatch_tool(name, { "sku": "a" }) } catch ToolError(e) { e.reason } }
		fn main() { emit("first", called("order")); emit("then", [called("order"), try { dispatch_tool("Own_count", {}) } catch ToolError(e) { e.message }]); }`})
	full := false
	log, err := audit.Open(filepath.Join(t.TempDir(), "a.ndjson"), audit.Options{Wrap: func(f audit.File) audit.File { return filling{f, &full} }})
	if err != nil {
		t.Fatal(err)
	}
	var emits []string
	tools := orders(func(d *tool.Definition) { d.RequiresApproval = false })
	if err := p.Run(t.Context(), engine.Options{Tools: tools, Records: engine.Records{Audit: log}, OnEmit: func(channel string, payload json.RawMessage) {
		if channel != "audit:tool" {
			emits = append(emits, channel+" "+string(payload))
		}
		full = full || channel == "first"
	}}); err != nil {
		t.Fatal(err)
	}
	want := []string{`first "ordered a"`, `then ["unavailable","Own.count was not called: write audit log ` + log.Path() + `: no space left on device"]`}
	if diff := cmp.Diff(want, emits); diff != "" {
		t.Error(diff)
	}
	full = false
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// filling is a file whose writes fail while full is set.
type filling struct {
	audit.File
	full *bool
}

func (f filling) Write(b []byte) (int, error) {
	if *f.full {
		return 0, errors.New("no space left on device")
	}
	return f.File.Write(b)
}
