package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// hosts contains the hosts of a world. They are functions of this package.
type hosts struct {
	mu  sync.Mutex
	all []*hostProcess
}

// hostProcess is a host. It reads prompts, reports progress, asks a question, requests an approval,
// and ends with a result. It is a child of a keeper.
type hostProcess struct {
	*process
	parent *process

	mu       sync.Mutex
	change   sync.Cond // input, output or the state has changed
	input    []byte    // bytes that the host has not read
	output   []byte    // bytes that the keeper has not read
	offered  int       // bytes of the output that Read may return without passing the gate
	sent     int64
	inClosed bool
	stopped  bool // reading is interrupted
	exit     procgroup.Exit
	done     chan struct{}

	received []string // lines that the host has read
	granted  []string // descriptions of approvals for which it received yes
	results  map[string]string
}

// newHost starts a host.
func (w *world) newHost(parent *process, name string) *hostProcess {
	h := &hostProcess{parent: parent, done: make(chan struct{}), results: map[string]string{}}
	h.change.L = &h.mu
	w.hosts.mu.Lock()
	w.hosts.all = append(w.hosts.all, h)
	name = fmt.Sprintf("%s#%d", name, len(w.hosts.all))
	w.hosts.mu.Unlock()
	h.process = w.start(name)
	go h.run()
	return h
}

// end ends the hosts of a process, and the process if it is a host.
func (x *hosts) end(p *process) {
	x.mu.Lock()
	all := slices.Clone(x.all)
	x.mu.Unlock()
	for _, h := range all {
		switch p {
		case h.process:
			h.die(killed)
		case h.parent:
			h.world.end(h.process)
		}
	}
}

// die ends the host, unless it is dead.
func (h *hostProcess) die(e procgroup.Exit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.done:
	default:
		h.exit = e
		close(h.done)
	}
	h.change.Broadcast()
}

// leave ends the host and its process.
func (h *hostProcess) leave(e procgroup.Exit) {
	h.die(e)
	h.world.end(h.process)
}

// killed is the exit of a process that was killed.
var killed = procgroup.Exit{Code: 137, Signal: "SIGKILL"}

// readLine returns the host's next line, and false at the end of its input.
func (h *hostProcess) readLine() (string, bool) {
	h.mu.Lock()
	for !bytes.Contains(h.input, []byte("\n")) && !h.inClosed && !h.dead.Load() {
		h.change.Wait()
	}
	line, rest, ok := bytes.Cut(h.input, []byte("\n"))
	h.input = rest
	h.mu.Unlock()
	if !ok || !h.world.gate.pass(h.process, "reads a line") {
		return "", false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.received = append(h.received, string(line))
	return string(line), true
}

// send writes a line.
func (h *hostProcess) send(format string, args ...any) bool {
	if !h.world.gate.pass(h.process, "writes a line") {
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
	defer h.leave(procgroup.Exit{})
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
			ok = h.send(`{"type":"init_ack","capabilities":["cancel"]}`)
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
	if !h.send(`{"type":"progress","message":"%s begins"}`, prompt) {
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
	h.world.mu.Lock()
	h.results[prompt] = result
	h.world.note(h.name, "has the result %q", result)
	h.world.mu.Unlock()
	return h.send(`{"type":"result","text":%q}`, result)
}

// ask sends a request and returns the answer, or "" if there is none.
func (h *hostProcess) ask(typ, prompt string) string {
	member := map[string]string{"question": "question", "approval": "description"}[typ]
	if !h.send(`{"type":%q,"id":"%s","%s":"%s %s"}`, typ, typ[:1], member, typ, prompt) {
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
			h.send(`{"type":"error","message":"cancelled"}`)
			return ""
		}
	}
}

// Read returns output of the host.
func (h *hostProcess) Read(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.offered > 0:
			n := copy(b, h.output[:h.offered])
			h.output, h.offered = h.output[n:], h.offered-n
			return n, nil
		case h.parent.dead.Load(), h.dead.Load() && len(h.output) == 0:
			return 0, io.EOF
		case len(h.output) > 0:
			h.mu.Unlock()
			h.world.gate.pass(h.parent, "reads output of "+h.name)
			h.mu.Lock()
			h.offered = len(h.output)
		case h.stopped:
			return 0, os.ErrDeadlineExceeded
		default:
			h.change.Wait()
		}
	}
}

func (h *hostProcess) InterruptRead() { h.interrupt(true) }
func (h *hostProcess) ResumeRead()    { h.interrupt(false) }

func (h *hostProcess) interrupt(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = on
	h.change.Broadcast()
}

func (h *hostProcess) Written() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sent
}

func (h *hostProcess) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inClosed || h.dead.Load() || h.parent.dead.Load() {
		return 0, io.ErrClosedPipe
	}
	h.input = append(h.input, b...)
	h.change.Broadcast()
	return len(b), nil
}

func (h *hostProcess) WriteNow(b []byte) int {
	n, _ := h.Write(b) // the next Write returns the error
	return n
}

func (h *hostProcess) CloseInput() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inClosed = true
	h.change.Broadcast()
}

func (h *hostProcess) Unread() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.input)
}

func (h *hostProcess) Pid() int                   { return h.id }
func (h *hostProcess) LendOutput() (int, error)   { return -1, errors.ErrUnsupported }
func (h *hostProcess) ReclaimOutput(int64)        {}
func (h *hostProcess) GroupDone() <-chan struct{} { return h.done }
func (h *hostProcess) Stderr() string             { return "" }

func (h *hostProcess) Exit() procgroup.Exit {
	<-h.done
	return h.exit
}

// End sends SIGTERM, which ends the host.
func (h *hostProcess) End(time.Duration, <-chan struct{}) {
	h.leave(procgroup.Exit{Code: 143, Signal: "SIGTERM"})
}

// worked checks that a value is a result of a host, or a failure that is true.
func worked(w *world, name, value string) string {
	for _, h := range w.hosts.all {
		if h.results[name] == value {
			return ""
		}
	}
	return unless(strings.HasPrefix(value, "failed") && (w.isDisturbed() || w.hasOrphaned()), "J3: no host has this result")
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
