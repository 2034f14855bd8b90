// Package dap implements the debugger. It connects an editor, which uses the Debug Adapter
// Protocol, to a run of the VM in the same process. It does not start the run. A Command does that,
// which is implemented by `concerto run` and `concerto test`.
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

// Launch contains the arguments of an editor's launch request.
type Launch struct {
	Program     string                     `json:"program"` // path of a file, or of a directory with a manifest
	Cwd         string                     `json:"cwd"`
	Args        []string                   `json:"args"`
	Env         map[string]any             `json:"env"` // environment variables; null removes a variable
	StopOnEntry bool                       `json:"stopOnEntry"`
	Mock        bool                       `json:"mock"`
	Answers     map[string]json.RawMessage `json:"answers"` // answers to awaited emits, by channel
	EmitHandler string                     `json:"emitHandler"`
	Test        string                     `json:"test"`    // name of the test to run instead of main
	ShowStd     bool                       `json:"showStd"` // steps enter functions of the library
	NoDebug     bool                       `json:"noDebug"`
	Replay      string                     `json:"replay"` // path of a recorded run; not supported yet
}

// Command runs the program of a launch. It returns the exit code after all parts of the run have
// ended.
type Command func(*Launch, *Run) (code int)

// Adapter serves editors that debug programs.
type Adapter struct {
	Command Command
	Dir     string           // base of relative paths if the launch has no cwd
	Attach  *Run             // run to which editors attach; nil if editors launch runs
	Now     func() time.Time // clock for the time limits of evaluations; nil for the system clock
}

// Serve serves one editor until the editor has disconnected and its run has ended. An editor that
// does not read cannot block Serve. The error is non-nil if the editor sent an invalid message.
func (a *Adapter) Serve(in io.Reader, out io.Writer) error {
	s := newSession(a, out)
	defer close(s.done)
	err := s.read(in)
	s.stopRun()
	s.out.Close()
	return err
}

// conn sends messages to the editor and numbers them in order.
type conn struct {
	mu  sync.Mutex
	out *frame.Writer // nil if there is no editor
	seq int
}

// send assigns the next number to a message and queues it. It never blocks.
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
		panic(err) // the protocol types contain only values that JSON can represent
	}
	c.out.Write(body)
}

// flush waits until all queued messages are written. It is called where the process may exit next.
func (c *conn) flush() {
	if c.out != nil {
		c.out.Flush()
	}
}

// newEvent returns an event without a body.
func newEvent(name string) dap.Event { return dap.Event{Event: name} }

// newResponse returns a successful response without a body.
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

// read handles requests until the editor disconnects. A separate goroutine receives the requests,
// so that a later request can cancel an evaluation.
func (s *session) read(in io.Reader) (err error) {
	done := make(chan struct{})
	defer close(done)
	go func() {
		err := s.receive(in, done)
		s.end()
		s.requests.close(err)
	}()
	for q := s.requests.next(); q != nil; q = s.requests.next() {
		if !s.answer(q) {
			return nil
		}
	}
	return s.requests.failed
}

// answer handles a request. It returns false if the request ends the session.
func (s *session) answer(q *request) (more bool) {
	outer := s.ctx
	s.ctx = q.ctx
	defer func() {
		s.ctx = outer
		s.requests.finish(q)
	}()
	return s.handleSafely(q.RequestMessage)
}

// answerInspections handles the queued requests that need not wait for the current evaluation.
func (s *session) answerInspections() {
	for q := s.requests.nextInspection(); q != nil; q = s.requests.nextInspection() {
		s.answer(q)
	}
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

// handleNow handles requests that must not wait for the response to the previous request, such as a
// cancellation. It reports whether the request needs no further handling.
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
