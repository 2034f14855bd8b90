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

// Options are what a server is given.
type Options struct {
	In        io.Reader
	Out       io.Writer // of frames, and nothing else
	Err       io.Writer // for a message when the server fails
	Log       io.Writer // the traffic without texts; nil for none
	Dir       string    // where to search for programs if the client names no folder
	Name      string    // the version that the server reports
	State     string    // the directory of reports of crashes; "" for none
	Cache     string    // the directory of texts that editors may open; "" for none
	Alive     func(pid int) bool
	Explain   func(code string) string // the Markdown that explains a diagnostic
	CheckSync bool                     // answer concerto/text
	// Command runs this program and returns its exit code. It is interrupted when ctx is done.
	Command func(ctx context.Context, child *Child) (code int, err error)

	diagnose func(context.Context, *analysis.Snapshot) (map[string][]*diag.Diagnostic, error) // a test's checks in its own way
}

// Child is a run of this program.
type Child struct {
	Dir            string
	Args           []string
	Texts          map[string]string // unsaved texts, by path
	Stdout, Stderr io.Writer
}

// phase is where in its life a server is.
type phase uint8

const (
	fresh phase = iota
	running
	shut
)

// server is the loop's state. Other goroutines use it through turn.
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
	calls       sync.WaitGroup // goroutines of requests
	asked       map[string]func(json.RawMessage, *Error)
	questions   int
	push        pushState
	folders     []string
	polled      map[string]stamp // nil where the client watches
	progress    progress
	sentTokens  map[protocol.DocumentURI]sentTokens
	completions completions
	reported    map[string]bool // crash reports whose path was shown
}

// Serve serves a client until it disconnects, and returns the exit code.
func Serve(ctx context.Context, o Options) int {
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

// stop cancels running requests.
func (s *server) stop() {
	for _, c := range s.running {
		c.cancel()
	}
	s.push.stop()
	s.progress.stop()
}

// awaitCalls waits, for a while, for what requests have started to end.
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

// enqueue queues a function for the loop. Any goroutine except the loop's may call it.
func (s *server) enqueue(f func()) {
	select {
	case s.queue <- f:
	case <-s.ended:
	}
}

// after has the loop do something later, unless the timer is stopped.
func (s *server) after(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() { s.enqueue(f) })
}

// end ends the server, with an optional message on stderr.
func (s *server) end(code int, format string, args ...any) {
	if s.over {
		return
	}
	s.over, s.code = true, code
	if format != "" {
		fmt.Fprintf(s.options.Err, "concerto lsp: "+format+"\n", args...)
	}
}

// read passes received messages to the loop.
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

// handleReadEnd ends the server after the last message.
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

// ask sends a request to the client; then receives the response on the loop and may be nil.
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

// log writes a line into the log, without texts of documents.
func (o *Options) log(format string, args ...any) {
	if o.Log != nil {
		fmt.Fprintf(o.Log, "%s %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), fmt.Sprintf(format, args...))
	}
}
