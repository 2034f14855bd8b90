package dap

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"sync/atomic"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/editor/lsp/frame"
	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// session is the connection to one editor, with the runs of that editor.
type session struct {
	conn
	adapter *Adapter

	requests *requests
	ctx      context.Context // context of the request that is being answered
	ending   chan struct{}   // closed when the editor ends the run or the session

	begun    bool // the initialize request was received
	launched bool // the session has launched its run
	attached bool // the session is attached to a run that was started elsewhere
	run      *Run
	own      atomic.Pointer[Run] // the launched run; nil if none
	current  atomic.Pointer[Run] // the launched run or the run that the session is attached to
	ran      *Launch             // arguments of the launch
	done     chan struct{}       // closed at the end of the session
	zero     int                 // number of the first line in the editor, 0 or 1
	colZero  int

	program     driver.Request    // request for the program that runs
	root        string            // base directory of the names of the program's files
	packages    map[string]string // directories of the packages, by their names
	dir         string            // cwd of the launch; "" if it has none
	stopOnEntry bool
	showStd     bool
	// libraryFiles are the files of the library that were sent to the editor. The reference of each
	// is its index plus one.
	libraryFiles []string
}

// cwd returns the base directory of the editor's relative paths.
func (s *session) cwd() string {
	if s.dir != "" {
		return s.dir
	}
	return s.adapter.Dir
}

// newSession returns a session with an editor. out is the stream to the editor.
func newSession(a *Adapter, out io.Writer) *session {
	s := detachedSession(a)
	s.out = frame.NewWriter(out, nil)
	return s
}

// detachedSession returns a session without an editor. Messages to the editor are dropped.
func detachedSession(a *Adapter) *session {
	return &session{adapter: a, requests: newRequests(), ctx: context.Background(), done: make(chan struct{}), ending: make(chan struct{}), zero: 1, colZero: 1}
}

// end cancels the current evaluation and stops the launched run. Only the goroutine that receives
// requests calls it.
func (s *session) end() {
	select {
	case <-s.ending:
	default:
		close(s.ending)
	}
	s.requests.stopEvaluations(errEnding)
	if run := s.own.Load(); run != nil {
		run.end()
	}
}

// refuseInvalid sends an error response to an unknown or invalid request.
func (s *session) refuseInvalid(data []byte, err error) {
	var q dap.Request
	if json.Unmarshal(data, &q) != nil || q.Type != "request" {
		return // only requests have responses
	}
	s.replyError(&q, "%s: %v", q.Command, err)
}

// handleSafely handles a request. If handling panics, it sends an error response and the session
// continues.
func (s *session) handleSafely(r dap.RequestMessage) (more bool) {
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			if x, ok := p.(*runPanic); ok {
				p, stack = x.value, x.stack
			}
			s.sendOutput("stderr", fmt.Sprintf("concerto dap: panic: %v\n\n%s", p, stack))
			s.replyError(r, "internal error, which is a bug in Concerto: %v", p)
			more = true
		}
	}()
	return s.handle(r)
}

// runPanic is a panic of a function that do called on the run's goroutine.
type runPanic struct {
	value any
	stack []byte
}

// handle handles a request. It returns false if the request ends the session.
func (s *session) handle(r dap.RequestMessage) bool {
	switch r := r.(type) {
	case *dap.InitializeRequest:
		s.initialize(r)
		return true
	case *dap.DisconnectRequest:
		s.disconnect(r)
		return false
	}
	if !s.begun {
		s.replyError(r, "%s was sent before initialize", r.GetRequest().Command)
		return true
	}
	if !s.handleLifecycle(r) && !s.handleBreakpoints(r) && !s.handleSteps(r) && !s.handleInspection(r) {
		s.replyError(r, "%s is not supported", r.GetRequest().Command)
	}
	return true
}

// handleLifecycle handles requests that start and end a run.
func (s *session) handleLifecycle(r dap.RequestMessage) bool {
	switch r := r.(type) {
	case *dap.LaunchRequest:
		s.launch(r)
	case *dap.AttachRequest:
		s.attach(r)
	case *dap.ConfigurationDoneRequest:
		s.configured(r)
	case *dap.TerminateRequest:
		s.terminate(r)
	case *dap.RestartRequest:
		s.restart(r)
	default:
		return false
	}
	return true
}

// handleBreakpoints handles requests about breakpoints.
func (s *session) handleBreakpoints(r dap.RequestMessage) bool {
	switch r := r.(type) {
	case *dap.SetBreakpointsRequest:
		s.setBreakpoints(r)
	case *dap.SetFunctionBreakpointsRequest:
		s.setFunctionBreakpoints(r)
	case *dap.SetExceptionBreakpointsRequest:
		s.setExceptionBreakpoints(r)
	case *dap.BreakpointLocationsRequest:
		s.breakpointLocations(r)
	case *dap.GotoTargetsRequest:
		s.gotoTargets(r)
	case *dap.StepInTargetsRequest:
		s.stepInTargets(r)
	default:
		return false
	}
	return true
}

// handleSteps handles requests that continue the run.
func (s *session) handleSteps(r dap.RequestMessage) bool {
	switch r := r.(type) {
	case *dap.ContinueRequest:
		s.handleContinue(r, plan{}, 0, &dap.ContinueResponse{Response: newResponse(r), Body: dap.ContinueResponseBody{AllThreadsContinued: true}})
	case *dap.NextRequest:
		s.handleContinue(r, plan{kind: planOver}, r.Arguments.ThreadId, &dap.NextResponse{Response: newResponse(r)})
	case *dap.StepInRequest:
		s.stepIn(r)
	case *dap.StepOutRequest:
		s.handleContinue(r, plan{kind: planOut}, r.Arguments.ThreadId, &dap.StepOutResponse{Response: newResponse(r)})
	case *dap.PauseRequest:
		s.pause(r)
	case *dap.GotoRequest:
		s.gotoTarget(r)
	case *dap.StepBackRequest, *dap.ReverseContinueRequest:
		s.replyError(r, "a debugged run cannot go back; use `concerto runs inspect` for recorded runs")
	default:
		return false
	}
	return true
}

// handleInspection handles requests about the state of a stopped run.
func (s *session) handleInspection(r dap.RequestMessage) bool {
	switch r := r.(type) {
	case *dap.ThreadsRequest:
		s.threads(r)
	case *dap.SourceRequest:
		s.libraryText(r)
	case *dap.StackTraceRequest:
		s.stackTrace(r)
	case *dap.ScopesRequest:
		s.scopes(r)
	case *dap.VariablesRequest:
		s.variables(r)
	case *dap.EvaluateRequest:
		s.evaluate(r)
	case *dap.SetVariableRequest:
		s.setVariable(r)
	case *dap.SetExpressionRequest:
		s.setExpression(r)
	case *dap.CompletionsRequest:
		s.completions(r)
	case *dap.ExceptionInfoRequest:
		s.exceptionInfo(r)
	default:
		return false
	}
	return true
}

func (s *session) initialize(r *dap.InitializeRequest) {
	if s.begun {
		s.replyError(r, "initialize was sent twice")
		return
	}
	s.begun = true
	if !r.Arguments.LinesStartAt1 {
		s.zero = 0
	}
	if !r.Arguments.ColumnsStartAt1 {
		s.colZero = 0
	}
	s.send(&dap.InitializeResponse{Response: newResponse(r), Body: capabilities})
	s.send(&dap.InitializedEvent{Event: newEvent("initialized")})
}

// capabilities lists the optional features of the adapter.
var capabilities = dap.Capabilities{
	SupportsConfigurationDoneRequest:   true,
	SupportsTerminateRequest:           true,
	SupportsCancelRequest:              true,
	SupportsRestartRequest:             true,
	SupportTerminateDebuggee:           true,
	SupportsFunctionBreakpoints:        true,
	SupportsConditionalBreakpoints:     true,
	SupportsHitConditionalBreakpoints:  true,
	SupportsLogPoints:                  true,
	SupportsEvaluateForHovers:          true,
	SupportsSetVariable:                true,
	SupportsSetExpression:              true,
	SupportsGotoTargetsRequest:         true,
	SupportsStepInTargetsRequest:       true,
	SupportsCompletionsRequest:         true,
	CompletionTriggerCharacters:        []string{"."},
	SupportsExceptionInfoRequest:       true,
	SupportsExceptionFilterOptions:     true,
	SupportsBreakpointLocationsRequest: true,
	ExceptionBreakpointFilters:         filters,
}
