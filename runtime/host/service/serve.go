// Package service performs the requests that an agent of the Agent Client Protocol sends to its
// client: reading and writing files, and running commands in terminals. runtime/host passes it the
// requests that were allowed, and sends its answers to the agent.
package service

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// requestLimit is the maximum number of requests that may wait. Further requests are answered with
// an error.
const requestLimit = 256

// Service performs the requests of an agent in order, except those that wait for the exit of a
// command. It ends with the agent's process, and then ends all terminals.
type Service struct {
	opts Options
	wake chan struct{} // signals that a request was added or over was closed
	over chan struct{} // closed by End

	mu      sync.Mutex
	running sync.WaitGroup // counts the goroutines and terminals that this service started
	started bool           // the worker goroutine is running
	ended   bool
	waiting []adapter.Request
	waits   int // number of requests that wait for the exit of a terminal's command
}

// Options configures a Service.
type Options struct {
	Answer func(e *adapter.Request, answer []byte) // sends the answer to the agent
	IsFull func() bool                             // reports whether the outbox is full, so that answers must wait
	Room   func() <-chan struct{}                  // returns a channel that signals room for answers
	// MayAccess returns an error for a real path that the host's sandbox does not contain.
	MayAccess func(path string, write bool) error
	Resolve   func(path string) (string, bool) // returns the real path if the rules allow the path
	Terminals func() Terminals
	Dir       string            // the working directory
	Environ   func() []string   // returns the environment of commands
	Limits    *procgroup.Limits // resource limits of commands
}

func New(o Options) *Service {
	return &Service{opts: o, wake: make(chan struct{}, 1), over: make(chan struct{})}
}

// PerformRequests queues requests.
func (s *Service) PerformRequests(all []adapter.Request) {
	if len(all) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range all {
		switch {
		case s.ended:
			return
		case len(s.waiting) >= requestLimit:
			s.opts.Answer(&e, e.Failure(adapter.CodeInternal, "too many requests wait here: wait for the answers to earlier ones"))
		default:
			s.waiting = append(s.waiting, e)
		}
	}
	if !s.started {
		s.started = true
		s.running.Go(s.work)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// work performs the queued requests. Before each request it waits until there is room for the
// answer.
func (s *Service) work() {
	for {
		for s.opts.IsFull() {
			select {
			case <-s.opts.Room():
			case <-s.over:
				return
			}
		}
		e, ok := s.nextRequest()
		if !ok {
			select {
			case <-s.wake:
				continue
			case <-s.over:
				return
			}
		}
		if answer := s.do(&e); answer != nil {
			s.opts.Answer(&e, answer)
		}
	}
}

func (s *Service) nextRequest() (e adapter.Request, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.waiting) == 0 {
		return e, false
	}
	e, s.waiting = s.waiting[0], s.waiting[1:]
	return e, true
}

// A requestRow specifies how the requests of a method are performed. Its function returns a result
// or a failure. A nil result means that the answer follows later.
type requestRow struct {
	method string
	do     func(s *Service, e *adapter.Request) (any, *adapter.RPCError)
}

// do performs a request and returns the answer, or nil if the answer follows later.
func (s *Service) do(e *adapter.Request) []byte {
	for _, row := range requestRows {
		if row.method != e.Method {
			continue
		}
		result, failure := row.do(s, e)
		switch {
		case failure == errElsewhere:
			return nil
		case failure != nil:
			return e.Failure(failure.Number(), failure.Message)
		case result == nil:
			return nil
		}
		return e.Result(result)
	}
	return e.Failure(adapter.CodeUnknown, "concerto does not know "+e.Method)
}

// fileFailed returns the JSON-RPC error for a file that could not be read or written.
func fileFailed(path string, err error) *adapter.RPCError {
	var of *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// The text equals that of ACP's own libraries, which agents recognise.
		return adapter.NewRPCError(adapter.CodeMissing, "Resource not found: "+path)
	case errors.As(err, &of):
		return adapter.NewRPCError(adapter.CodeInternal, path+": "+of.Err.Error())
	}
	return adapter.NewRPCError(adapter.CodeInternal, path+": "+err.Error())
}

// End ends all terminals. Later requests are dropped.
func (s *Service) End() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	close(s.over)
	s.running.Go(s.opts.Terminals().End)
}

// Wait waits until the goroutines and terminals that End stopped have exited.
func (s *Service) Wait() {
	if s != nil {
		s.running.Wait()
	}
}
