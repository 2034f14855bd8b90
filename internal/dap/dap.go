// Package dap is the debugger: it speaks the Debug Adapter Protocol with an editor, and stands
// between it and a run of the VM, which is in the same process. It starts nothing itself: a
// Command, which is `concerto run` or `concerto test`, does.
package dap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/google/go-dap"
)

// Launch is what an editor asks to be run.
type Launch struct {
	Program     string         `json:"program"` // a file, or a directory with a manifest
	Cwd         string         `json:"cwd"`
	Args        []string       `json:"args"`
	Env         map[string]any `json:"env"` // null takes a variable away
	StopOnEntry bool           `json:"stopOnEntry"`
	Mock        bool           `json:"mock"`
	Answers     map[string]any `json:"answers"` // to awaited emits, by channel
	EmitHandler string         `json:"emitHandler"`
	Test        string         `json:"test"`    // the name of the test that is run in place of main
	ShowStd     bool           `json:"showStd"` // step into the library
	NoDebug     bool           `json:"noDebug"`
	Replay      string         `json:"replay"` // a recorded run; not yet
}

// Command runs what a launch names, and gives the exit code when nothing of the run is left.
type Command func(*Launch, *Run) (code int)

// Adapter serves editors.
type Adapter struct {
	Command Command
	Dir     string // where relative paths start when the launch has no cwd
	Attach  *Run   // the run that editors attach to; nil: they launch one
}

// Serve speaks with one editor until it has disconnected or gone, and what it had run has ended.
// The error says that the editor spoke no DAP.
func (a *Adapter) Serve(in io.Reader, out io.Writer) error {
	s := newSession(a, out)
	defer close(s.gone)
	err := s.read(in)
	s.leave()
	return err
}

// conn writes messages, in the order of their numbers.
type conn struct {
	mu  sync.Mutex
	out io.Writer
	seq int
	err error // the editor is gone
}

// send numbers a message and writes it. What cannot be written is dropped: whoever reads finds
// the end of the stream.
func (c *conn) send(m dap.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	switch x := m.(type) {
	case dap.ResponseMessage:
		x.GetResponse().Seq, x.GetResponse().Type = c.seq, "response"
	case dap.EventMessage:
		x.GetEvent().Seq, x.GetEvent().Type = c.seq, "event"
	}
	if c.err == nil {
		c.err = dap.WriteProtocolMessage(c.out, m)
	}
}

// event makes the head of an event.
func event(name string) dap.Event { return dap.Event{Event: name} }

// answer makes the head of a response.
func answer(r dap.RequestMessage) dap.Response {
	q := r.GetRequest()
	return dap.Response{Command: q.Command, RequestSeq: q.Seq, Success: true}
}

// refuse answers a request with the sentence that says why it cannot be done.
func (c *conn) refuse(r dap.RequestMessage, format string, args ...any) {
	x := &dap.ErrorResponse{Response: answer(r)}
	x.Success, x.Message = false, fmt.Sprintf(format, args...)
	x.Body.Error = &dap.ErrorMessage{Id: 1, Format: x.Message, ShowUser: true}
	c.send(x)
}

// read takes requests until the editor is gone. They are read beside what is being done, so that
// the end is noticed also while something is evaluated that does not end.
func (s *session) read(in io.Reader) (err error) {
	requests, done := make(chan dap.RequestMessage), make(chan struct{})
	defer close(done)
	var failed error
	go func() {
		defer close(requests)
		failed = s.receive(in, requests, done)
		if r := s.own.Load(); r != nil && failed == nil {
			r.end()
		}
	}()
	for q := range requests {
		if !s.take(q) {
			return nil
		}
	}
	return failed
}

// receive reads requests until the stream ends.
func (s *session) receive(in io.Reader, requests chan<- dap.RequestMessage, done <-chan struct{}) error {
	r := bufio.NewReader(in)
	for {
		data, err := dap.ReadBaseMessage(r)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a message of the editor: %w", err)
		}
		m, err := dap.DecodeProtocolMessage(data)
		if err != nil {
			s.undecoded(data, err)
			continue
		}
		q, ok := m.(dap.RequestMessage)
		if !ok {
			continue
		}
		if run := s.own.Load(); run != nil && q.GetRequest().Command == "terminate" {
			run.end()
		}
		select {
		case requests <- q:
		case <-done:
			return nil
		}
	}
}
