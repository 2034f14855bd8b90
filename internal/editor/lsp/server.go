// Package lsp implements the language server: framing, dispatch and cancellation, the open
// documents, and the conversion between internal/editor/analysis and the protocol. It parses and
// checks nothing itself.
//
// One goroutine, the loop, owns the server's state and handles messages in order. A request runs in
// its own goroutine on a view, which is a snapshot of the state when the request arrived.
package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/frame"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// Options configures a server.
type Options struct {
	In        io.Reader
	Out       io.Writer // receives only frames
	Err       io.Writer // receives the message if the server fails
	Log       io.Writer // receives a log of the messages without texts of documents; nil for none
	Dir       string    // directory to search for programs if the client names no folder
	Name      string    // version that the server reports
	State     string    // directory for crash reports; "" for none
	Cache     string    // directory for library texts that editors open; "" for none
	Alive     func(pid int) bool
	Explain   func(code string) string // returns the Markdown that explains a diagnostic code
	CheckSync bool                     // answer concerto/text requests
	// Command runs this program as a subprocess and returns its exit code. It interrupts the
	// subprocess when ctx is done.
	Command func(ctx context.Context, child *Child) (code int, err error)

	diagnose diagnose // replaces the check in tests
}

// diagnose returns the diagnostics of a snapshot by file path.
type diagnose func(context.Context, *analysis.Snapshot) (map[string][]*diag.Diagnostic, error)

// Child describes a subprocess that runs this program.
type Child struct {
	Dir            string
	Args           []string
	Texts          map[string]string // unsaved texts by path
	Stdout, Stderr io.Writer
}

// phase is the phase in the life of a server.
type phase uint8

const (
	fresh phase = iota
	running
	shut
)

// server is the state of the loop. Other goroutines access it through enqueue.
type server struct {
	options     Options
	view        *view
	phase       phase
	out         *frame.Writer
	queue       chan func()
	over        bool
	ended       chan struct{}
	code        int
	workspace   *analysis.Workspace
	running     map[string]*call
	calls       sync.WaitGroup // waits for the goroutines of requests
	asked       map[string]func(json.RawMessage, *Error)
	questions   int
	push        pushState
	folders     []string
	polled      map[string]stamp // nil if the client watches files
	progress    progress
	sentTokens  map[protocol.DocumentURI]sentTokens
	completions completions
	reported    map[string]bool // crash reports whose path the user has seen
}

// Serve serves a client until it disconnects, and returns the exit code.
func Serve(ctx context.Context, o Options) int {
	initMethods()
	s := &server{options: o, view: &view{docs: map[protocol.DocumentURI]*document{}, enc: protocol.PositionEncodingKindUTF16, settings: defaults}, queue: make(chan func()), ended: make(chan struct{}),
		running: map[string]*call{}, asked: map[string]func(json.RawMessage, *Error){}, sentTokens: map[protocol.DocumentURI]sentTokens{}, reported: map[string]bool{}}
	s.view.server = &s.options
	if s.options.diagnose == nil {
		s.options.diagnose = func(ctx context.Context, x *analysis.Snapshot) (map[string][]*diag.Diagnostic, error) {
			return x.Diagnostics(ctx)
		}
	}
	s.out = frame.NewWriter(o.Out, func(err error) { s.enqueue(func() { s.end(1, "write to the client: %v", err) }) })
	go s.read()
	for !s.over {
		select {
		case f := <-s.queue:
			s.runSafely(f)
		case <-ctx.Done():
			s.end(1, "")
		}
	}
	close(s.ended)
	s.stop()
	s.awaitCalls()
	s.out.Close()
	return s.code
}

// stop cancels all running requests.
func (s *server) stop() {
	for _, c := range s.running {
		c.cancel()
	}
	s.push.stop()
	s.progress.stop()
}

// awaitCalls waits a limited time for the goroutines of requests to end.
func (s *server) awaitCalls() {
	done := make(chan struct{})
	go func() { s.calls.Wait(); close(done) }()
	t := time.NewTimer(frame.FlushTimeout)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// enqueue queues a function for the loop. The loop itself must not call it.
func (s *server) enqueue(f func()) {
	select {
	case s.queue <- f:
	case <-s.ended:
	}
}

// after calls f on the loop after d, unless the returned timer is stopped.
func (s *server) after(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() { s.enqueue(f) })
}

// end stops the server. It writes an optional message to stderr.
func (s *server) end(code int, format string, args ...any) {
	if s.over {
		return
	}
	s.over, s.code = true, code
	if format != "" {
		fmt.Fprintf(s.options.Err, "concerto lsp: "+format+"\n", args...)
	}
}

// read passes the received messages to the loop.
func (s *server) read() {
	r := bufio.NewReaderSize(s.options.In, frame.MaxHeader/2)
	for {
		body, err := frame.Read(r)
		if err != nil {
			s.enqueue(func() { s.handleReadEnd(err) })
			return
		}
		m, bad := readMessage(body)
		s.enqueue(func() { s.receive(m, bad) })
	}
}

// handleReadEnd stops the server after the last message.
func (s *server) handleReadEnd(err error) {
	var notFrame *frame.Error
	switch {
	case errors.As(err, &notFrame):
		s.end(1, "%v", err)
	case errors.Is(err, io.EOF):
		s.options.log("the client exited without sending `exit`")
		s.end(1, "")
	default:
		s.end(1, "read from the client: %v", err)
	}
}

// receive handles a message.
func (s *server) receive(m *message, bad *Error) {
	switch {
	case bad != nil:
		s.reply(m.ID, "", nil, bad)
	case m.Method == nil:
		s.handleResponse(m)
	case m.ID == nil:
		s.options.log("notification %s", *m.Method)
		s.handleNotification(*m.Method, m.Params)
	default:
		s.options.log("request %s %s", m.ID, *m.Method)
		s.handleRequest(m)
	}
}

// handleNotification handles a notification.
func (s *server) handleNotification(method string, params json.RawMessage) {
	if method == protocol.MethodExit {
		if s.phase == shut {
			s.end(0, "")
		} else {
			s.options.log("`exit` without `shutdown`")
			s.end(1, "")
		}
		return
	}
	take := notifications[method]
	if take == nil || s.phase != running {
		return
	}
	if err := take(s, params); err != nil {
		s.options.log("%s: %s", method, err.Message)
	}
}

// handleRequest handles a request.
func (s *server) handleRequest(m *message) {
	method := *m.Method
	switch {
	case s.phase == shut:
		s.reply(m.ID, method, nil, newError(codeInvalidRequest, "the server is shut down and accepts only `exit`"))
	case method == protocol.MethodInitialize:
		result, err := s.initialize(m.Params)
		s.reply(m.ID, method, result, err)
	case s.phase == fresh:
		s.reply(m.ID, method, nil, newError(codeNotInitialized, "the first request must be `initialize`"))
	case method == protocol.MethodShutdown:
		s.phase = shut
		for _, c := range s.running {
			s.finish(c, nil, newError(codeCancelled, "the server is shut down"))
		}
		s.stop()
		s.reply(m.ID, method, null, nil)
	case requests[method].run == nil || method == methodText && !s.options.CheckSync:
		s.reply(m.ID, method, nil, newError(codeMethodNotFound, "unknown method `%s`", method))
	case s.running[string(m.ID)] != nil:
		s.reply(m.ID, method, nil, newError(codeInvalidRequest, "the id %s is already used by a running request", m.ID))
	default:
		s.startRequest(m)
	}
}

// reply answers a request.
func (s *server) reply(id json.RawMessage, method string, result json.RawMessage, err *Error) {
	if err != nil {
		s.options.log("error %s %s: %d %s", id, method, err.Code, err.Message)
	} else {
		s.options.log("result %s %s", id, method)
	}
	s.out.Write(encodeResponse(id, result, err))
}

// notify sends a notification.
func (s *server) notify(method string, params any) {
	s.options.log("to the client: %s", method)
	s.out.Write(encodeRequest(nil, method, params))
}

// ask sends a request to the client. then receives the response on the loop. It may be nil.
func (s *server) ask(method string, params any, then func(json.RawMessage, *Error)) {
	s.questions++
	id := fmt.Sprintf("%q", fmt.Sprint("concerto-", s.questions))
	if then == nil {
		then = func(json.RawMessage, *Error) {}
	}
	s.asked[id] = then
	s.options.log("to the client: %s %s", id, method)
	s.out.Write(encodeRequest(json.RawMessage(id), method, params))
}

// handleResponse handles the client's response to a request.
func (s *server) handleResponse(m *message) {
	then := s.asked[string(m.ID)]
	if then == nil {
		s.options.log("a response to %s, which is not a pending request", m.ID)
		return
	}
	delete(s.asked, string(m.ID))
	then(m.Result, m.Error)
}

// log writes a line to the log. The line must not contain texts of documents.
func (o *Options) log(format string, args ...any) {
	if o.Log != nil {
		fmt.Fprintf(o.Log, "%s %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), fmt.Sprintf(format, args...))
	}
}
