// Package tool implements the tools of an application (its API promises nothing of its own: package
// concerto exports the part for embedders). An application tool is a name, a schema and a handler
// that the process around a run provides to its agents, hosts and clients.
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

// Scope is the lifetime of a tool's handler.
type Scope string

// A tool is global, with one handler for all sessions, unless its scope is PerSession: then Open
// creates a handler for each session, which is closed with it. (The name Session is already a
// type.)
const (
	Global     Scope = "global"
	PerSession Scope = "session"
)

// Handler answers a call. input is valid against the parameters' schema. When ctx ends, the call
// has ended, and a later result is dropped. A panic or an error is a failed result.
type Handler func(ctx context.Context, input json.RawMessage, c *Context) (Result, error)

// Definition describes a tool. The zero value of a field is its default.
type Definition struct {
	Name, Description  string
	Parameters, Output json.RawMessage // JSON Schemas; by default {"type": "object"} and none
	Handler            Handler
	// Open creates the handler of a session, in place of Handler; the session closes it.
	Open                   func(context.Context, *Context) (Handler, io.Closer, error)
	Scope                  Scope // default Global
	Version, MaxConcurrent int   // default 1 and no limit
	Category, OnTimeout    string
	// Timeout limits a call's handler (60 s), IdleTimeout the time without a progress report (no
	// limit), and ApprovalTimeout the wait for an approval (300 s).
	Timeout, IdleTimeout, ApprovalTimeout time.Duration
	RequiresApproval, Sequential          bool
	// "render:image/png": what a session must be able to show
	Requires []string

	inner
}

// inner contains settings that only this package makes.
type inner struct {
	wrong   error         // New: the type has no schema
	grace   time.Duration // additional time that the handler needs to end
	prompt  bool          // the handler returns as soon as its ctx ends
	inTests bool          // it reaches nothing outside, so tests may call it
	sandbox *Sandbox      // of a command; nil for none
	// release, if not nil, is called when the definition was removed; wait returns when the
	// handler's resources are released.
	release func() (wait func())
}

// ForTests marks the tool as one that reaches nothing outside, so that tests of programs may call
// it.
func (d Definition) ForTests() Definition {
	d.inTests = true
	return d
}

// Prompt marks the handler as one that returns as soon as its ctx ends, so that it needs no
// watching goroutine.
func (d Definition) Prompt() Definition {
	d.prompt = true
	return d
}

// InTests reports whether tests of programs may call the tool.
func (d *Definition) InTests() bool { return d.inTests }

// The defaults that are not zero.
const (
	DefaultTimeout         = 60 * time.Second
	DefaultApprovalTimeout = 300 * time.Second
)

// ApprovalLimit returns how long to wait for an approval.
func (d *Definition) ApprovalLimit() time.Duration {
	if d.ApprovalTimeout == 0 {
		return DefaultApprovalTimeout
	}
	return d.ApprovalTimeout
}

// The policies for an approval without an answer in time.
const (
	OnTimeoutDeny  = "deny"
	OnTimeoutAllow = "allow"
	OnTimeoutHalt  = "halt" // it is denied, and the agent's call ends
)

// Context describes a call to its handler. A session is opened with a Context in which CallID and
// Chain are empty and Caller is the owner ("client:ID", or "").
type Context struct {
	SessionID, Cwd, CallID string
	// the agent's or host's name, "client:ID", or the calling function or tool
	Caller      string
	Route       string // one of the Routes
	Environment map[string]string
	Metadata    map[string]any
	Chain       []string // names of the calls that led to this one, including it
	Render      []string // what the session can show: "image/png"

	running *running // the call, in a handler's Context
}

// The routes by which a call comes.
const (
	RouteAgent    = "agent"
	RouteHost     = "host"
	RouteDispatch = "dispatch"
	RouteMCP      = "mcp"
	RouteClient   = "client"
	RouteTool     = "tool"
)

// Outcome is the result category of a call.
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

// Result is the result of a call. Output is JSON, nil for null. Metadata is for the log, never for
// a model; the result of a session's call contains `concerto` in it, which is an Info.
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
	// SandboxMissing lists what this machine lacks to enforce the sandbox of the tool's command.
	SandboxMissing []string `json:"sandbox_missing,omitempty"`
}

// infoKey is the key of Info in a Result's metadata.
const infoKey = "concerto"

// Success returns a Result with v as JSON.
func Success(v any) (Result, error) {
	text, err := jsonwrite.Encode(v)
	if err != nil {
		return Result{}, err
	}
	return Result{Success: true, Output: text}, nil
}

// Failure returns a failed Result.
func Failure(format string, args ...any) Result { return Result{Error: fmt.Sprintf(format, args...)} }

// MarshalJSON writes all four members; a missing output or error is null.
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

// UnmarshalJSON parses a result; all members but `success` are optional.
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

// Text returns the result for a model, and whether it is a failure: a text unchanged, any other
// output as JSON.
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

// formatSeconds formats a duration as a number of seconds.
func formatSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
