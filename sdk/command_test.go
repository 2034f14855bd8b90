package sdk_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/sdk"
)

// handler returns the command that runs a function in testdata/handlers as a tool.
func handler(t *testing.T, function string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	file := filepath.Join(t.TempDir(), "concerto.py")
	if err := os.WriteFile(file, sdk.Python, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, "python3", file, "tool", function)
	c.Dir = "testdata/handlers"
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	return c
}

// TestCommand runs Python functions, including functions written for Amplifier, as the command of a
// tool. Standard output must contain only the answer.
func TestCommand(t *testing.T) {
	const call = `{"input":{"sql":"é"},"context":{"session_id":"s","cwd":"/x","environment":{},"metadata":{"user":"ada"},"call_id":"s-1","tool":"q","version":1,"by":"Clerk","route":"agent"}}`
	cases := []struct {
		function, in, out, errs string
		code                    int
	}{
		{"myapp.database:query_handler", call, `{"success":true,"output":{"sql":"é","cwd":"/x","user":"ada"},"metadata":{"rows":1}}`, "printed\nprinted by a child", 0},
		{"myapp/database.py:refuses", call, `{"success":false,"output":null,"error":"no table é"}`, "", 0},
		{"myapp.database:plain", call, `{"success":true,"output":["é",null]}`, "", 0},
		{"myapp.database:definition", call, `{"success":true,"output":["é",null]}`, "", 0},
		{"myapp.database:raises", call, `{"success":false,"output":null,"error":"no database"}`, "tool 'q' failed", 0},
		{"myapp.database:no_json", call, `{"success":false,"output":null,"error":"the handler returned a value that is not JSON: a set is not a JSON value"}`, "", 0},
		{"myapp.database:nothing", call, "", "myapp.database has no function 'nothing'; it has no_json, plain, query_handler", 2},
		{"myapp.nothing:f", call, "", "there is no module 'myapp.nothing'", 2},
		{"nothing.py:f", call, "", "there is no file nothing.py", 2},
		{"plain", call, "", "'plain' is no MODULE:FUNCTION, such as myapp.tools.database:query_handler", 2},
		{"myapp.database:plain", "", "", "nothing came on standard input", 2},
		{"myapp.database:plain", "select", "", "standard input is no JSON", 2},
	}
	for _, c := range cases {
		t.Run(c.function, func(t *testing.T) {
			t.Parallel()
			cmd := handler(t, c.function)
			var out, errs bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.in), &out, &errs
			err := cmd.Run()
			if code := exitCode(t, err); code != c.code || strings.TrimSpace(out.String()) != c.out || !strings.Contains(errs.String(), c.errs) {
				t.Errorf("exit code = %d, output:\n%s\nstandard error:\n%s", code, out.String(), errs.String())
			}
		})
	}
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// TestCommandEnded checks that a handler can clean up after SIGTERM, which Concerto sends after a
// timeout.
func TestCommandEnded(t *testing.T) {
	cmd := handler(t, "myapp.database:waits")
	cmd.Stdin = strings.NewReader(`{"input":{},"context":{}}`)
	errs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(errs)
	if !lines.Scan() || lines.Text() != "waiting" {
		t.Fatalf("first line = %q, want \"waiting\"", lines.Text())
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != "tidied up" {
		t.Errorf("line after SIGTERM = %q, want \"tidied up\"", lines.Text())
	}
	for lines.Scan() {
		t.Errorf("unexpected line %q", lines.Text())
	}
	if code := exitCode(t, cmd.Wait()); code != 143 {
		t.Errorf("exit code = %d, want 143", code)
	}
}

// TestCommandStays checks a command with `answer: lines`. The function handles several calls,
// reports progress and calls other tools.
func TestCommandStays(t *testing.T) {
	cmd := handler(t, "myapp.database:stays")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	call := func(id, n string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tool/call","params":{"call_id":"s-` + id + `","session_id":"s","name":"q","version":1,"args":{"n":` + n + `},"context":{},"by":"a","route":"agent","chain":["q"],"timeout_s":60}}`
	}
	talk := []struct{ send, expect string }{
		{call("1", "3"), `{"jsonrpc":"2.0","method":"tool/progress","params":{"call_id":"s-1","progress":1,"total":2,"message":"half"}}`},
		{"", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"other","args":{"n":3},"parent":"s-1"}}`},
		{`{"jsonrpc":"2.0","id":1,"result":{"success":true,"output":9}}`, `{"jsonrpc":"2.0","id":1,"result":{"success":true,"output":{"inner":9}}}`},
		{call("2", "4"), `{"jsonrpc":"2.0","method":"tool/progress","params":{"call_id":"s-2","progress":1,"total":2,"message":"half"}}`},
		{"", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"other","args":{"n":4},"parent":"s-2"}}`},
		{`{"jsonrpc":"2.0","id":2,"result":{"success":false,"error":"no","metadata":{"concerto":{"outcome":"denied"}}}}`,
			`{"jsonrpc":"2.0","id":2,"result":{"success":true,"output":"ToolError denied: no"}}`},
		{call("3", "5"), `{"jsonrpc":"2.0","method":"tool/progress","params":{"call_id":"s-3","progress":1,"total":2,"message":"half"}}`},
		{"", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"other","args":{"n":5},"parent":"s-3"}}`},
		{`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":3}}`, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":3}}`},
		{"", `{"jsonrpc":"2.0","id":3,"error":{"code":-32005,"message":"the request was withdrawn"}}`},
		{`{"jsonrpc":"2.0","id":4,"method":"prompt","params":{}}`, `{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"unknown method 'prompt'"}}`},
	}
	for _, x := range talk {
		if x.send != "" {
			if _, err := in.Write([]byte(x.send + "\n")); err != nil {
				t.Fatal(err)
			}
		}
		if !lines.Scan() || lines.Text() != x.expect {
			t.Fatalf("answer to %s:\n%s\nwant\n%s", x.send, lines.Text(), x.expect)
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the command failed at the end of its input: %v", err)
	}
}
