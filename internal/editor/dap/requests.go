package dap

import (
	"context"
	"errors"
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
	ctx  context.Context // cancelled when the response is no longer needed
	stop context.CancelCauseFunc
}

// evaluates reports whether the request runs code of the program.
func (q *request) evaluates() bool {
	switch q.RequestMessage.(type) {
	case *dap.EvaluateRequest, *dap.SetVariableRequest, *dap.SetExpressionRequest, *dap.ScopesRequest:
		return true
	}
	return false
}

// requests is the queue between the goroutine that receives requests and the goroutine that answers
// them. It is safe for concurrent use.
type requests struct {
	mu     sync.Mutex
	list   []*request // if active is set, the first request is being answered
	active bool
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

// next removes the answered request from the queue and waits for another one. It returns nil when
// the queue is closed and empty.
func (l *requests) next() *request {
	for {
		l.mu.Lock()
		if l.active {
			l.list[0].stop(nil)
			l.list, l.active = l.list[1:], false
		}
		if len(l.list) > 0 {
			l.active = true
			q := l.list[0]
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
		if i == 0 && l.active {
			return nil
		}
		l.list = append(l.list[:i:i], l.list[i+1:]...)
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
