package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/sim/simdisk"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host"
)

// hosts contains the hosts of a world. They are functions of this package.
type hosts struct {
	mu  sync.Mutex
	all []*hostProcess
}

// transport starts hosts for a process. They end with it.
type transport struct {
	w      *world
	parent *process
}

// hostProcess is a host. It reads prompts, reports progress, asks a question, requests an approval,
// and ends with a result.
type hostProcess struct {
	*process
	w      *world
	parent *process

	mu       sync.Mutex
	change   sync.Cond // input, output or the state has changed
	input    []string  // lines that the host has not read
	output   []byte    // bytes that the program has not read
	sent     int64
	inClosed bool
	stopped  bool // reading is interrupted
	exit     host.Exit
	done     chan struct{}

	received []string // lines that the host has read
	granted  []string // descriptions of approvals for which it received yes
	results  map[string]string
}

// Connect starts a host.
func (t *transport) Connect(c *host.Config, _ host.Surroundings) (host.Conn, error) {
	if t.parent.dead.Load() {
		return nil, simdisk.ErrDead
	}
	w := t.w
	w.hosts.mu.Lock()
	h := &hostProcess{w: w, parent: t.parent, done: make(chan struct{}), results: map[string]string{}}
	h.change.L = &h.mu
	w.hosts.all = append(w.hosts.all, h)
	name := fmt.Sprintf("%s#%d", c.Name, len(w.hosts.all))
	w.hosts.mu.Unlock()
	h.process = w.start(name)
	go h.run()
	return &hostConn{h, ndjson.NewReader(h, c.MaxLine)}, nil
}

// end ends the hosts of a process, and the process if it is a host.
func (x *hosts) end(p *process) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, h := range x.all {
		if h.process == p || h.parent == p {
			h.die(host.Exit{Code: 137})
		}
	}
}

// close ends all hosts.
func (x *hosts) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, h := range x.all {
		h.die(host.Exit{Code: 137})
	}
}

func (h *hostProcess) die(e host.Exit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.done:
		return
	default:
	}
	h.dead.Store(true)
	h.exit = e
	close(h.done)
	h.change.Broadcast()
}

// readLine returns the host's next line, and false at the end of its input.
func (h *hostProcess) readLine() (string, bool) {
	h.mu.Lock()
	for len(h.input) == 0 && !h.inClosed && !h.dead.Load() {
		h.change.Wait()
	}
	if len(h.input) == 0 || h.dead.Load() {
		h.mu.Unlock()
		return "", false
	}
	text := h.input[0]
	h.input = h.input[1:]
	h.change.Broadcast()
	h.mu.Unlock()
	if !h.w.gate.pass(h.process, "reads a line") {
		return "", false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.received = append(h.received, text)
	return text, true
}

// say writes a line.
func (h *hostProcess) say(format string, args ...any) bool {
	if !h.w.gate.pass(h.process, "writes a line") {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	h.output = append(append(h.output, text...), '\n')
	h.sent += int64(len(text)) + 1
	h.change.Broadcast()
	return true
}

// run plays the host.
func (h *hostProcess) run() {
	defer h.die(host.Exit{})
	for {
		text, ok := h.readLine()
		if !ok {
			return
		}
		var m struct{ Type, Text string }
		if json.Unmarshal([]byte(text), &m) != nil {
			return
		}
		switch m.Type {
		case "init":
			ok = h.say(`{"type":"init_ack","capabilities":["cancel"]}`)
		case "prompt":
			ok = h.work(m.Text)
		}
		if !ok {
			return
		}
	}
}

// work performs a prompt.
func (h *hostProcess) work(prompt string) bool {
	if !h.say(`{"type":"progress","message":"%s begins"}`, prompt) {
		return false
	}
	got := []string{h.ask("question", prompt), ""}
	if got[0] == "" {
		return false
	}
	if got[1] = h.ask("approval", prompt); got[1] == "" {
		return false
	}
	if got[1] == "yes" {
		h.mu.Lock()
		h.granted = append(h.granted, prompt)
		h.mu.Unlock()
	}
	result := fmt.Sprintf("%s by %s: %s, %s", prompt, h.name, got[0], got[1])
	h.w.mu.Lock()
	h.results[prompt] = result
	h.w.note(h.name, "has the result %q", result)
	h.w.mu.Unlock()
	return h.say(`{"type":"result","text":%q}`, result)
}

// ask sends a request and returns the answer, or "" if there is none.
func (h *hostProcess) ask(typ, prompt string) string {
	member := map[string]string{"question": "question", "approval": "description"}[typ]
	if !h.say(`{"type":%q,"id":"%s","%s":"%s %s"}`, typ, typ[:1], member, typ, prompt) {
		return ""
	}
	for {
		text, ok := h.readLine()
		if !ok {
			return ""
		}
		var m struct {
			Type  string
			Value string
		}
		if json.Unmarshal([]byte(text), &m) != nil {
			return ""
		}
		if m.Type == "response" {
			return m.Value
		}
		if m.Type == "cancel" {
			h.say(`{"type":"error","message":"cancelled"}`)
			return ""
		}
	}
}

// hostConn is the program's side of a host.
type hostConn struct {
	h     *hostProcess
	lines *ndjson.Reader
}

// Read returns output of the host.
func (h *hostProcess) Read(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.output) == 0 && !h.dead.Load() && !h.stopped {
		h.change.Wait()
	}
	n := copy(b, h.output)
	h.output = h.output[n:]
	switch {
	case n > 0:
		return n, nil
	case h.dead.Load():
		return 0, io.EOF
	}
	return 0, os.ErrDeadlineExceeded
}

func (c *hostConn) ReadLine() (ndjson.Line, error) { return c.lines.NextLine() }
func (c *hostConn) Ready() bool                    { return c.lines.Ready() }
func (c *hostConn) Interrupt()                     { c.h.interrupt(true) }
func (c *hostConn) Resume()                        { c.h.interrupt(false) }

func (h *hostProcess) interrupt(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = on
	h.change.Broadcast()
}

func (c *hostConn) BytesSent() int64 {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	return c.h.sent
}

func (c *hostConn) Write(b []byte) (int, error) {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	if c.h.inClosed || c.h.dead.Load() || c.h.parent.dead.Load() {
		return 0, io.ErrClosedPipe
	}
	for text := range strings.Lines(string(b)) {
		c.h.input = append(c.h.input, strings.TrimSpace(text))
	}
	c.h.change.Broadcast()
	return len(b), nil
}

func (c *hostConn) TryWrite([]byte) int { return 0 }

func (c *hostConn) CloseWrite() {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	c.h.inClosed = true
	c.h.change.Broadcast()
}

func (c *hostConn) Unread() int {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	n := 0
	for _, text := range c.h.input {
		n += len(text) + 1
	}
	return n
}

func (c *hostConn) Done() <-chan struct{} { return c.h.done }
func (c *hostConn) Exit() host.Exit       { return c.h.exit }
func (c *hostConn) Stderr() string        { return "" }

func (c *hostConn) End(grace time.Duration, stop <-chan struct{}) {
	c.CloseWrite()
	select {
	case <-c.h.done:
	case <-stop:
	case <-time.After(grace):
	}
	c.h.die(host.Exit{Code: 137})
}

// worked checks that a value is a result of a host, or a failure that is true.
func worked(w *world, name, value string) string {
	for _, h := range w.hosts.all {
		if h.results[name] == value {
			return ""
		}
	}
	return unless(strings.HasPrefix(value, "failed") && w.isDisturbed(), "J3: no host has this result")
}

// judge checks what the hosts have received.
func (x *hosts) judge(w *world) {
	for _, h := range x.all {
		prompts := map[string]int{}
		for _, text := range h.received {
			if prompts[text]++; prompts[text] > 1 && !strings.Contains(text, `"response"`) {
				w.fail("J6", "%s received %q twice", h.name, text)
			}
		}
		for _, name := range h.granted {
			if !w.people.granted("approval " + name) {
				w.fail("J10", "%s received a yes to %q that no person has given", h.name, name)
			}
		}
	}
}
