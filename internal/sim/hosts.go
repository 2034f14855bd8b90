package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// hosts contains the hosts of a world. They are functions of this package.
type hosts struct {
	mu    sync.Mutex
	all   []*hostProcess
	talks map[string]*talk // conversations that their vendor stores, by name
}

// hostProcess is a host. It is a child of a keeper.
type hostProcess struct {
	*process
	kind   string // name of its declaration in the program
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

	seen
}

// newHost starts a host that run plays.
func (w *world) newHost(parent *process, name string, run func(*hostProcess)) *hostProcess {
	h := &hostProcess{kind: name, parent: parent, done: make(chan struct{}), seen: seen{lines: map[string]int{}, results: map[string]string{}}}
	h.change.L = &h.mu
	w.hosts.mu.Lock()
	w.hosts.all = append(w.hosts.all, h)
	name = fmt.Sprintf("%s#%d", name, len(w.hosts.all))
	w.hosts.mu.Unlock()
	h.process = w.start(name)
	go run(h)
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
var killed = procgroup.Exit{Code: 137, Signal: syscall.SIGKILL.String()}

// readLine returns the host's next line, and false at the end of its input.
func (h *hostProcess) readLine() (string, bool) {
	h.mu.Lock()
	for !bytes.Contains(h.input, []byte("\n")) && !h.inClosed && !h.dead.Load() {
		h.change.Wait()
	}
	line, rest, ok := bytes.Cut(h.input, []byte("\n"))
	h.input = rest
	h.mu.Unlock()
	return string(line), ok && h.world.gate.pass(h.process, "reads a line")
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

// Read returns output of the host.
func (h *hostProcess) Read(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.stopped && !h.dead.Load() && !h.parent.dead.Load(): // even if there is output
			return 0, os.ErrDeadlineExceeded
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
	switch {
	case h.inClosed:
		return 0, os.ErrClosed
	case h.dead.Load(), h.parent.dead.Load():
		return 0, syscall.EPIPE
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

// Unread returns -1 if the input is closed, because the number is then unknown.
func (h *hostProcess) Unread() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inClosed {
		return -1
	}
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
	h.leave(procgroup.Exit{Code: 143, Signal: syscall.SIGTERM.String()})
}
