// Package service performs the requests that an agent of the Agent Client Protocol makes of its client: reading and
// writing files, and commands in terminals; its API promises nothing. runtime/host passes it requests once they are
// allowed, and sends its answers.
package service

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// errandLimit is how many errands may wait at once; an agent that sends more is
// answered with an error.
const errandLimit = 256

// Service performs the requests of an agent: one after the other, but for waiting. It ends
// with the process, and all terminals with it.
type Service struct {
	opts Options
	wake chan struct{} // something waits, or it is over
	over chan struct{} // nothing is done any more

	mu      sync.Mutex
	running sync.WaitGroup // what was started here
	started bool           // the goroutine that works
	ended   bool
	waiting []adapter.Request
	waits   int // for exits of terminals
}

// Options are what requests are performed with.
type Options struct {
	Answer    func(e *adapter.Request, answer []byte) // sends an answer
	IsFull    func() bool                             // whether answers have to wait,
	Room      func() <-chan struct{}                  // and what receives when there is room for some
	Resolve   func(path string) (string, bool)        // where a path leads
	Terminals func() Terminals
	Dir       string            // the working directory
	Environ   func() []string   // of commands
	Limits    *procgroup.Limits // of commands
}

func New(o Options) *Service {
	return &Service{opts: o, wake: make(chan struct{}, 1), over: make(chan struct{})}
}

// Perform has requests performed. It does not wait for that.
func (s *Service) Perform(all []adapter.Request) {
	if len(all) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range all {
		switch {
		case s.ended:
			return
		case len(s.waiting) >= errandLimit:
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

// work does what waits, each when there is room for its answer.
func (s *Service) work() {
	for {
		for s.opts.IsFull() {
			select {
			case <-s.opts.Room():
			case <-s.over:
				return
			}
		}
		e, ok := s.next()
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

func (s *Service) next() (e adapter.Request, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.waiting) == 0 {
		return e, false
	}
	e, s.waiting = s.waiting[0], s.waiting[1:]
	return e, true
}

// An errandRow says how requests of a method are done: it gives a result, or a
// failure. A result of nil is given later.
type errandRow struct {
	method string
	do     func(s *Service, e *adapter.Request) (any, *adapter.RPCError)
}

var errandRows = []errandRow{
	{"fs/read_text_file", (*Service).readFile},
	{"fs/write_text_file", (*Service).writeFile},
	{"terminal/create", (*Service).openTerminal},
	{"terminal/output", (*Service).terminalOutput},
	{"terminal/wait_for_exit", (*Service).awaitTerminal},
	{"terminal/kill", (*Service).killTerminal},
	{"terminal/release", (*Service).releaseTerminal},
}

// do gives the answer to an errand; nil when it comes later.
func (s *Service) do(e *adapter.Request) []byte {
	for _, row := range errandRows {
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

// fileFailed says why a file could not be read or written.
func fileFailed(path string, err error) *adapter.RPCError {
	var of *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// In the words of ACP's own libraries, by which agents know it.
		return adapter.NewRPCError(adapter.CodeMissing, "Resource not found: "+path)
	case errors.As(err, &of):
		return adapter.NewRPCError(adapter.CodeInternal, path+": "+of.Err.Error())
	}
	return adapter.NewRPCError(adapter.CodeInternal, path+": "+err.Error())
}

// End ends all terminals, as a process is ended. Nothing is done after it.
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

// Wait waits until nothing is left of what end ended.
func (s *Service) Wait() {
	if s != nil {
		s.running.Wait()
	}
}
