package concerto

import (
	"context"
	"encoding/json"
	"time"

	"github.com/concerto-lang/concerto/runtime/tool"
)

// Tool is a Go function that agents, hosts and programs call.
type Tool struct {
	// Name is the name of the tool, and Description describes it to a model.
	Name, Description string
	// Parameters is the JSON Schema of the arguments, an object; nil is an object with any members.
	Parameters json.RawMessage
	// Output is the JSON Schema of the result; nil for any.
	Output json.RawMessage
	// Handler answers a call. The arguments fit Parameters. The result is encoded as JSON. An error
	// or a panic is a failed result, whose text the caller gets; it does not end the run.
	// ToolCallFrom(ctx) returns the call. A result that comes after ctx has ended is dropped.
	Handler func(ctx context.Context, args json.RawMessage) (any, error)
	// Version distinguishes tools of the same name; 0 is 1. Agents get the highest one.
	Version int
	// Category groups tools: agents choose with app_tools: ["category:NAME"].
	Category string
	// Timeout limits a call; 0 is 60 seconds. IdleTimeout limits how long a call may report no
	// progress;
	// 0 is without a limit.
	Timeout, IdleTimeout time.Duration
	// RequiresApproval sends an awaited emit on the channel "tool:approval" before each call.
	// ApprovalTimeout limits how long its answer may take; 0 is 300 seconds. Without an answer the
	// call is denied.
	RequiresApproval bool
	ApprovalTimeout  time.Duration
	// Sequential prevents that calls in one reply of a model overlap with others. MaxConcurrent
	// limits how many calls may overlap; 0 is without a limit.
	Sequential    bool
	MaxConcurrent int
	// Requires lists what the application must be able to do, such as "render:image/png".
	Requires []string

	typed tool.Definition // of NewTool
}

// NewTool creates a tool of a Go function. Its parameters are the exported fields of In, a struct,
// by their JSON names; fields that are pointers or have omitempty are optional. In may also be a
// map with strings as keys. The tags doc, enum ("a,b"), min, max, pattern, format and redact
// ("true", the value is hidden in records) add to the schema. A type without a schema is an error
// of Tools.Add.
func NewTool[In, Out any](name, description string, f func(context.Context, In) (Out, error)) Tool {
	d := tool.New(name, description, f)
	return Tool{Name: name, Description: description, Parameters: d.Parameters, typed: d}
}

// definition converts the tool.
func (t Tool) definition() tool.Definition {
	d := t.typed
	d.Name, d.Description, d.Parameters, d.Output = t.Name, t.Description, t.Parameters, t.Output
	d.Version, d.Category, d.Timeout, d.IdleTimeout = t.Version, t.Category, t.Timeout, t.IdleTimeout
	d.RequiresApproval, d.ApprovalTimeout = t.RequiresApproval, t.ApprovalTimeout
	d.Sequential, d.MaxConcurrent, d.Requires = t.Sequential, t.MaxConcurrent, t.Requires
	if f := t.Handler; f != nil {
		d.Handler = func(ctx context.Context, args json.RawMessage, _ *tool.Context) (tool.Result, error) {
			v, err := f(ctx, args)
			if err != nil {
				return tool.Result{}, err
			}
			return tool.Success(v)
		}
	}
	return d
}

// Tools is a set of tools, which several runs may share, and which may change while they run. The
// zero value is empty.
type Tools struct{ registry tool.Registry }

// Add adds tools, all of them or none. The error reports which definition is wrong, or which name
// is used already.
func (t *Tools) Add(tools ...Tool) error { return convert(t.registry.Register(definitions(tools)...)) }

// Replace is Add, but replaces tools of the same name and version. Calls of replaced tools
// continue.
func (t *Tools) Replace(tools ...Tool) error {
	return convert(t.registry.Replace(definitions(tools)...))
}

// Remove removes all versions of a tool, or one that is named as in "query@2". It reports whether
// there was one. Calls of the tool continue.
func (t *Tools) Remove(name string) bool { return t.registry.Unregister(name) }

func definitions(tools []Tool) []tool.Definition {
	all := make([]tool.Definition, len(tools))
	for i, t := range tools {
		all[i] = t.definition()
	}
	return all
}

// ToolCall is a call of a tool, for its handler.
type ToolCall struct {
	// ID identifies the call, and RunID its run.
	ID, RunID string
	// Caller is the name of the agent, host, function or tool that calls.
	Caller string
	// Dir is the working directory of the run.
	Dir string
	// Env and Metadata are those of Options.Session.
	Env      map[string]string
	Metadata map[string]any

	call *tool.Context
}

// ToolCallFrom returns the call that the context of a handler belongs to; nil for another context.
func ToolCallFrom(ctx context.Context) *ToolCall {
	c := tool.From(ctx)
	if c == nil {
		return nil
	}
	return &ToolCall{ID: c.CallID, RunID: c.SessionID, Caller: c.Caller, Dir: c.Cwd, Env: c.Environment, Metadata: c.Metadata, call: c}
}

// Progress reports how far the call is: done of total, which is 0 when it is not known. The message
// may be empty. After the end of the call it does nothing.
func (c *ToolCall) Progress(done, total float64, message string) {
	if c.call != nil {
		c.call.Progress(done, total, message)
	}
}

// Emit emits a value as the program does. The payload is encoded as JSON.
func (c *ToolCall) Emit(channel string, payload any) error {
	if c.call == nil {
		return &Error{Message: "emit: the ToolCall is not of a handler"}
	}
	return convert(c.call.Emit(channel, payload))
}
