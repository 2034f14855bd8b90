package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-dap"
)

// debugger is an editor's side of `concerto dap`.
type debugger struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	in     io.WriteCloser
	seq    int
	came   chan map[string]any
	behind []map[string]any // events that came before an answer that was waited for
	output map[string]string
	thread int // that has stopped
	held   int // the reference of the requested scope
}

// debugWait bounds what a test waits for, which takes milliseconds where the machine has time.
const debugWait = 2 * time.Minute

// debugs starts the command, and an editor that speaks with it.
func debugs(t *testing.T, texts map[string]string) *debugger {
	t.Helper()
	dir := programs(t, texts)
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := command(dir, "dap")
	var errors bytes.Buffer
	c.Stderr = &errors
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	d := &debugger{t: t, dir: dir, cmd: c, in: in}
	d.reads(out)
	t.Cleanup(func() {
		_ = in.Close()
		_ = c.Wait()
		if errors.Len() > 0 {
			t.Errorf("it said on stderr: %s", errors.String())
		}
	})
	return d
}

// reads reads the adapter's messages.
func (d *debugger) reads(out io.Reader) {
	d.came, d.output = make(chan map[string]any, 1000), map[string]string{}
	go func() {
		defer close(d.came)
		for r := bufio.NewReader(out); ; {
			data, err := dap.ReadBaseMessage(r)
			if err != nil {
				return
			}
			var m map[string]any
			if json.Unmarshal(data, &m) != nil {
				return
			}
			d.came <- m
		}
	}()
}

// send makes a request, and returns its number.
func (d *debugger) send(command string, arguments any) int {
	d.t.Helper()
	d.seq++
	text, err := json.Marshal(map[string]any{"seq": d.seq, "type": "request", "command": command, "arguments": arguments})
	if err == nil {
		err = dap.WriteBaseMessage(d.in, text)
	}
	if err != nil {
		d.t.Fatalf("%s: %v", command, err)
	}
	return d.seq
}

// next is the next message, with what was printed kept.
func (d *debugger) next() map[string]any {
	d.t.Helper()
	select {
	case m, ok := <-d.came:
		if !ok {
			d.t.Fatalf("the adapter has ended; output: %v", d.output)
		}
		if m["event"] == "output" {
			body := m["body"].(map[string]any)
			d.output[body["category"].(string)] += body["output"].(string)
		}
		return m
	case <-time.After(debugWait):
		d.t.Fatalf("nothing came; output: %v", d.output)
		return nil
	}
}

// answered waits for the answer to a request.
func (d *debugger) answered(n int) map[string]any {
	d.t.Helper()
	is := func(m map[string]any) bool { return m["type"] == "response" && m["request_seq"] == float64(n) }
	if i := slices.IndexFunc(d.behind, is); i >= 0 { // it came before another one that was waited for
		m := d.behind[i]
		d.behind = slices.Delete(d.behind, i, i+1)
		return m
	}
	for {
		m := d.next()
		if is(m) {
			return m
		}
		d.behind = append(d.behind, m)
	}
}

// ask makes a request that succeeds, and returns the body of its answer.
func (d *debugger) ask(command string, arguments any) map[string]any {
	d.t.Helper()
	m := d.answered(d.send(command, arguments))
	if m["success"] != true {
		d.t.Fatalf("%s %v: %v", command, arguments, m["message"])
	}
	body, _ := m["body"].(map[string]any)
	return body
}

// refused makes a request that fails, and returns the error message.
func (d *debugger) refused(command string, arguments any) string {
	d.t.Helper()
	m := d.answered(d.send(command, arguments))
	if m["success"] != false {
		d.t.Fatalf("%s %v was not refused: %v", command, arguments, m)
	}
	return m["message"].(string)
}

// event waits for an event, and returns its body.
func (d *debugger) event(name string) map[string]any {
	d.t.Helper()
	for {
		var m map[string]any
		if len(d.behind) > 0 {
			m, d.behind = d.behind[0], d.behind[1:]
		} else {
			m = d.next()
		}
		if m["event"] == name {
			body, _ := m["body"].(map[string]any)
			return body
		}
		if m["event"] == "terminated" {
			d.t.Fatalf("it has terminated; %s was awaited; output: %v", name, d.output)
		}
	}
}

// launch begins main.conc, before its first line. set are further arguments.
func (d *debugger) launch(set map[string]any) {
	d.t.Helper()
	d.ask("initialize", map[string]any{"adapterID": "concerto", "linesStartAt1": true, "columnsStartAt1": true, "pathFormat": "path"})
	arguments := map[string]any{"program": filepath.Join(d.dir, "main.conc"), "cwd": d.dir}
	for k, v := range set {
		arguments[k] = v
	}
	d.ask("launch", arguments)
	d.event("initialized")
}

// begin lets the program begin.
func (d *debugger) begin() { d.ask("configurationDone", nil) }

// ends waits for the end of the program, and returns its exit code.
func (d *debugger) ends() int {
	d.t.Helper()
	code := d.event("exited")["exitCode"].(float64)
	d.event("terminated")
	return int(code)
}

// place is the line of a program that has a mark, such as `// <here>`.
func place(t *testing.T, text, mark string) int {
	t.Helper()
	before, _, ok := strings.Cut(text, "<"+mark+">")
	if !ok {
		t.Fatalf("no <%s>", mark)
	}
	return strings.Count(before, "\n") + 1
}
