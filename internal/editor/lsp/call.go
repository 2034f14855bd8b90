package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"time"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// view is the server's state when a request arrived. It is immutable.
type view struct {
	server   *Options
	docs     map[protocol.DocumentURI]*document
	snapshot *analysis.Snapshot
	linked   []link // folders that clients also name by another path
	client   client
	enc      encoding
	settings settings
	tests    map[testOf]*testEvent // last results of the tests
}

// call is a request that is being handled.
type call struct {
	*view
	context.Context
	cancel func()
	id     json.RawMessage
	method string
	loop   *server
}

// editGrace is the time that a running request has to finish after an edit.
const editGrace = 10 * time.Millisecond

// startRequest handles a request in a separate goroutine.
func (s *server) startRequest(m *message) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &call{s.view, ctx, cancel, m.ID, *m.Method, s}
	s.running[string(m.ID)] = c
	s.calls.Go(func() {
		result, err := c.run(requests[c.method].run, m.Params)
		s.enqueue(func() { s.finish(c, result, err) })
	})
}

// run returns the result of a request. It converts a panic to an error.
func (c *call) run(f request, params json.RawMessage) (result json.RawMessage, err *Error) {
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			result, err = nil, newError(codeInternal, "%s", bugText(p))
			c.loop.enqueue(func() { c.loop.reportCrash(c.view, c.method, p, stack) })
		}
	}()
	answer, problem := f(c, params)
	if problem == nil {
		return jsonwrite.MustEncode(answer), nil
	}
	if !errors.As(problem, &err) {
		err = newError(codeInternal, "%v", problem)
		if c.Err() != nil {
			err = newError(codeCancelled, "cancelled")
		}
	}
	return nil, err
}

// runInLoop calls f on the loop's goroutine and waits until it returns.
func (c *call) runInLoop(f func()) {
	done := make(chan struct{})
	c.loop.enqueue(func() { f(); close(done) })
	select {
	case <-done:
	case <-c.loop.ended:
	}
}

// finish sends the response to a request unless the response was sent before.
func (s *server) finish(c *call, result json.RawMessage, err *Error) {
	c.cancel()
	if s.running[string(c.id)] != c {
		return
	}
	delete(s.running, string(c.id))
	s.reply(c.id, c.method, result, err)
}

// handleCancel handles $/cancelRequest.
func (s *server) handleCancel(p *protocol.CancelParams) {
	if c := s.running[string(p.ID)]; c != nil {
		s.finish(c, nil, newError(codeCancelled, "cancelled"))
	}
}

// cancelOutdated cancels the requests that run on older views if they have not finished after
// editGrace.
func (s *server) cancelOutdated() {
	var old []*call
	for _, c := range s.running {
		if !requests[c.method].timeless {
			old = append(old, c)
		}
	}
	if len(old) > 0 {
		s.after(editGrace, func() {
			for _, c := range old {
				s.finish(c, nil, newError(codeContentModified, "the document changed while the request was handled"))
			}
		})
	}
}
