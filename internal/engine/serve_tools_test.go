package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/record/audit"
	_ "github.com/concerto-lang/concerto/runtime/mcp" // serves the tools
	"github.com/concerto-lang/concerto/runtime/tool"
)

// mcpClient is an MCP client of a served program.
type mcpClient struct {
	t        *testing.T
	out      io.Writer
	in       *bufio.Reader
	last     int
	progress []string // messages of the received progress notifications
	news     int      // number of received notifications about changed tools
}

// ask sends a request and returns its result.
func (c *mcpClient) ask(method string, params any) map[string]any {
	c.t.Helper()
	c.last++
	c.send(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": method, "params": params})
	for {
		if m := c.receive(); m.Method == "" && m.Error != nil {
			c.t.Fatalf("request %s failed: %v", method, m.Error)
		} else if m.Method == "" {
			return m.Result
		}
	}
}

// serverMessage is a message from the server.
type serverMessage struct {
	Method string
	Params struct{ Message string }
	Result map[string]any
	Error  any
}

// receive reads the next message.
func (c *mcpClient) receive() (m serverMessage) {
	c.t.Helper()
	line, err := c.in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &m)
	}
	if err != nil {
		c.t.Fatalf("invalid message %q: %v", line, err)
	}
	switch m.Method {
	case "notifications/tools/list_changed":
		c.news++
	case "notifications/progress":
		c.progress = append(c.progress, m.Params.Message)
	}
	return m
}

func (c *mcpClient) send(m any) {
	text, err := json.Marshal(m)
	if err == nil {
		_, err = c.out.Write(append(text, '\n'))
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// call calls a tool. It returns the text of the result, or "!" and the text of the error.
func (c *mcpClient) call(name string, args any) string {
	c.t.Helper()
	r := c.ask("tools/call", map[string]any{"name": name, "arguments": args, "_meta": map[string]any{"progressToken": name}})
	text := r["content"].([]any)[0].(map[string]any)["text"].(string)
	if r["isError"] == true {
		return "!" + text
	}
	return text
}

// served serves a program to a client. end disconnects the client and returns the error of Serve.
func served(t *testing.T, p *engine.Program, o engine.Options) (c *mcpClient, withheld *[]string, end func() error) {
	in, out := io.Pipe()
	back, answers := io.Pipe()
	withheld = new([]string)
	done := make(chan error, 1)
	go func() {
		done <- p.Serve(context.Background(), o, engine.ServeOptions{In: in, Out: answers, Withheld: func(why string) { *withheld = append(*withheld, why) }})
		_ = answers.Close()
	}()
	c = &mcpClient{t: t, out: out, in: bufio.NewReader(back)}
	c.ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "inspector", "version": "1"}})
	c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return c, withheld, func() error {
		_ = out.Close()
		go func() { _, _ = io.Copy(io.Discard, back) }()
		return <-done
	}
}

// TestServeToolsThatChange changes the application's tools while they are served. The client must
// receive a notification, and can then list and call the current tools.
func TestServeToolsThatChange(t *testing.T) {
	p := compileTests(t, map[string]string{"Concerto.toml": "", "main.conc": "fn main() {}"})
	var tools tool.Registry
	toolReturning := func(description, what string) tool.Definition {
		return tool.New("x", description, func(context.Context, struct{}) (string, error) { return what, nil })
	}
	if err := tools.Register(toolReturning("First", "1")); err != nil {
		t.Fatal(err)
	}
	c, withheld, end := served(t, p, engine.Options{Tools: &tools})
	list := func() (names string) {
		for _, x := range c.ask("tools/list", nil)["tools"].([]any) {
			o := x.(map[string]any)
			names += o["name"].(string) + ": " + o["description"].(string) + "; "
		}
		return names
	}
	await := func(want string) { // without a notification, this loop would block forever
		for got := list(); got != want; got = list() {
			for before := c.news; before == c.news; {
				c.receive()
			}
		}
	}
	if got := list(); got != "x: First; " {
		t.Errorf("offered tools = %q, want x", got)
	}
	second := toolReturning("Second", "2")
	second.Version = 2
	y := toolReturning("Other", "3")
	y.Name = "y"
	if err := tools.Register(second, y, stock(true)); err != nil {
		t.Fatal(err)
	}
	await("x__1: First; x__2: Second; y: Other; ")
	if got := c.call("x__2", map[string]any{}) + c.call("y", map[string]any{}); got != "23" {
		t.Error(got)
	}
	tools.Unregister("x@1")
	await("x: Second; y: Other; ")
	if got := c.call("x", map[string]any{}); got != "2" {
		t.Error(got)
	}
	tools.Unregister("y")
	await("x: Second; ")
	if err := tools.Replace(toolReturning("Newest", "4")); err != nil {
		t.Fatal(err)
	}
	await("x__1: Newest; x__2: Second; ")
	for c.news == 0 {
		c.receive()
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if len(*withheld) != 1 {
		t.Errorf("log lines about withheld tools = %q, want one", *withheld)
	}
}

// TestServeTools checks which of the application's tools are served next to the program's tools. A
// tool of the program hides an application's tool with the same name. Tools that need approval are
// served only if the application answers approvals. The audit log must contain every call with the
// client's name.
func TestServeTools(t *testing.T) {
	p := compileTests(t, map[string]string{"Concerto.toml": "", "main.conc": `
		pub tool Sums { description: "Sums",
			@describe("Adds") pub fn add(self, @param("a") a: Int) -> Int { if a < 0 { throw ToolError::new("too small"); } a + 1 } }
		fn main() {}`})
	var tools tool.Registry
	clashing := tool.New("Sums_add", "Is hidden", func(context.Context, struct{}) (int, error) { return 0, nil })
	slow := tool.Definition{Name: "count", Description: "Counts", Handler: func(_ context.Context, input json.RawMessage, c *tool.Context) (tool.Result, error) {
		c.Progress(1, 2, "one")
		return tool.Result{Success: true, Output: input}, nil
	}}
	if err := tools.Register(stock(true), clashing, slow); err != nil {
		t.Fatal(err)
	}
	list := func(c *mcpClient) (names string) {
		for _, x := range c.ask("tools/list", nil)["tools"].([]any) {
			names += x.(map[string]any)["name"].(string) + " "
		}
		return names
	}

	c, withheld, end := served(t, p, engine.Options{Tools: &tools})
	if got := list(c); got != "Sums_add count " {
		t.Errorf("offered tools without an approver = %q, want Sums_add and count", got)
	}
	if got := strings.Join(*withheld, "\n"); got != "tool stock is not offered: its calls need approval, and no approver is available: use --answer tool:approval=VALUE or --emit-handler COMMAND" {
		t.Error(got)
	}
	if err := end(); err != nil {
		t.Error(err)
	}

	file := t.TempDir() + "/a.ndjson"
	log, err := audit.Open(file, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, _, end = served(t, p, engine.Options{Tools: &tools, Records: engine.Records{Audit: log}, OnAwait: func(_ context.Context, _ string, q json.RawMessage) (json.RawMessage, error) {
		if !strings.Contains(string(q), `"by":"inspector"`) || !strings.Contains(string(q), `"route":"mcp"`) {
			t.Errorf("approval request = %s, want the client's name and the route mcp", q)
		}
		if strings.Contains(string(q), `"sku":"no"`) {
			return json.RawMessage(`"not on Sundays"`), nil
		}
		return json.RawMessage(`{"decision":"allow","input":{"sku":"abc"}}`), nil
	}})
	if got := list(c); got != "Sums_add count stock " {
		t.Errorf("offered tools with an approver = %q, want Sums_add, count and stock", got)
	}
	var got []string
	got = append(got, c.call("Sums_add", map[string]any{"a": 1}), c.call("Sums_add", map[string]any{"a": -1}), c.call("Sums_add", map[string]any{"a": "x"}),
		c.call("count", map[string]any{"to": 7}), c.call("stock", map[string]any{"sku": "a"}), c.call("stock", map[string]any{"sku": "no"}), c.call("stock", map[string]any{}))
	if diff := cmp.Diff([]string{"2", "!too small", "!bad arguments for Sums_add: a: expected Int, got \"x\"", `{"to":7}`, "3\n(called with changed arguments: {\"sku\":\"abc\"})",
		"!stock was not called: not on Sundays", "!bad arguments for stock: sku: missing"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"one"}, c.progress); diff != "" {
		t.Error(diff)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"mcp inspector calls Sums_add: -", "Sums_add ok", "mcp inspector calls Sums_add: -", "Sums_add failed", "mcp inspector calls Sums_add: -", "Sums_add arguments",
		"mcp inspector calls count: -", "count ok", "mcp inspector calls stock: allow by application", "stock ok", "mcp inspector calls stock: deny by application", "stock denied",
		"mcp inspector calls stock: -", "stock arguments"}, shortened(t, string(text))); diff != "" {
		t.Error(diff)
	}
}
