package serve_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/serve"
	"github.com/concerto-lang/concerto/internal/cli/serve/servetest"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// BenchmarkCall measures a client's call of its own tool over pipes. BenchmarkEcho exchanges the
// same four messages with a server that only reads and writes messages. bench/README.md contains
// the results.
func BenchmarkCall(b *testing.B) {
	in, w := pipe(b)
	r, out := pipe(b)
	c := serve.Config{Version: "0", Tools: newTools(), Roots: []string{b.TempDir()}, Sessions: 1, Message: 1 << 20}
	go func() { _ = serve.New(c).ServeLines(b.Context(), in, out) }()
	wire := servetest.Lines(r, w)
	exchange(b, wire, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"client":{"name":"x","version":"1"}}}`)
	exchange(b, wire, `{"jsonrpc":"2.0","id":2,"method":"tools/register","params":{"tools":[{"name":"t","description":"T"}]}}`)
	calls(b, wire)
}

func BenchmarkEcho(b *testing.B) {
	in, w := pipe(b)
	r, out := pipe(b)
	go echo(in, out)
	calls(b, servetest.Lines(r, w))
}

func pipe(b *testing.B) (*os.File, *os.File) {
	b.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

// exchange sends a message and returns the next message of the server.
func exchange(b *testing.B, w servetest.Wire, text string) []byte {
	b.Helper()
	if err := w.Send([]byte(text)); err != nil {
		b.Fatal(err)
	}
	got, err := w.Receive()
	if err != nil {
		b.Fatal(err)
	}
	return got
}

// calls makes tool calls, one after the other, and answers each call as the owner of the tool.
func calls(b *testing.B, w servetest.Wire) {
	b.Helper()
	for i := 0; b.Loop(); i++ {
		got := exchange(b, w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","args":{"sku":"a1","count":7}}}`, i+10))
		var m struct{ ID, Method string }
		if err := json.Unmarshal(got, &m); err != nil || m.Method != "tool/call" {
			b.Fatalf("got message %s, want tool/call", got)
		}
		exchange(b, w, `{"jsonrpc":"2.0","id":"`+m.ID+`","result":{"success":true,"output":{"left":7}}}`)
	}
}

// bareMessage is a message of the bare server.
type bareMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
}

// asking contains the parameters of tool/call.
type asking struct {
	CallID    string          `json:"call_id"`
	SessionID string          `json:"session_id"`
	Name      string          `json:"name"`
	Version   int             `json:"version"`
	Args      json.RawMessage `json:"args"`
	Context   struct {
		SessionID   string            `json:"session_id"`
		Cwd         string            `json:"cwd"`
		Environment map[string]string `json:"environment"`
		Metadata    map[string]any    `json:"metadata"`
		Render      []string          `json:"render"`
	} `json:"context"`
	By       string   `json:"by"`
	Route    string   `json:"route"`
	Chain    []string `json:"chain"`
	TimeoutS float64  `json:"timeout_s"`
}

// outcome is a tool's result.
type outcome struct {
	Success  bool            `json:"success"`
	Output   json.RawMessage `json:"output"`
	Error    *string         `json:"error"`
	Metadata map[string]any  `json:"metadata"`
}

// echo sends a tool/call for each request, and answers the request with the response to that call.
func echo(in io.Reader, out io.Writer) {
	r := bufio.NewReaderSize(in, 64<<10)
	var asked json.RawMessage
	ask := asking{SessionID: "c_0123456789abcdef01234567", Version: 1, By: "client:c_0123456789abcdef01234567", Route: "client", TimeoutS: 60}
	ask.Context.SessionID, ask.Context.Cwd, ask.Context.Render = ask.SessionID, "/tmp/BenchmarkEcho0123456789/001", []string{}
	ask.Context.Environment, ask.Context.Metadata = map[string]string{}, map[string]any{}
	for n := 0; ; n++ {
		text, err := r.ReadBytes('\n')
		var m struct {
			Version        string `json:"jsonrpc"`
			ID             json.RawMessage
			Method         string
			Params, Result json.RawMessage
		}
		if err != nil || json.Unmarshal(text, &m) != nil {
			return
		}
		answer := bareMessage{Version: "2.0"}
		if m.Method != "" {
			var p struct {
				Name string
				Args json.RawMessage
			}
			err = json.Unmarshal(m.Params, &p)
			asked = m.ID
			ask.Name, ask.Args, ask.Chain, ask.CallID = p.Name, p.Args, []string{p.Name}, fmt.Sprintf("%s-%d", ask.SessionID, n)
			answer.ID, answer.Method, answer.Params = json.RawMessage(fmt.Sprintf(`"r%d"`, n)), "tool/call", ask
		} else {
			var o outcome
			err = json.Unmarshal(m.Result, &o)
			o.Metadata = map[string]any{"concerto": tool.Info{CallID: ask.CallID, Outcome: tool.OutcomeOK}}
			answer.ID, answer.Result = asked, o
		}
		text, werr := json.Marshal(answer)
		if _, serr := out.Write(append(text, '\n')); err != nil || werr != nil || serr != nil {
			return
		}
	}
}

// BenchmarkIdleSessions reports the memory of 1,000 waiting sessions.
func BenchmarkIdleSessions(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		in, w := pipe(b)
		r, out := pipe(b)
		c := serve.Config{Version: "0", Tools: newTools(), Roots: []string{dir}, Sessions: 1000, Message: 1 << 20}
		go func() { _ = serve.New(c).ServeLines(b.Context(), in, out) }()
		wire := servetest.Lines(r, w)
		exchange(b, wire, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"client":{"name":"x","version":"1"}}}`)
		before := used()
		for i := range 1000 {
			exchange(b, wire, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"sessions/create","params":{"program":{"source":"use std::time; fn main() { time::sleep(86400000); }"},"subscribe":false}}`, i))
		}
		b.ReportMetric(float64(used()-before)/1e6, "MB")
		_ = w.Close()
	}
}

func used() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
