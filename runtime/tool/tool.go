// Package tool is the tools of an application (its API promises nothing of its own:
// package concerto names what of it is for embedders). An application tool is a name, a
// schema and a handler that the process around a run gives to its agents, hosts and
// clients.
//
// A Registry holds definitions; the zero value is an empty one. It is safe for concurrent
// use, and who reads it takes no lock. A Session is the tools as one run sees them: it
// is opened with the run's Context, and closed with it.
//
// Every call takes one way, whoever asks and whatever answers:
//
//	Session.Prepare   resolve → permission → depth and cycle → validate
//	Call.Question     what to ask when the call needs to be approved of
//	Call.Answer       the answer (also Nobody, TimedOut); what it edits is validated again
//	Call.Began        the audit record `call`
//	Call.Run          the handler under its limits, and its output held to its schema
//	Call.Ended        the audit record `done`
//
// Session.Do goes it for a Go caller (Session.Call is Do for the application itself),
// with the Hooks that the session was opened with for permission, approval, audit, emits
// and the log. Who asks for effects takes the same steps one by one: an Ask is plain
// data, and Prepare may be done again for it, as when a run is resumed; Call.Approved
// then puts in what was decided. Nothing else calls a handler.
//
// The package knows neither the VM nor other performers: handlers that need those are
// handed in.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Scope is whose a tool's handler is.
type Scope string

// A tool is global, one handler for all sessions, unless it says PerSession: then it
// is of a session, made by Open where there is one, and closed with it. (The type of a
// session has the name that the constant would have.)
const (
	Global     Scope = "global"
	PerSession Scope = "session"
)

// Handler answers a call. input fits the parameters' schema. When ctx ends, the call is
// over: what the handler gives after that is dropped. A panic or an error is a result
// that failed.
type Handler func(ctx context.Context, input json.RawMessage, c *Context) (Result, error)

// Definition is a tool. The zero value of a field is its default.
type Definition struct {
	Name, Description  string
	Parameters, Output json.RawMessage // JSON Schemas; {"type": "object"} and none
	Handler            Handler
	// Open makes the handler of a session, in place of Handler; the session closes it.
	Open                   func(context.Context, *Context) (Handler, io.Closer, error)
	Scope                  Scope // Global
	Version, MaxConcurrent int   // 1; no bound
	Category, OnTimeout    string
	// Timeout bounds a call's handler (60 s), IdleTimeout how long it reports no progress
	// (no bound), ApprovalTimeout how long an approval is waited for (300 s).
	Timeout, IdleTimeout, ApprovalTimeout time.Duration
	RequiresApproval, Sequential          bool
	Requires                              []string // "render:image/png": what a session must be able to show

	inner
}

// inner is what only this package says of a tool.
type inner struct {
	wrong   error         // New: the type has no schema
	grace   time.Duration // how long the handler takes to end what it has begun, beyond what any is given
	prompt  bool          // the handler ends as soon as its ctx does
	inTests bool          // it reaches nothing outside, so that tests may call it
	sandbox *Sandbox      // of a command; nil for none
	// release is called when the definition has gone; wait returns when nothing of the
	// handler's is left. nil: there is nothing.
	release func() (wait func())
}

// ForTests is the tool as one that reaches nothing outside: tests of programs may call it.
func (d Definition) ForTests() Definition {
	d.inTests = true
	return d
}

// Prompt is the tool as one whose handler returns as soon as its ctx ends: nobody has to
// watch over it from another goroutine.
func (d Definition) Prompt() Definition {
	d.prompt = true
	return d
}

// InTests says whether tests of programs may call the tool.
func (d *Definition) InTests() bool { return d.inTests }

// The defaults that are not zero.
const (
	DefaultTimeout         = 60 * time.Second
	DefaultApprovalTimeout = 300 * time.Second
)

// ApprovalLimit is how long an approval is waited for.
func (d *Definition) ApprovalLimit() time.Duration {
	if d.ApprovalTimeout == 0 {
		return DefaultApprovalTimeout
	}
	return d.ApprovalTimeout
}

// What is done when nobody answers an approval in time.
const (
	OnTimeoutDeny  = "deny"
	OnTimeoutAllow = "allow"
	OnTimeoutHalt  = "halt" // it is denied, and the agent's call ends
)

// Context is what a handler knows of its call. A session is opened with one, in which
// CallID and Chain are empty and Caller is who opened it ("client:ID", or "").
type Context struct {
	SessionID, Cwd, CallID string
	Caller                 string // the agent's or host's name, "client:ID", else the calling function or tool
	Route                  string // one of the Routes
	Environment            map[string]string
	Metadata               map[string]any
	Chain                  []string // the names of the calls that led here, this one's last
	Render                 []string // what the session can show: "image/png"

	running *running // the call, in a handler's Context
}

// The ways by which a call comes.
const (
	RouteAgent    = "agent"
	RouteHost     = "host"
	RouteDispatch = "dispatch"
	RouteMCP      = "mcp"
	RouteClient   = "client"
	RouteTool     = "tool"
)

// Outcome is what became of a call.
type Outcome string

// The outcomes.
const (
	OutcomeOK          Outcome = "ok"
	OutcomeFailed      Outcome = "failed"
	OutcomeArguments   Outcome = "arguments"
	OutcomeNotFound    Outcome = "not_found"
	OutcomeDenied      Outcome = "denied"
	OutcomeTimeout     Outcome = "timeout"
	OutcomeCancelled   Outcome = "cancelled"
	OutcomeUnavailable Outcome = "unavailable"
	OutcomeLimit       Outcome = "limit"
)

// Outcomes are all outcomes.
var Outcomes = []Outcome{OutcomeOK, OutcomeFailed, OutcomeArguments, OutcomeNotFound, OutcomeDenied, OutcomeTimeout, OutcomeCancelled, OutcomeUnavailable, OutcomeLimit}

// Result is what a call gave. Output is JSON, nil for null. Metadata is for the log,
// never for a model; what a session's call gives has `concerto` in it, which is an Info.
type Result struct {
	Success  bool
	Output   json.RawMessage
	Error    string
	Metadata map[string]any
}

// Info is what the runtime adds to the metadata of a result.
type Info struct {
	CallID     string  `json:"call_id"`
	Outcome    Outcome `json:"outcome"`
	DurationMS int64   `json:"duration_ms"`
	// SandboxMissing is what this machine lacks to hold the tool's command to its sandbox.
	SandboxMissing []string `json:"sandbox_missing,omitempty"`
}

// infoKey is where Info stands in a Result's metadata.
const infoKey = "concerto"

// Success is the result whose output is v as JSON.
func Success(v any) (Result, error) {
	text, err := jsonwrite.Encode(v)
	if err != nil {
		return Result{}, err
	}
	return Result{Success: true, Output: text}, nil
}

// Failure is the result that failed because of what is said.
func Failure(format string, args ...any) Result { return Result{Error: fmt.Sprintf(format, args...)} }

// MarshalJSON writes all four members; an output or an error that is not there is null.
func (r Result) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil) }

// AppendJSON appends what MarshalJSON gives.
func (r Result) AppendJSON(b []byte) ([]byte, error) {
	b = strconv.AppendBool(append(b, `{"success":`...), r.Success)
	b = jsonwrite.Raw(append(b, `,"output":`...), r.Output)
	if b = append(b, `,"error":`...); r.Error == "" {
		b = append(b, "null"...)
	} else {
		b = jsonwrite.Text(b, r.Error)
	}
	b = append(b, `,"metadata":`...)
	if info, ok := r.Metadata[infoKey].(Info); ok && len(r.Metadata) == 1 && info.SandboxMissing == nil {
		b = jsonwrite.Text(append(b, `{"`+infoKey+`":{"call_id":`...), info.CallID)
		b = jsonwrite.Text(append(b, `,"outcome":`...), string(info.Outcome))
		b = strconv.AppendInt(append(b, `,"duration_ms":`...), info.DurationMS, 10)
		return append(b, "}}}"...), nil
	}
	metadata := r.Metadata
	if metadata == nil {
		metadata = map[string]any{}
	}
	b, err := jsonwrite.Append(b, metadata)
	return append(b, '}'), err
}

// UnmarshalJSON reads a result; members may be left out, but not `success`.
func (r *Result) UnmarshalJSON(text []byte) error {
	var w struct {
		Success  *bool           `json:"success"`
		Output   json.RawMessage `json:"output"`
		Error    *string         `json:"error"`
		Metadata map[string]any  `json:"metadata"`
	}
	if json.Unmarshal(text, &w) != nil || w.Success == nil {
		return fmt.Errorf(`the result must be {"success": true or false, "output": any value, "error": a text, "metadata": an object}, of which success is required, got %s`, beginning(text, quoted))
	}
	*r = Result{Success: *w.Success, Output: w.Output, Metadata: w.Metadata}
	if string(r.Output) == "null" {
		r.Output = nil
	}
	if w.Error != nil {
		r.Error = *w.Error
	}
	return nil
}

// Text is the result as a model gets it, and whether it failed: a text as it is, any
// other output as JSON.
func (r Result) Text() (text string, failed bool) {
	if !r.Success && r.Error != "" {
		return r.Error, true
	}
	if r.Output == nil {
		if r.Success {
			return "null", false
		}
		return "the tool failed", true
	}
	if r.Output[0] == '"' && json.Unmarshal(r.Output, &text) == nil {
		return text, !r.Success
	}
	return string(r.Output), !r.Success
}

// seconds writes a duration as a number of seconds.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
