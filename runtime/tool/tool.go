// Package tool implements the tools of an application; package concerto exports the part for
// embedders. An application tool is a name, a schema and a handler that the process around a run
// provides to its agents, hosts and clients.
//
// A Registry contains definitions; its zero value is empty. It is safe for concurrent use, and
// reading takes no lock. A Session is the set of tools of one run: it is opened with the run's
// Context, and closed with it.
//
// Every call has the same steps, whoever makes it and whatever answers:
//
//	Session.Prepare   resolve → permission → depth and cycle → validate
//	Call.Question     what to ask when the call needs to be approved of
//	Call.Answer       the answer (also DenyUnanswered, TimedOut); what it edits is validated again
//	Call.Began        the audit record `call`
//	Call.Run          the handler under its limits, and its output held to its schema
//	Call.Ended        the audit record `done`
//
// Session.Do performs them for a Go caller (Session.Call is Do for the application itself), with
// the session's Hooks for permission, approval, audit, emits and the log. A caller that uses
// effects performs the steps one by one: an Ask is plain data, and Prepare may be repeated for it,
// as when a run is resumed; Call.Approved then applies the earlier decision. Handlers are called in
// no other way.
//
// The package imports neither the VM nor other performers: handlers that need those are passed in.
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

// Scope specifies the lifetime of a tool's handler.
type Scope string

// The scopes. The handler of a global tool serves all sessions. For a tool with the scope
// PerSession, Definition.Open creates a handler for each session, which is closed with the session.
// The name PerSession is used because Session is already a type.
const (
	Global     Scope = "global"
	PerSession Scope = "session"
)

// Handler answers a call. input is valid against the schema of the parameters. When ctx ends, the
// call ends too, and a later result is dropped. A panic or an error makes the call fail.
type Handler func(ctx context.Context, input json.RawMessage, c *Context) (Result, error)

// Definition describes a tool. The zero value of a field means its default.
type Definition struct {
	Name, Description  string
	Parameters, Output json.RawMessage // JSON Schemas; the defaults are {"type": "object"} and no schema
	Handler            Handler
	// Open creates a handler for a session; it replaces Handler. The session closes the handler.
	Open                   func(context.Context, *Context) (Handler, io.Closer, error)
	Scope                  Scope // default: Global
	Version, MaxConcurrent int   // defaults: 1 and no limit
	Category, OnTimeout    string
	// Timeout limits the handler's time (default 60 s), IdleTimeout the time without a progress
	// report (default no limit), and ApprovalTimeout the wait for an approval (default 300 s).
	Timeout, IdleTimeout, ApprovalTimeout time.Duration
	RequiresApproval, Sequential          bool
	// media types that a session must be able to show, like "render:image/png"
	Requires []string

	inner
}

// inner contains settings that only this package sets.
type inner struct {
	wrong   error         // error of New for a type without a schema
	grace   time.Duration // time that the handler may take to return after its ctx has ended
	prompt  bool          // the handler returns as soon as its ctx ends
	inTests bool          // the handler has no effect outside the process, so tests of programs may call it
	sandbox *Sandbox      // sandbox of a command; nil for none
	// release is called when the definition was removed from the registry; nil for none. wait
	// returns when the handler's resources are released.
	release func() (wait func())
}

// ForTests marks the tool as one without effects outside the process, so that tests of programs may
// call it.
func (d Definition) ForTests() Definition {
	d.inTests = true
	return d
}

// Prompt marks the handler as one that returns as soon as its ctx ends. Such a handler is called
// without an additional goroutine.
func (d Definition) Prompt() Definition {
	d.prompt = true
	return d
}

// InTests reports whether tests of programs may call the tool.
func (d *Definition) InTests() bool { return d.inTests }

// Default values that are not zero.
const (
	DefaultTimeout         = 60 * time.Second
	DefaultApprovalTimeout = 300 * time.Second
)

// ApprovalLimit returns the maximum wait for an approval.
func (d *Definition) ApprovalLimit() time.Duration {
	if d.ApprovalTimeout == 0 {
		return DefaultApprovalTimeout
	}
	return d.ApprovalTimeout
}

// Decisions for an approval that is not answered in time.
const (
	OnTimeoutDeny  = "deny"
	OnTimeoutAllow = "allow"
	OnTimeoutHalt  = "halt" // it is denied, and the agent's call ends
)

// Context describes a call to its handler. A session is opened with a Context in which CallID and
// Chain are empty and Caller is the owner of the session ("client:ID", or "").
type Context struct {
	SessionID, Cwd, CallID string
	// name of the agent or host, "client:ID", or the name of the calling function or tool
	Caller      string
	Route       string // how the call arrived; one of the Route constants
	Environment map[string]string
	Metadata    map[string]any
	Chain       []string // names of the tools in the chain of calls, including this call's tool
	Render      []string // media types that the session can show, like "image/png"

	running *running // the running call; nil outside a handler
}

// The routes by which a call can arrive.
const (
	RouteAgent    = "agent"
	RouteHost     = "host"
	RouteDispatch = "dispatch"
	RouteMCP      = "mcp"
	RouteClient   = "client"
	RouteTool     = "tool"
)

// Outcome is the category of a call's result.
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

// Outcomes lists all outcomes.
var Outcomes = []Outcome{OutcomeOK, OutcomeFailed, OutcomeArguments, OutcomeNotFound, OutcomeDenied, OutcomeTimeout, OutcomeCancelled, OutcomeUnavailable, OutcomeLimit}

// Result is the result of a call. Output is JSON; nil means null. Metadata is for logs and is never
// shown to a model. The metadata of a session's call contains an Info under the key "concerto".
type Result struct {
	Success  bool
	Output   json.RawMessage
	Error    string
	Metadata map[string]any
}

// Info is the part of a result's metadata that the runtime adds.
type Info struct {
	CallID     string  `json:"call_id"`
	Outcome    Outcome `json:"outcome"`
	DurationMS int64   `json:"duration_ms"`
	// SandboxMissing lists the features that the sandbox of the tool's command needs and this
	// machine lacks.
	SandboxMissing []string `json:"sandbox_missing,omitempty"`
}

// infoKey is the key of Info in a Result's metadata.
const infoKey = "concerto"

// Success returns a successful Result whose output is v as JSON.
func Success(v any) (Result, error) {
	text, err := jsonwrite.Encode(v)
	if err != nil {
		return Result{}, err
	}
	return Result{Success: true, Output: text}, nil
}

// Failure returns a failed Result with a formatted error.
func Failure(format string, args ...any) Result { return Result{Error: fmt.Sprintf(format, args...)} }

// MarshalJSON writes all four members. A missing output or error is written as null.
func (r Result) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil) }

// AppendJSON appends the output of MarshalJSON.
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

// UnmarshalJSON parses a result. Only the member `success` is required.
func (r *Result) UnmarshalJSON(text []byte) error {
	var w struct {
		Success  *bool           `json:"success"`
		Output   json.RawMessage `json:"output"`
		Error    *string         `json:"error"`
		Metadata map[string]any  `json:"metadata"`
	}
	if json.Unmarshal(text, &w) != nil || w.Success == nil {
		return fmt.Errorf(`the result must be {"success": true or false, "output": any value, "error": a string, "metadata": an object}, of which success is required, but got %s`, beginning(text, quoted))
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

// Text returns the result as text for a model, and whether it is a failure. A string is returned
// without quotes, any other output as JSON.
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

// formatSeconds formats a duration as a number of seconds without trailing zeros.
func formatSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
