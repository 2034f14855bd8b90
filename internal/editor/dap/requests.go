package dap

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/google/go-dap"
)

// The reasons for stopping an evaluation early. The protocol prescribes the text of errCancelled.
var (
	errCancelled = errors.New("cancelled")
	errPaused    = errors.New("stopped by `pause`")
	errEnding    = errors.New("stopped: the program is ending")
)

// request is an unanswered request.
type request struct {
	dap.RequestMessage
	ctx     context.Context // cancelled when the response is no longer needed
	stop    context.CancelCauseFunc
	started bool // the request is being answered
}

// evaluates reports whether the request runs code of the program.
func (q *request) evaluates() bool {
	switch q.RequestMessage.(type) {
	case *dap.EvaluateRequest, *dap.SetVariableRequest, *dap.SetExpressionRequest, *dap.ScopesRequest:
		return true
	}
	return false
}

// inspects reports whether the request is answered during the evaluation of another request. Such a
// request reads the state of the stopped program or sets breakpoints.
func (q *request) inspects() bool {
	switch q.RequestMessage.(type) {
	case *dap.ThreadsRequest, *dap.StackTraceRequest, *dap.ScopesRequest, *dap.VariablesRequest, *dap.SourceRequest,
		*dap.ExceptionInfoRequest, *dap.CompletionsRequest, *dap.SetBreakpointsRequest, *dap.SetFunctionBreakpointsRequest,
		*dap.SetExceptionBreakpointsRequest, *dap.BreakpointLocationsRequest:
		return true
	}
	return false
}

// requests is the queue between the goroutine that receives requests and the goroutine that answers
// them. It is safe for concurrent use.
type requests struct {
	mu     sync.Mutex
	list   []*request // the unanswered requests
	closed bool
	failed error // reason why the queue was closed; valid after next has returned nil
	wake   chan struct{}
}

func newRequests() *requests { return &requests{wake: make(chan struct{}, 1)} }

// add appends a request.
func (l *requests) add(m dap.RequestMessage) {
	q := &request{RequestMessage: m}
	q.ctx, q.stop = context.WithCancelCause(context.Background())
	l.mu.Lock()
	l.list = append(l.list, q)
	l.mu.Unlock()
	l.signal()
}

// close closes the queue. After the remaining requests, next returns nil.
func (l *requests) close(failed error) {
	l.mu.Lock()
	l.closed, l.failed = true, failed
	l.mu.Unlock()
	l.signal()
}

func (l *requests) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// next waits for a request and starts it. It returns nil when the queue is closed and empty.
func (l *requests) next() *request {
	for {
		l.mu.Lock()
		if len(l.list) > 0 {
			q := l.list[0]
			q.started = true
			l.mu.Unlock()
			return q
		}
		closed := l.closed
		l.mu.Unlock()
		if closed {
			return nil
		}
		<-l.wake
	}
}

// nextInspection starts the next request that is answered during the evaluation of the first one.
// It returns nil if there is none, if the first request does not evaluate, or if such a request is
// already being answered.
func (l *requests) nextInspection() *request {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 || !l.list[0].started || !l.list[0].evaluates() {
		return nil
	}
	for _, q := range l.list[1:] {
		if q.started {
			return nil
		}
		if q.inspects() {
			q.started = true
			return q
		}
	}
	return nil
}

// finish removes an answered request from the queue.
func (l *requests) finish(q *request) {
	q.stop(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(o *request) bool { return o == q })
}

// cancel cancels the request with a sequence number. If the request was not started, cancel removes
// it from the queue and returns it, and the caller must answer it.
func (l *requests) cancel(seq int) dap.RequestMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, q := range l.list {
		if q.GetRequest().Seq != seq {
			continue
		}
		q.stop(errCancelled)
		if q.started {
			return nil
		}
		l.list = slices.Delete(l.list, i, i+1)
		return q.RequestMessage
	}
	return nil
}

// stopEvaluations stops the requests that run code of the program. why is the reason that their
// responses contain.
func (l *requests) stopEvaluations(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.list {
		if q.evaluates() {
			q.stop(why)
		}
	}
}
