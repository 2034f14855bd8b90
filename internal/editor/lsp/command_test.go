package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/editor/lsp/lsptest"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

const runnable = `@test
fn good() { }

@test
fn bad() { }

fn used() { }

fn main() { used(); }
`

// runWithCommand runs a test with a server that uses run to execute commands.
func runWithCommand(t *testing.T, run func(ctx context.Context, child *Child) (int, error), play func(e *editor, uri protocol.DocumentURI, dir string)) {
	t.Helper()
	dir := t.TempDir()
	runInBubble(t, Options{Command: run}, func(e *editor) {
		e.start(dir, map[string]any{"window": map[string]any{"workDoneProgress": true}, "workspace": map[string]any{"codeLens": map[string]any{"refreshSupport": true}}})
		uri := fileURI(filepath.Join(dir, "a.conc"))
		e.open(uri, runnable)
		play(e, uri, dir)
	})
}

func (e *editor) execute(command string, argument any) *lsptest.Message {
	return e.request(protocol.MethodWorkspaceExecuteCommand, map[string]any{"command": command, "arguments": []any{argument}}, nil)
}

// paramsOf returns the encoded parameters of the received messages with a method.
func (e *editor) paramsOf(method string) (all []string) {
	e.drain()
	for _, m := range e.received {
		if m.Method == method {
			all = append(all, string(m.Params))
		}
	}
	return all
}

// lensTitles returns the titles of the code lenses with their lines.
func (e *editor) lensTitles(uri protocol.DocumentURI) string {
	var all []protocol.CodeLens
	e.request(protocol.MethodTextDocumentCodeLens, map[string]any{"textDocument": map[string]any{"uri": uri}}, &all)
	var out []string
	for _, l := range all {
		out = append(out, fmt.Sprintf("%d %s", l.Range.Start.Line, l.Command.Title))
	}
	return strings.Join(out, ", ")
}

// writeLines writes lines to the stdout of a command, as `concerto test` does.
func writeLines(child *Child, lines ...string) {
	for _, l := range lines {
		fmt.Fprintln(child.Stdout, l)
	}
}

func testChild(_ context.Context, child *Child) (int, error) {
	if strings.Contains(strings.Join(child.Args, " "), "--list") {
		writeLines(child, `[{"name":"good","file":"a.conc","line":2,"function":"good"},{"name":"really bad","file":"a.conc","line":5,"function":"bad"},{"name":"good","file":"b.conc","line":5,"function":"good"}]`)
		return 0, nil
	}
	writeLines(child, `{"name":"good","function":"good","file":"a.conc","line":2,"status":"started"}`,
		`{"name":"good","function":"good","file":"a.conc","line":2,"status":"passed","duration_ms":1.5}`,
		`{"name":"good","function":"good","file":"b.conc","line":2,"status":"started"}`,
		`{"name":"really bad","function":"bad","file":"a.conc","line":5,"status":"started"}`,
		`{"name":"really bad","function":"bad","file":"a.conc","line":5,"status":"failed","duration_ms":2,"failure":{"message":"no\nnever","diff":"- 1\n+ 2","place":{"file":"a.conc","line":5,"column":4}}}`)
	return 1, nil
}

// TestTestCommand runs the test command. The server reports the start and end of each test, and the
// tests have code lenses.
func TestTestCommand(t *testing.T) {
	runWithCommand(t, testChild, func(e *editor, uri protocol.DocumentURI, dir string) {
		if got, want := e.lensTitles(uri), "1 Run test, 1 Debug test, 4 Run test, 4 Debug test, 6 1 reference, 8 Run, 8 Debug"; got != want {
			t.Errorf("lenses = %s, want %s", got, want)
		}
		m := e.execute(commandTest, map[string]any{"uri": uri})
		ran := string(m.ID)
		if m.Error != nil || string(m.Result) != "null" {
			t.Errorf("test command: result %s, error %v", m.Result, m.Error)
		}
		at := `"location":{"uri":"` + string(uri) + `","range":{"start":{"line":4,"character":3},"end":{"line":4,"character":3}}}`
		want := `{"run":"N","name":"good","state":"started"}
{"run":"N","name":"good","state":"passed","ms":1.5}
{"run":"N","name":"bad","state":"started"}
{"run":"N","name":"bad","state":"failed","ms":2,"message":"no\nnever","diff":"- 1\n+ 2",` + at + `}`
		if got := strings.ReplaceAll(strings.Join(e.paramsOf(methodTestEvent), "\n"), strconv.Quote(ran), `"N"`); got != want {
			t.Errorf("test events:\n%s\nwant\n%s", got, want)
		}
		if e.countReceived(protocol.MethodWorkspaceCodeLensRefresh) != 1 {
			t.Error("the server requested no refresh of the lenses")
		}
		if got := e.lensTitles(uri); !strings.HasPrefix(got, "1 Run test, 1 passed in 1.5 ms, 1 Debug test, 4 Run test, 4 failed: no, 4 Debug test") {
			t.Errorf("lenses after the tests = %s", got)
		}
		m = e.execute(commandTest, map[string]any{"uri": uri, "names": []string{"bad"}, "debug": true})
		if got, want := string(m.Result), `[{"type":"concerto","request":"launch","name":"Debug bad","program":"`+filepath.Join(dir, "a.conc")+`","test":"bad"}]`; got != want {
			t.Errorf("result with debug = %s", got)
		}
		e.expectError(e.execute(commandTest, map[string]any{"uri": uri, "names": []string{"none"}}), codeRequestFailed)
		e.expectError(e.execute(commandTest, map[string]any{"uri": "untitled:x"}), codeRequestFailed)
		e.expectError(e.execute(commandTest, map[string]any{"names": []string{}}), codeInvalidParams)
		e.expectError(e.execute("concerto.none", nil), codeInvalidParams)
	})
}

// TestEvalCommand runs the eval command for one eval, as its code lens does, and for all evals of a
// program. The server reports the output and returns the exit code.
func TestEvalCommand(t *testing.T) {
	var ran []string
	runWithCommand(t, func(_ context.Context, child *Child) (int, error) {
		ran = append(ran, strings.Join(child.Args, " "))
		writeLines(child, "correct  0.9")
		return 3, nil
	}, func(e *editor, _ protocol.DocumentURI, dir string) {
		path := filepath.Join(dir, "evals.conc")
		uri := fileURI(path)
		e.open(uri, "schema Row { n: Int }\n\n@eval(data: \"rows.jsonl\", name: \"odd (1)\")\nfn odd(r: Row) -> Bool { r.n == 1 }\n")
		if got, want := e.lensTitles(uri), "0 1 reference, 3 Run eval"; got != want {
			t.Errorf("lenses = %s, want %s", got, want)
		}
		for _, argument := range []any{evalParams{URI: uri, Name: "odd (1)"}, evalParams{URI: uri}} {
			if m := e.execute(commandEval, argument); m.Error != nil || string(m.Result) != `{"code":3}` {
				t.Errorf("eval command: result %s, error %v", m.Result, m.Error)
			}
		}
		if got, want := strings.Join(ran, "\n"), "eval "+path+` --filter ^odd \(1\)$`+"\neval "+path; got != want {
			t.Errorf("commands:\n%s\nwant\n%s", got, want)
		}
		if got := strings.Join(e.paramsOf(protocol.MethodWindowLogMessage), "\n"); strings.Count(got, "correct  0.9") != 2 {
			t.Errorf("messages = %s", got)
		}
		e.expectError(e.execute(commandEval, evalParams{URI: "untitled:x"}), codeRequestFailed)
	})
}

// TestTestCancelled cancels the test command. The command stops, and the server reports unfinished
// tests as skipped.
func TestTestCancelled(t *testing.T) {
	for _, by := range []string{protocol.MethodCancelRequest, methodProgressCancel} {
		runWithCommand(t, func(ctx context.Context, child *Child) (int, error) {
			if len(child.Args) > 1 && child.Args[1] == "--list" {
				return testChild(ctx, child)
			}
			writeLines(child, `{"name":"good","function":"good","file":"a.conc","line":2,"status":"started"}`)
			<-ctx.Done()
			return 0, ctx.Err()
		}, func(e *editor, uri protocol.DocumentURI, _ string) {
			id := e.startRequest(protocol.MethodWorkspaceExecuteCommand, map[string]any{"command": commandTest, "arguments": []any{map[string]any{"uri": uri}}})
			e.drain()
			e.notify(by, map[string]any{"id": json.RawMessage(id), "token": "concerto-command-" + string(id)})
			e.expectError(e.await(id), codeCancelled)
			if got := strings.Join(e.paramsOf(methodTestEvent), " "); strings.Count(got, "skipped") != 2 {
				t.Errorf("test events after cancellation by %s = %s", by, got)
			}
		})
	}
}

// TestRunCommand runs a program. The command receives the unsaved texts, and the server reports its
// output line by line.
func TestRunCommand(t *testing.T) {
	var children []*Child
	runWithCommand(t, func(_ context.Context, child *Child) (int, error) {
		children = append(children, child)
		fmt.Fprint(child.Stdout, "one\ntw")
		fmt.Fprint(child.Stdout, "o\nlast")
		fmt.Fprint(child.Stderr, "a log\n")
		return 3, nil
	}, func(e *editor, uri protocol.DocumentURI, dir string) {
		m := e.execute(commandRun, map[string]any{"uri": uri, "args": []string{"x"}})
		if string(m.Result) != `{"code":3}` {
			t.Errorf("run command: result %s, error %v", m.Result, m.Error)
		}
		var outputs []string
		for _, text := range e.paramsOf(protocol.MethodWindowLogMessage) {
			var p protocol.LogMessageParams
			_ = json.Unmarshal([]byte(text), &p)
			outputs = append(outputs, fmt.Sprint(p.Type, " ", p.Message))
		}
		if got := strings.Join(outputs, ", "); got != "3 one, 3 two, 4 a log, 3 last" {
			t.Errorf("reported output = %s", got)
		}
		path := filepath.Join(dir, "a.conc")
		if c := children[0]; strings.Join(c.Args, " ") != "run "+path+" -- x" || c.Dir != dir || c.Texts[path] != runnable {
			t.Errorf("command line = %+v", c)
		}
		if got := e.countReceived(protocol.MethodWindowWorkDoneProgressCreate); got != 1 {
			t.Errorf("number of progress tokens = %d", got)
		}
		m = e.execute(commandRun, map[string]any{"uri": uri, "debug": true})
		if got, want := string(m.Result), `[{"type":"concerto","request":"launch","name":"Debug a.conc","program":"`+path+`"}]`; got != want {
			t.Errorf("result with debug = %s", got)
		}
		e.expectError(e.execute(commandBuild, map[string]any{"uri": uri}), codeRequestFailed)
		if m := e.execute(commandRun, nil); m.Error != nil { // the document is optional, because the workspace has only one program
			t.Errorf("run without a document: %v", m.Error)
		}
	})
}

func TestOtherCommands(t *testing.T) {
	runWithCommand(t, func(context.Context, *Child) (int, error) { return 0, nil }, func(e *editor, uri protocol.DocumentURI, dir string) {
		m := e.execute(commandBuild, map[string]any{"uri": uri})
		if want := filepath.Join(dir, "a.conc-ir"); string(m.Result) != `{"path":"`+want+`","uri":"`+string(fileURI(want))+`"}` {
			t.Errorf("build: result %s, error %v", m.Result, m.Error)
		}
		time.Sleep(maxWait)
		e.published(uri)
		if m := e.execute(commandRestart, nil); m.Error != nil || string(m.Result) != "null" {
			t.Errorf("restart: result %s, error %v", m.Result, m.Error)
		}
		time.Sleep(maxWait)
		if len(e.published(uri)) != 1 {
			t.Error("restart did not check the programs again")
		}
		m = e.execute(commandGraph, map[string]any{"uri": uri})
		if got := string(m.Result); !strings.Contains(got, `"nodes":[{"id":"function:main","kind":"function","name":"main"`) || !strings.Contains(got, `"edges":[]`) {
			t.Errorf("graph = %s, error %v", got, m.Error)
		}
	})
}

// TestLensSettings turns off kinds of lenses by settings.
func TestLensSettings(t *testing.T) {
	runWithCommand(t, testChild, func(e *editor, uri protocol.DocumentURI, _ string) {
		for _, c := range []struct{ off, want string }{
			{"run", "1 Run test, 1 Debug test, 4 Run test, 4 Debug test, 6 1 reference"},
			{"tests", "6 1 reference"},
			{"references", ""},
		} {
			e.notify(protocol.MethodWorkspaceDidChangeConfiguration, map[string]any{"settings": map[string]any{"concerto": map[string]any{"codeLens": map[string]any{c.off: false}}}})
			if got := e.lensTitles(uri); got != c.want {
				t.Errorf("lenses with %s off = %s", c.off, got)
			}
		}
		if n := e.countReceived(protocol.MethodWorkspaceCodeLensRefresh); n != 3 {
			t.Errorf("number of refresh requests = %d", n)
		}
	})
}
