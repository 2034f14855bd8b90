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

// debugger is the editor's side of `concerto dap`.
type debugger struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	in     io.WriteCloser
	seq    int
	came   chan map[string]any
	extra  []map[string]any // received messages that no call has consumed yet
	output map[string]string
	thread int // id of the thread that stopped last
	held   int // variables reference of the requested scope
}

// debugWait is the maximum time to wait for a message. On an idle machine messages arrive within
// milliseconds.
const debugWait = 2 * time.Minute

// startDebugger starts the command and an editor that is connected to it.
func startDebugger(t *testing.T, texts map[string]string) *debugger {
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
	d.readMessages(out)
	t.Cleanup(func() {
		_ = in.Close()
		_ = c.Wait()
		if errors.Len() > 0 {
			t.Errorf("stderr: %s", errors.String())
		}
	})
	return d
}

// readMessages reads the adapter's messages.
func (d *debugger) readMessages(out io.Reader) {
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

// send sends a request and returns its number.
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

// next returns the next message. It appends the text of output events to d.output.
func (d *debugger) next() map[string]any {
	d.t.Helper()
	select {
	case m, ok := <-d.came:
		if !ok {
			d.t.Fatalf("the adapter exited; output: %v", d.output)
		}
		if m["event"] == "output" {
			body := m["body"].(map[string]any)
			d.output[body["category"].(string)] += body["output"].(string)
		}
		return m
	case <-time.After(debugWait):
		d.t.Fatalf("no message arrived in time; output: %v", d.output)
		return nil
	}
}

// awaitResponse waits for the response to a request.
func (d *debugger) awaitResponse(n int) map[string]any {
	d.t.Helper()
	is := func(m map[string]any) bool { return m["type"] == "response" && m["request_seq"] == float64(n) }
	if i := slices.IndexFunc(d.extra, is); i >= 0 { // the response arrived while another message was awaited
		m := d.extra[i]
		d.extra = slices.Delete(d.extra, i, i+1)
		return m
	}
	for {
		m := d.next()
		if is(m) {
			return m
		}
		d.extra = append(d.extra, m)
	}
}

// ask sends a request that must succeed, and returns the body of its response.
func (d *debugger) ask(command string, arguments any) map[string]any {
	d.t.Helper()
	m := d.awaitResponse(d.send(command, arguments))
	if m["success"] != true {
		d.t.Fatalf("%s %v: %v", command, arguments, m["message"])
	}
	body, _ := m["body"].(map[string]any)
	return body
}

// refused sends a request that must fail, and returns the error message.
func (d *debugger) refused(command string, arguments any) string {
	d.t.Helper()
	m := d.awaitResponse(d.send(command, arguments))
	if m["success"] != false {
		d.t.Fatalf("%s %v was not refused: %v", command, arguments, m)
	}
	return m["message"].(string)
}

// event waits for an event and returns its body.
func (d *debugger) event(name string) map[string]any {
	d.t.Helper()
	for {
		var m map[string]any
		if len(d.extra) > 0 {
			m, d.extra = d.extra[0], d.extra[1:]
		} else {
			m = d.next()
		}
		if m["event"] == name {
			body, _ := m["body"].(map[string]any)
			return body
		}
		if m["event"] == "terminated" {
			d.t.Fatalf("the program terminated before the event %s; output: %v", name, d.output)
		}
	}
}

// launch launches main.conc, which stops before its first line. set contains additional launch
// arguments.
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

// begin sends configurationDone.
func (d *debugger) begin() { d.ask("configurationDone", nil) }

// awaitExit waits for the program's exit and returns its exit code.
func (d *debugger) awaitExit() int {
	d.t.Helper()
	code := d.event("exited")["exitCode"].(float64)
	d.event("terminated")
	return int(code)
}

// place returns the number of the line that contains a mark, such as `// <here>`, in a program's
// text.
func place(t *testing.T, text, mark string) int {
	t.Helper()
	before, _, ok := strings.Cut(text, "<"+mark+">")
	if !ok {
		t.Fatalf("the program has no mark <%s>", mark)
	}
	return strings.Count(before, "\n") + 1
}
