package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/editor/lsp/lsptest"
)

// languageClient plays an editor that uses the language server.
type languageClient struct {
	*lsptest.Client
	t      *testing.T
	pushed map[string]json.RawMessage // latest diagnostics by URI
	tests  []string                   // received events of tests
	logged []string
}

func newLanguageClient(t *testing.T, to io.Writer, from io.Reader) *languageClient {
	c := &languageClient{Client: lsptest.New(to, from), t: t, pushed: map[string]json.RawMessage{}}
	c.OnMessage, c.Patience = c.handleNotification, debugWait
	return c
}

// handleNotification records the server's notifications.
func (c *languageClient) handleNotification(m *lsptest.Message) {
	c.t.Helper()
	var p struct{ URI, Name, State, Message, Diff string }
	switch m.Method {
	case "textDocument/publishDiagnostics", "concerto/testEvent", "window/logMessage":
		if err := json.Unmarshal(m.Params, &p); err != nil {
			c.t.Fatal(err)
		}
	}
	switch m.Method {
	case "textDocument/publishDiagnostics":
		c.pushed[p.URI] = m.Params
	case "concerto/testEvent":
		c.tests = append(c.tests, strings.TrimSpace(p.Name+" "+p.State+" "+p.Message+" "+p.Diff))
	case "window/logMessage":
		c.logged = append(c.logged, p.Message)
	}
}

// ask returns the result of a request.
func (c *languageClient) ask(method string, params any) string {
	c.t.Helper()
	result, err := c.Call(method, params)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(result)
}

func (c *languageClient) notify(method string, params any) {
	c.t.Helper()
	if err := c.Notify(method, params); err != nil {
		c.t.Fatal(err)
	}
}

// startLanguageServer starts the command in a directory.
func startLanguageServer(t *testing.T, dir string, pid any) (*exec.Cmd, *languageClient, io.Closer) {
	t.Helper()
	p := exec.CommandContext(t.Context(), "concerto", "lsp")
	p.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=", "XDG_CACHE_HOME=")
	p.Stderr = os.Stderr
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	c := newLanguageClient(t, in, out)
	c.ask("initialize", map[string]any{"processId": pid, "rootUri": "file://" + dir, "capabilities": struct{}{}})
	c.notify("initialized", struct{}{})
	return p, c, in
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// TestLanguageServer opens a file with errors. The server must report the same diagnostics as
// `concerto check`, and must format the file.
func TestLanguageServer(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"main.conc": "fn main() {\n    let n: Int = \"three\"\n    println(n);\n}\n"})
	p, c, _ := startLanguageServer(t, dir, nil)
	uri := "file://" + filepath.Join(dir, "main.conc")
	if _, err := c.Until(func(*lsptest.Message) bool { return c.pushed[uri] != nil }); err != nil {
		t.Fatal(err)
	}
	var diagnostics struct {
		Diagnostics []struct{ Code, Message, Source string }
	}
	if err := json.Unmarshal(c.pushed[uri], &diagnostics); err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), "concerto", "check", "--format", "json", "main.conc")
	check.Dir = dir
	out, _ := check.Output() // the command fails, because the file has errors
	var rows []struct {
		Code, Message string
		Hints         []string
	}
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatalf("decode the output %s of check: %v", out, err)
	}
	if len(rows) != len(diagnostics.Diagnostics) || len(rows) < 2 {
		t.Fatalf("check reports %v, the server reports %v", rows, diagnostics)
	}
	for i, r := range rows {
		if d := diagnostics.Diagnostics[i]; d.Code != r.Code || d.Source != "concerto" || d.Message != strings.Join(append([]string{r.Message}, r.Hints...), "\nhint: ") {
			t.Errorf("check reports %+v, the server reports %+v", r, d)
		}
	}
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "concerto", "version": 1, "text": "fn main( ) {}\n"}})
	if got, want := c.ask("textDocument/formatting", map[string]any{"textDocument": map[string]any{"uri": uri}, "options": map[string]any{"tabSize": 4, "insertSpaces": true}}),
		`[{"range":{"start":{"line":0,"character":8},"end":{"line":0,"character":9}},"newText":""}]`; got != want {
		t.Errorf("formatting returns %s", got)
	}
	if got := c.ask("shutdown", nil); got != "null" {
		t.Errorf("shutdown returns %s, want null", got)
	}
	c.notify("exit", nil)
	if code := exitCode(p.Wait()); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// TestLanguageServerCommands checks the commands of the server: it runs tests and reports their
// results, runs and builds the program, and explains codes.
func TestLanguageServerCommands(t *testing.T) {
	dir := t.TempDir()
	const text = "@test\nfn good() { assert(true); }\n\n@test\nfn bad() { assert_eq([1], [2]); }\n\n@test\nfn other() { }\n\nfn main() { println(env::args()[0]); }\n"
	writeFiles(t, dir, map[string]string{"a.conc": "fn main() { }\n"})
	p, c, _ := startLanguageServer(t, dir, nil)
	uri := "file://" + filepath.Join(dir, "a.conc")
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "concerto", "version": 1, "text": "use std::env;\n" + text}})
	execute := func(name string, argument map[string]any) string {
		return c.ask("workspace/executeCommand", map[string]any{"command": name, "arguments": []any{argument}})
	}
	execute("concerto.test", map[string]any{"uri": uri, "names": []string{"good", "bad"}, "debug": false})
	slices.Sort(c.tests)
	if got, want := strings.Join(c.tests, ", "), "bad failed assertion failed: [1] does not equal [2]\n  at [0]: 1 does not equal 2 - [1]\n+ [2]\n  at [0]: 1 does not equal 2, bad started, good passed, good started"; got != want {
		t.Errorf("test events = %q, want %q", got, want)
	}
	if got := execute("concerto.run", map[string]any{"uri": uri, "args": []string{"hello"}}); got != `{"code":0}` || !slices.Contains(c.logged, "hello") {
		t.Errorf("concerto.run returns %s and logs %q", got, c.logged)
	}
	var built struct{ Path string }
	if err := json.Unmarshal([]byte(execute("concerto.build", map[string]any{"uri": uri})), &built); err != nil || built.Path != filepath.Join(dir, "a.conc-ir") {
		t.Errorf("concerto.build returns %+v, error %v", built, err)
	}
	if _, err := os.Stat(built.Path); err != nil {
		t.Error(err)
	}
	if got := execute("concerto.explain", map[string]any{"code": "E0301"}); !strings.Contains(got, "E0301") {
		t.Errorf("concerto.explain returns %s", got)
	}
	c.ask("shutdown", nil)
	c.notify("exit", nil)
	if code := exitCode(p.Wait()); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// TestLanguageServerEnds checks that the server exits when the editor closes the connection or is
// killed.
func TestLanguageServerEnds(t *testing.T) {
	t.Run("input", func(t *testing.T) {
		p, _, in := startLanguageServer(t, t.TempDir(), nil)
		in.Close()
		if code := exitCode(p.Wait()); code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
	})
	t.Run("killed", func(t *testing.T) {
		editor := exec.CommandContext(t.Context(), "cat")
		held, err := editor.StdinPipe()
		if err == nil {
			err = editor.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		p, _, in := startLanguageServer(t, t.TempDir(), editor.Process.Pid)
		defer in.Close() // the input stays open, although the editor has exited
		held.Close()
		_ = editor.Wait()
		if code := exitCode(p.Wait()); code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
	})
}

// TestLanguageServerTCP checks that the server waits for one editor with --tcp.
func TestLanguageServerTCP(t *testing.T) {
	p := exec.CommandContext(t.Context(), "concerto", "lsp", "--tcp", "127.0.0.1:0")
	stderr, err := p.StderrPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "waiting for an editor at ")
	if err != nil || !ok {
		t.Fatalf("first line of stderr = %q (error %v), want the server's address", line, err)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := newLanguageClient(t, conn, conn)
	c.ask("initialize", map[string]any{"processId": nil, "rootUri": nil, "capabilities": struct{}{}})
	c.ask("shutdown", nil)
	c.notify("exit", nil)
	if code := exitCode(p.Wait()); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}
