// Package dap is the debugger: it connects an editor, which speaks the Debug Adapter Protocol, to a
// run of the VM in the same process. It does not start the run: a Command does, which is `concerto
// run` or `concerto test`.
package dap

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/editor/lsp/frame"
)

// Launch is what an editor asks to be run.
type Launch struct {
	Program     string                     `json:"program"` // a file, or a directory with a manifest
	Cwd         string                     `json:"cwd"`
	Args        []string                   `json:"args"`
	Env         map[string]any             `json:"env"` // null removes a variable
	StopOnEntry bool                       `json:"stopOnEntry"`
	Mock        bool                       `json:"mock"`
	Answers     map[string]json.RawMessage `json:"answers"` // to awaited emits, by channel
	EmitHandler string                     `json:"emitHandler"`
	Test        string                     `json:"test"`    // the name of the test that is run in place of main
	ShowStd     bool                       `json:"showStd"` // step into the library
	NoDebug     bool                       `json:"noDebug"`
	Replay      string                     `json:"replay"` // a recorded run; not supported yet
}

// Command runs what a launch names, and returns the exit code when nothing of the run is left.
type Command func(*Launch, *Run) (code int)

// Adapter serves editors.
type Adapter struct {
	Command Command
	Dir     string           // where relative paths start when the launch has no cwd
	Attach  *Run             // the run that editors attach to; nil: they launch one
	Now     func() time.Time // what limits of evaluations go by; nil: the system's clock
}

// Serve serves one editor until it has disconnected and its run has ended. An editor that does not
// read cannot block Serve. The error reports invalid messages.
func (a *Adapter) Serve(in io.Reader, out io.Writer) error {
	s := newSession(a, out)
	defer close(s.done)
	err := s.read(in)
	s.stopRun()
	s.out.Close()
	return err
}

// conn writes messages, in the order of their numbers.
type conn struct {
	mu  sync.Mutex
	out *frame.Writer // nil: there is no editor
	seq int
}

// send numbers a message and queues it. It never blocks.
func (c *conn) send(m dap.Message) {
	if c.out == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	switch x := m.(type) {
	case dap.ResponseMessage:
		x.GetResponse().Seq, x.GetResponse().Type = c.seq, "response"
	case dap.EventMessage:
		x.GetEvent().Seq, x.GetEvent().Type = c.seq, "event"
	}
	body, err := json.Marshal(m)
	if err != nil {
		panic(err) // the types of the protocol hold nothing that JSON cannot
	}
	c.out.Write(body)
}

// flush waits until the editor has been sent everything, where the process may end next.
func (c *conn) flush() {
	if c.out != nil {
		c.out.Flush()
	}
}

// newEvent makes the head of an event.
func newEvent(name string) dap.Event { return dap.Event{Event: name} }

// newResponse makes the head of a response.
func newResponse(r dap.RequestMessage) dap.Response {
	q := r.GetRequest()
	return dap.Response{Command: q.Command, RequestSeq: q.Seq, Success: true}
}

// replyError answers a request with an error message.
func (c *conn) replyError(r dap.RequestMessage, format string, args ...any) {
	x := &dap.ErrorResponse{Response: newResponse(r)}
	x.Success, x.Message = false, fmt.Sprintf(format, args...)
	x.Body.Error = &dap.ErrorMessage{Id: 1, Format: x.Message, ShowUser: true}
	c.send(x)
}

// read handles requests until the editor disconnects. A goroutine of its own reads them, so that a
// request can cancel an evaluation.
func (s *session) read(in io.Reader) (err error) {
	done := make(chan struct{})
	defer close(done)
	go func() {
		err := s.receive(in, done)
		s.end()
		s.requests.close(err)
	}()
	for q := s.requests.next(); q != nil; q = s.requests.next() {
		s.ctx = q.ctx
		if !s.handleSafely(q.RequestMessage) {
			return nil
		}
	}
	return s.requests.failed
}

// receive reads requests until the stream ends.
func (s *session) receive(in io.Reader, done <-chan struct{}) error {
	r := bufio.NewReader(in)
	for {
		data, err := frame.Read(r)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a message of the editor: %w", err)
		}
		m, err := dap.DecodeProtocolMessage(data)
		if err != nil {
			s.refuseInvalid(data, err)
			continue
		}
		q, ok := m.(dap.RequestMessage)
		if !ok || s.handleNow(q) {
			continue
		}
		select {
		case <-done:
			return nil
		default:
			s.requests.add(q)
		}
	}
}

// handleNow does what cannot wait until the request before has been answered. It reports whether
// the request is answered by that.
func (s *session) handleNow(q dap.RequestMessage) bool {
	switch q := q.(type) {
	case *dap.CancelRequest:
		if q.Arguments != nil {
			if waiting := s.requests.cancel(q.Arguments.RequestId); waiting != nil {
				s.replyError(waiting, "%v", errCancelled)
			}
		}
		s.send(&dap.CancelResponse{Response: newResponse(q)})
		return true
	case *dap.EvaluateRequest:
		v, is := answerOf(q.Arguments.Expression)
		run := s.current.Load()
		if !is || run == nil {
			return false
		}
		if run.asking.answerOldest(v) {
			s.sendEvaluated(q, dap.Variable{Value: v})
		} else {
			s.replyError(q, "no question is waiting for an answer")
		}
		return true
	case *dap.PauseRequest:
		s.requests.stopEvaluations(errPaused)
	case *dap.RestartRequest:
		s.requests.stopEvaluations(errEnding)
	case *dap.TerminateRequest, *dap.DisconnectRequest:
		s.end()
	}
	return false
}
