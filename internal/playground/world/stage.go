package world

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/playground/hostscript"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host"
)

// Actor plays the processes of hosts that have no script: in a page, the user.
type Actor interface {
	// Start is called when a process starts. send passes text of its output to the program.
	Start(p Line, send func(text string))
	// Receive is called for each line that the program sends.
	Receive(p Line, line string)
	// End is called when the process has ended.
	End(p Line)
}

// Line identifies a process of a host, or a line between the program and the process.
type Line struct {
	Host string `json:"host"`
	Proc int    `json:"proc"`
	// Dir is ">" to the host, "<" from it, "!" for its standard error, and "." for a change of its
	// state. Text is the line without its end, or "start" or "exit CODE".
	Dir  string `json:"dir"`
	Text string `json:"line"`
}

// stage is the transport of all hosts. Each process is played by a script or by the actor.
type stage struct {
	script func(connector string) (text string, ok bool)
	actor  Actor
	trace  func(Line)

	mu      sync.Mutex
	started map[string]int // number of processes, by host
}

// Connect starts a process.
func (s *stage) Connect(c *host.Config, around host.Surroundings) (host.Conn, error) {
	name := c.Connector + ScriptExt
	text, found := s.script(c.Connector)
	var script *hostscript.Script
	if found {
		var err error
		if script, err = hostscript.Parse(text, nil); err != nil {
			return nil, hostError(c, "cannot be played: %s: %v", name, err)
		}
	} else if s.actor == nil {
		return nil, hostError(c, "cannot be started: there is no file %s, and no user plays it", name)
	}
	s.mu.Lock()
	s.started[c.Name]++
	at := Line{Host: c.Name, Proc: s.started[c.Name]}
	s.mu.Unlock()
	p := newProcess(at, s.trace, around.Stderr, c.MaxLine)
	p.report(".", "start")
	if script != nil {
		go func() {
			code, err := script.Play(at.Proc-1, scripted{p})
			if err != nil {
				p.writeStderr(name + ": " + err.Error())
			}
			p.exit(code)
		}()
		return p, nil
	}
	p.actor = s.actor
	s.actor.Start(at, p.write)
	return p, nil
}

// process is a played process and the connection to it.
type process struct {
	at     Line
	trace  func(Line)
	stderr func([]byte)
	actor  Actor // nil if a script plays the process
	lines  *ndjson.Reader

	mu      sync.Mutex
	changed chan struct{} // closed and replaced after each change
	output  []byte        // of the host, not read by Concerto
	sent    int64         // bytes of output so far
	input   []string      // lines to the host, not read by the host
	half    string        // line to the host without its end
	partial string        // line from the host without its end
	state   state
	errors  []string // last lines of its standard error
	done    chan struct{}
	stopped chan struct{}
	code    int
}

// state contains what has ended in a process.
type state struct{ interrupted, inputEnded, exited, stopped bool }

func newProcess(at Line, trace func(Line), stderr func([]byte), longest int) *process {
	p := &process{at: at, trace: trace, stderr: stderr, changed: make(chan struct{}), done: make(chan struct{}), stopped: make(chan struct{})}
	p.lines = ndjson.NewReader((*outputReader)(p), longest)
	return p
}

// report passes a line to the panel of hosts.
func (p *process) report(dir, text string) {
	at := p.at
	at.Dir, at.Text = dir, text
	p.trace(at)
}

// signal wakes all who wait for a change. The caller holds the lock.
func (p *process) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// outputReader reads the output of a process.
type outputReader process

// Read waits for output. It returns os.ErrDeadlineExceeded while reading is interrupted.
func (r *outputReader) Read(b []byte) (int, error) {
	p := (*process)(r)
	for {
		p.mu.Lock()
		n := copy(b, p.output)
		p.output = p.output[n:]
		over, interrupted, changed := p.state.exited, p.state.interrupted, p.changed
		p.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case over:
			return 0, io.EOF
		case interrupted:
			return 0, os.ErrDeadlineExceeded
		}
		<-changed
	}
}

// scripted is a process for the script that plays it.
type scripted struct{ *process }

// ReadLine waits for the next line to the host.
func (p scripted) ReadLine() (string, error) {
	for {
		p.mu.Lock()
		if len(p.input) > 0 {
			line := p.input[0]
			p.input = p.input[1:]
			p.mu.Unlock()
			return line, nil
		}
		over, changed := p.state.inputEnded || p.state.stopped, p.changed
		p.mu.Unlock()
		if over {
			return "", io.EOF
		}
		<-changed
	}
}

// Write adds output.
func (p scripted) Write(text string) error {
	p.write(text)
	return nil
}

// WriteStderr writes a line to the standard error.
func (p scripted) WriteStderr(line string) error {
	p.writeStderr(line)
	return nil
}

// Stopped returns a channel that is closed when the host is stopped.
func (p scripted) Stopped() <-chan struct{} { return p.stopped }

// Lookup finds nothing: only the last line can be referred to.
func (p scripted) Lookup(string) (any, bool) { return nil, false }

// writeStderr writes a line to the standard error.
func (p *process) writeStderr(line string) {
	p.mu.Lock()
	p.errors = append(p.errors, line)
	p.errors = p.errors[max(0, len(p.errors)-stderrLines):]
	p.mu.Unlock()
	p.report("!", line)
	p.stderr([]byte(line))
}

// stderrLines is the number of lines of the standard error that an error contains.
const stderrLines = 20

// write adds output of the host.
func (p *process) write(text string) {
	p.mu.Lock()
	if p.state.exited {
		p.mu.Unlock()
		return
	}
	p.output, p.sent = append(p.output, text...), p.sent+int64(len(text))
	p.partial += text
	lines := strings.Split(p.partial, "\n")
	p.partial = lines[len(lines)-1]
	p.signal()
	p.mu.Unlock()
	for _, line := range lines[:len(lines)-1] {
		p.report("<", strings.TrimSuffix(line, "\r"))
	}
}

// exit ends the process with a code. Only the first call has an effect.
func (p *process) exit(code int) {
	p.mu.Lock()
	if p.state.exited {
		p.mu.Unlock()
		return
	}
	p.state.exited, p.code = true, code
	p.signal()
	p.mu.Unlock()
	p.report(".", fmt.Sprintf("exit %d", code))
	if p.actor != nil {
		p.actor.End(p.at)
	}
	close(p.done)
}

// The methods of host.Conn.

func (p *process) ReadLine() (ndjson.Line, error) { return p.lines.NextLine() }

func (p *process) Ready() bool {
	if p.lines.Ready() {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.exited && len(p.output) == 0
}

func (p *process) Interrupt() { p.set(func(s *state) { s.interrupted = true }) }

func (p *process) Resume() { p.set(func(s *state) { s.interrupted = false }) }

// set changes the state.
func (p *process) set(change func(*state)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.state)
	p.signal()
}

func (p *process) BytesSent() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// Write passes lines to the host.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	if p.state.exited || p.state.inputEnded {
		p.mu.Unlock()
		return 0, io.ErrClosedPipe
	}
	p.half += string(text)
	lines := strings.Split(p.half, "\n")
	p.half = lines[len(lines)-1]
	lines = lines[:len(lines)-1]
	if p.actor == nil {
		p.input = append(p.input, lines...)
	}
	p.signal()
	p.mu.Unlock()
	for _, line := range lines {
		p.report(">", line)
		if p.actor != nil {
			p.actor.Receive(p.at, line)
		}
	}
	return len(text), nil
}

// TryWrite writes nothing, so that the caller uses Write.
func (p *process) TryWrite([]byte) int { return 0 }

// CloseWrite ends the input. A host that the user plays exits then.
func (p *process) CloseWrite() {
	p.set(func(s *state) { s.inputEnded = true })
	if p.actor != nil {
		p.exit(0)
	}
}

func (p *process) Unread() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, line := range p.input {
		n += len(line) + 1
	}
	return n
}

func (p *process) Done() <-chan struct{} { return p.done }

func (p *process) Exit() host.Exit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return host.Exit{Code: p.code, Stderr: strings.Join(p.errors, "\n")}
}

func (p *process) Stderr() string { return p.Exit().Stderr }

// End stops the process: a script that does not exit by itself within the grace period ends as a
// process that was terminated.
func (p *process) End(grace time.Duration, stop <-chan struct{}) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	p.CloseWrite()
	select {
	case <-p.done:
		return
	case <-timer.C:
	case <-stop:
	}
	p.mu.Lock()
	first := !p.state.stopped
	p.state.stopped = true
	p.signal()
	p.mu.Unlock()
	if first {
		close(p.stopped)
	}
	p.exit(terminated)
}

// terminated is the exit code of a process that SIGTERM has ended.
const terminated = 143

// hostError returns the error of a host that cannot be started.
func hostError(c *host.Config, format string, args ...any) *effect.Error {
	return effect.Errorf("HostError", "host '%s' %s", c.Name, fmt.Sprintf(format, args...)).With("host", c.Name)
}
