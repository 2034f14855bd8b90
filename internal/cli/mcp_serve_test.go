package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/vm"
)

const servedTool = `
pub tool Greeter {
    description: "Greets",
    count: Int = 0,

    @describe("Greets")
    fn greet(mut self, @param("whom") name: String) -> String {
        self.count += 1;
        println("greeting", name);
        emit("greeting", name);
        "hello ${name}, the ${self.count}."
    }
}

fn main() {}`

// serveIn runs `mcp serve` in dir. It returns a reader of the command's stderr and a channel that
// receives its error.
func serveIn(ctx context.Context, t *testing.T, dir string, stdin io.Reader, flags ...string) (*bufio.Reader, <-chan error) {
	t.Helper()
	errs, log := io.Pipe()
	done := make(chan error, 1)
	a := &console.Console{Stdin: stdin, Stdout: io.Discard, Stderr: log, Dir: dir, LogLevel: "info"}
	go func() {
		done <- execute(ctx, a, append([]string{"mcp", "serve", "tools.conc"}, flags...)...)
		_ = log.Close()
	}()
	t.Cleanup(func() { _ = errs.Close() })
	return bufio.NewReader(errs), done
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestServeHTTP serves a program over HTTP and calls its tools from another program. An interrupt
// then stops the server.
func TestServeHTTP(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"tools.conc": servedTool})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	log, done := serveIn(ctx, t, dir, strings.NewReader(""), "--http", "127.0.0.1:0")
	line, err := log.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if err != nil || !ok {
		t.Fatalf("first line of the log = %q (error %v), want the server's address", line, err)
	}
	logged := make(chan string, 1)
	go func() {
		rest, _ := io.ReadAll(log)
		logged <- string(rest)
	}()
	writeFiles(t, dir, map[string]string{
		"Concerto.toml": "[mcp.G]\nurl = \"" + url + "\"\n",
		"client.conc":   "mcp G { .. }\nfn main() { println(G.Greeter_greet(name: \"Ada\"), G.Greeter_greet(name: \"Bo\")); }\n",
	})
	var out, errs bytes.Buffer
	if code := run([]string{"run", "client.conc"}, &console.Console{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: dir}); code != 0 {
		t.Fatalf("the client program exited with code %d: %s", code, errs.String())
	}
	if got, want := out.String(), "hello Ada, the 1. hello Bo, the 2.\n"; got != want {
		t.Errorf("the client program printed %q, want %q", got, want)
	}
	for _, name := range []string{"Ada", "Bo"} {
		if line := "[mcp:progress] G.Greeter_greet: 1 [greeting] " + name + "\n"; !strings.Contains(errs.String(), line) {
			t.Errorf("stderr is %q, want a line %q", errs.String(), line)
		}
	}
	cancel(console.ErrInterrupted)
	if err := <-done; !errors.Is(err, console.ErrInterrupted) {
		t.Errorf("the server returned %v, want console.ErrInterrupted", err)
	}
	if got, want := <-logged, "greeting Ada\n[greeting] Ada\ngreeting Bo\n[greeting] Bo\n"; got != want {
		t.Errorf("the server logged %q, want %q", got, want)
	}
}

// TestServeInterrupted checks that an interrupt stops a server whose client sends nothing.
func TestServeInterrupted(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"tools.conc": servedTool})
	stdin, client := io.Pipe()
	defer client.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	_, done := serveIn(ctx, t, dir, stdin)
	if _, err := client.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")); err != nil { // it listens
		t.Fatal(err)
	}
	cancel(console.ErrInterrupted)
	if err := <-done; !errors.Is(err, console.ErrInterrupted) {
		t.Errorf("the server returned %v, want console.ErrInterrupted", err)
	}
}

const heldTool = `
use std::time;

pub tool Work {
    description: "Works",

    @sequential
    @describe("Takes for ever")
    fn hold(self) {
        println("begun");
        time::sleep(600000);
    }

    @describe("Breaks")
    fn fall(self) { panic("broken"); }
}

fn main() {}`

// TestServeEndsCalls checks that the server cancels its running and waiting calls when it is
// interrupted, when its client disconnects, and when a call panics.
func TestServeEndsCalls(t *testing.T) {
	for name, end := range map[string]func(cancel context.CancelCauseFunc, client *io.PipeWriter){
		"interrupted": func(cancel context.CancelCauseFunc, _ *io.PipeWriter) { cancel(console.ErrInterrupted) },
		"left":        func(_ context.CancelCauseFunc, client *io.PipeWriter) { _ = client.Close() },
		"panicked": func(_ context.CancelCauseFunc, client *io.PipeWriter) {
			_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"Work_fall","arguments":{}}}`+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{"tools.conc": heldTool})
			stdin, client := io.Pipe()
			defer client.Close()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			log, done := serveIn(ctx, t, dir, stdin)
			for _, line := range []string{
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
				`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"Work_hold","arguments":{}}}`,
				`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"Work_hold","arguments":{}}}`,
			} {
				if _, err := io.WriteString(client, line+"\n"); err != nil {
					t.Fatal(err)
				}
			}
			if line, err := log.ReadString('\n'); line != "begun\n" {
				t.Fatalf("log line = %q (error %v), want begun", line, err)
			}
			rest := make(chan string, 1)
			go func() {
				text, _ := io.ReadAll(log)
				rest <- string(text)
			}()
			end(cancel, client)
			err := <-done
			var failed *vm.Uncaught
			switch {
			case name == "interrupted" && errors.Is(err, console.ErrInterrupted), name == "left" && err == nil,
				name == "panicked" && errors.As(err, &failed) && failed.Panic:
			default:
				t.Errorf("unexpected result of the server: %v", err)
			}
			if text := <-rest; text != "" {
				t.Errorf("the waiting call also began; log: %q", text)
			}
		})
	}
}
